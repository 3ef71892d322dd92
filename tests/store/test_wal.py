"""The journal is read as SQLite reads it: the same frames are sound."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from reknit.store.wal import Journal, read_journal


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    base = sqlite3.connect(tmp_path / "s", isolation_level=None)
    base.execute("PRAGMA journal_mode = WAL")
    base.execute("PRAGMA wal_autocheckpoint = 0")
    base.execute("CREATE TABLE x (y BLOB)")
    for _ in range(9):
        base.execute("INSERT INTO x VALUES (?)", (b"z" * 2500,))
    (copy := tmp_path / "copy").write_bytes((tmp_path / "s-wal").read_bytes())
    base.close()
    return copy


def flipped(path: Path, at: int) -> Journal:
    data = bytearray(path.read_bytes())
    data[at] ^= 128
    path.write_bytes(data)
    return read_journal(path)


def test_all_frames_of_a_whole_journal_are_sound(journal: Path) -> None:
    frames, rest = divmod(journal.stat().st_size - 32, 4096 + 24)
    assert rest == 0
    assert read_journal(journal) == Journal(frames=frames)


def test_no_journal_and_an_empty_one_hold_nothing(tmp_path: Path) -> None:
    assert read_journal(tmp_path / "none") == Journal()
    (tmp_path / "empty").write_bytes(b"")
    assert read_journal(tmp_path / "empty") == Journal()
    (tmp_path / "short").write_bytes(b"123")
    assert read_journal(tmp_path / "short") == Journal(torn_bytes=3)


def test_a_cut_is_a_torn_tail(journal: Path) -> None:
    whole = read_journal(journal).frames
    journal.write_bytes(journal.read_bytes()[:-1001])
    found = read_journal(journal)
    assert (found.frames, found.commits, found.damaged) == (whole - 1, 1, False)
    assert found.torn_bytes == 4096 + 24 - 1001


def test_a_bad_frame_before_others_is_damage(journal: Path) -> None:
    found = flipped(journal, 32 + 24 + 4120 + 77)
    assert found.frames == 1
    assert found.damaged


def test_a_bad_head_is_damage_if_commits_follow(journal: Path) -> None:
    assert flipped(journal, 25).damaged


def test_frames_of_an_older_journal_are_none_of_this_one(journal: Path) -> None:
    """SQLite begins anew at the front, and leaves what stood behind."""
    data = journal.read_bytes()
    old = bytearray(data[32 + 2 * 4120 :])
    for at in range(0, len(old), 4120):
        old[at + 8 : at + 16] = b"oldsalts"
    journal.write_bytes(data[: 32 + 2 * 4120] + old)
    assert read_journal(journal) == Journal(frames=2)


def test_a_journal_begun_anew_of_which_only_the_head_was_written_holds_nothing(tmp_path: Path) -> None:
    """A process killed between the new head and its first frame: all that follows is of the journal before, and was
    carried over into the file before the new one was begun."""
    base = sqlite3.connect(tmp_path / "s", isolation_level=None)
    base.execute("PRAGMA journal_mode = WAL")
    base.execute("CREATE TABLE x (y BLOB)")
    for _ in range(9):
        base.execute("INSERT INTO x VALUES (?)", (b"z" * 2500,))
    before = (tmp_path / "s-wal").read_bytes()
    base.execute("PRAGMA wal_checkpoint(FULL)")
    base.execute("INSERT INTO x VALUES (?)", (b"z" * 2500,))
    after = (tmp_path / "s-wal").read_bytes()
    base.close()
    assert after[16:24] != before[16:24], "it was not begun anew"
    (copy := tmp_path / "copy").write_bytes(after[:32] + before[32:])
    assert read_journal(copy) == Journal()
