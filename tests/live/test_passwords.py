"""The file of passwords: written and read back, and refused whole where a line is bad."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from reknit.live.errors import ConfigError
from reknit.live.passwords import read_passwords, set_password


def test_a_password_that_was_set_fits_and_no_other(tmp_path: Path) -> None:
    file = tmp_path / "passwords"
    assert not set_password(file, "ann", "correct horse")
    assert not set_password(file, "bob", "staple ü")
    found = read_passwords(file)
    assert len(found) == 2
    assert "ann" in found
    assert found.check("ann", b"correct horse")
    assert found.check("bob", "staple ü".encode())
    assert not found.check("ann", b"staple")
    assert not found.check("ann", b"")
    assert not found.check("eve", b"correct horse")
    assert b"horse" not in file.read_bytes()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_password_is_changed_and_removed(tmp_path: Path) -> None:
    file = tmp_path / "passwords"
    set_password(file, "ann", "one")
    assert set_password(file, "ann", "two")
    assert not read_passwords(file).check("ann", b"one")
    assert read_passwords(file).check("ann", b"two")
    assert set_password(file, "ann", None)
    assert len(read_passwords(file)) == 0


def test_comments_and_empty_lines_are_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "passwords"
    set_password(file, "ann", "one")
    file.write_text("# who may come\n\n" + file.read_text())
    assert "ann" in read_passwords(file)


GOOD = "ann:scrypt:14:8:1:c2FsdHNhbHRzYWx0c2FsdA==:a2V5a2V5a2V5a2V5a2V5a2V5a2V5a2V5a2V5a2V5a2U="


@pytest.mark.parametrize(
    "line",
    [
        "ann",
        "ann:secret",
        GOOD.replace("scrypt", "md5"),
        GOOD.replace(":14:", ":40:"),
        GOOD.replace(":14:", ":x:"),
        GOOD.replace(":8:", ":0:"),
        GOOD.replace("c2FsdHNhbHRzYWx0c2FsdA==", "!"),
        GOOD.replace("ann", "a n"),
        GOOD.replace("ann", ""),
        GOOD.rsplit(":", 1)[0] + ":YQ==",
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str) -> None:
    file = tmp_path / "passwords"
    file.write_text(f"{GOOD}\n{line.replace('ann', 'bob')}\n")
    with pytest.raises(ConfigError, match="line 2"):
        read_passwords(file)


def test_a_user_that_comes_twice_a_missing_file_and_one_that_is_no_text(tmp_path: Path) -> None:
    file = tmp_path / "passwords"
    with pytest.raises(ConfigError, match="No such file"):
        read_passwords(file)
    file.write_text(f"{GOOD}\n{GOOD}\n")
    with pytest.raises(ConfigError, match="comes twice"):
        read_passwords(file)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="UTF-8"):
        read_passwords(file)


@pytest.mark.parametrize("user", ["", "a:b", "a b", "x" * 300])
def test_a_name_that_is_none_is_refused(tmp_path: Path, user: str) -> None:
    with pytest.raises(ConfigError, match="no user's name"):
        set_password(tmp_path / "passwords", user, "x")


def test_a_bad_file_is_not_made_worse(tmp_path: Path) -> None:
    file = tmp_path / "passwords"
    file.write_text("garbage\n")
    with pytest.raises(ConfigError, match="line 1"):
        set_password(file, "ann", "x")
    assert file.read_text() == "garbage\n"
