"""Which code was measured."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from reknit import __version__
from reknit.lab.revision import revision


def git(where: Path, *words: str) -> str:
    name = ("-c", "user.name=someone", "-c", "user.email=someone@example.org", "-c", "commit.gpgsign=false")
    return subprocess.run(["git", *name, *words], cwd=where, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet")
    (tmp_path / "file").write_text("one")
    git(tmp_path, "add", "file")
    git(tmp_path, "commit", "--quiet", "--message", "one")
    return tmp_path


def test_a_clean_checkout_and_a_changed_one(checkout: Path) -> None:
    commit = git(checkout, "rev-parse", "HEAD")
    assert revision(checkout) == commit
    (checkout / "file").write_text("two")
    assert revision(checkout) == f"{commit}-dirty"


def test_no_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert revision(tmp_path) == f"version {__version__}"


def test_installed_inside_somebody_elses_checkout(checkout: Path) -> None:
    installed = checkout / "venv"
    installed.mkdir()
    (installed / "module.py").write_text("")
    assert revision(installed) == f"version {__version__}"


def test_no_git(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert revision(checkout) == f"version {__version__}"
