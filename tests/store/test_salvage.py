"""What is sound in a damaged store comes out of it, and what is not is listed."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest

from reknit.store.entries import StoreBusy, StoreError
from reknit.store.salvage import examine, salvage
from reknit.store.sqlite import SqliteStore, journal_of
from tests.store.test_sqlite import VALUES, filled, killed, read


def test_a_sound_store_has_no_faults_and_is_copied_whole(tmp_path: Path) -> None:
    filled(tmp_path / "s")
    before = (tmp_path / "s").read_bytes()
    findings = examine(tmp_path / "s")
    assert (findings.name, findings.sound, findings.faults) == ("b1", 200, [])
    assert findings.entries == {"message": 200}
    assert salvage(tmp_path / "s", tmp_path / "new").faults == []
    assert read(tmp_path / "new") == VALUES
    assert (tmp_path / "s").read_bytes() == before


def test_an_entry_that_is_not_what_was_written_is_left_behind(tmp_path: Path) -> None:
    filled(tmp_path / "s")
    data = bytearray((tmp_path / "s").read_bytes())
    data[data.index(bytes([77]) * 100) + 50] ^= 4
    (tmp_path / "s").write_bytes(data)
    findings = salvage(tmp_path / "s", tmp_path / "new")
    assert findings.faults == ["entry b'c\\x0077' on shelf 'message' is not what was written"]
    assert read(tmp_path / "new") == {key: value for key, value in VALUES.items() if key[1] != b"c\x0077"}


def test_a_page_that_cannot_be_read_costs_its_own_entries(tmp_path: Path) -> None:
    filled(tmp_path / "s")
    data = bytearray((tmp_path / "s").read_bytes())
    middle = len(data) // 4096 // 2 * 4096
    data[middle : middle + 4096] = b"\xff" * 4096
    (tmp_path / "s").write_bytes(data)
    findings = salvage(tmp_path / "s", tmp_path / "new")
    assert any("structure" in line for line in findings.faults)
    kept = read(tmp_path / "new")
    assert kept.items() <= VALUES.items()
    assert 150 < len(kept) < 200


def test_a_damaged_journal_gives_what_stands_before(tmp_path: Path) -> None:
    killed(tmp_path / "s", 8)
    journal = journal_of(tmp_path / "s")
    data = bytearray(journal.read_bytes())
    data[len(data) // 2] ^= 1
    journal.write_bytes(data)
    findings = salvage(tmp_path / "s", tmp_path / "new")
    assert "commits cannot be read" in findings.faults[0]
    assert 0 < len(read(tmp_path / "new")) < 8
    assert journal.read_bytes() == bytes(data)


def test_what_cannot_be_done_is_said(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no such file"):
        examine(tmp_path / "none")
    filled(tmp_path / "s")
    with pytest.raises(StoreError, match="is there already"):
        salvage(tmp_path / "s", tmp_path / "s")
    store = SqliteStore(tmp_path / "s", "b1")
    with pytest.raises(StoreBusy):
        examine(tmp_path / "s")
    store.close()
    with contextlib.closing(sqlite3.connect(tmp_path / "s")) as base:
        base.execute("DELETE FROM entry WHERE shelf = 'about'")
        base.commit()
    with pytest.raises(StoreError, match="nothing was copied"):
        salvage(tmp_path / "s", tmp_path / "new")


def test_what_never_was_a_store_is_told_from_one_that_has_lost_its_head(tmp_path: Path) -> None:
    (tmp_path / "junk").write_bytes(b"junk" * 3000)
    with pytest.raises(StoreError, match="this is no store of a broker"):
        salvage(tmp_path / "junk", tmp_path / "new")
    assert not (tmp_path / "new").exists()
    filled(tmp_path / "s")
    data = bytearray((tmp_path / "s").read_bytes())
    data[69] ^= 1  # where it says that it is a store
    (tmp_path / "s").write_bytes(data)
    assert salvage(tmp_path / "s", tmp_path / "new").sound == 200
