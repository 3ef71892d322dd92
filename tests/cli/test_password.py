"""``reknit password``: a file that a broker can read, and errors that say what is wrong."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reknit.live.passwords import read_passwords


def test_a_password_is_set_and_removed(
    reknit: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "passwords"
    monkeypatch.setattr("sys.stdin", io.StringIO("secret\n"))
    said = reknit("password", str(file), "ann")
    assert (said.code, said.out) == (0, f"{file}: the password of ann is set\n")
    assert read_passwords(file).check("ann", b"secret")
    assert reknit("password", str(file), "ann", "--remove").out == f"ann is removed from {file}\n"
    monkeypatch.setattr("sys.stdin", io.StringIO("secret\n"))
    assert reknit("password", str(file), "ann", "--json").json == {"user": "ann", "file": str(file), "removed": False}
    assert reknit("password", str(file), "ann", "--remove", "--json").json["removed"]
    said = reknit("password", str(file), "ann", "--remove")
    assert (said.code, said.err) == (2, f"reknit: password: there is no user 'ann' in {file}\n")


def test_what_cannot_be_is_refused(reknit: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert "there is none on standard input" in reknit("password", str(tmp_path / "p"), "ann").err
    monkeypatch.setattr("sys.stdin", io.StringIO("secret\n"))
    assert reknit("password", str(tmp_path / "p"), "a:b").code == 2
    monkeypatch.setattr("sys.stdin", io.StringIO("secret\n"))
    assert reknit("password", str(tmp_path / "no" / "p"), "ann").code == 2
