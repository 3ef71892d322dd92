"""``reknit store check``: what a store holds, what is wrong with it, and what can be saved."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.store.test_sqlite import filled, read


def test_a_sound_store_and_a_damaged_one(reknit: Callable[..., Any], tmp_path: Path) -> None:
    store, new = tmp_path / "s", tmp_path / "new"
    filled(store)
    said = reknit("store", "check", str(store))
    assert (said.code, said.out) == (0, f"{store}: the store of b1: 200 sound entries (200 message)\n")
    whole = {"file": str(store), "broker": "b1", "sound": 200, "entries": {"message": 200}}
    assert reknit("store", "check", str(store), "--json").json == {**whole, "faults": [], "salvaged": None}
    data = bytearray(store.read_bytes())
    data[data.index(bytes([77]) * 100) + 50] ^= 4
    store.write_bytes(data)
    said = reknit("store", "check", str(store))
    assert said.code == 1
    assert "not sound: entry b'c\\x0077' on shelf 'message' is not what was written" in said.out
    assert said.err.startswith(f"reknit: {store}: damaged; ")
    said = reknit("store", "check", str(store), "--json")
    assert (said.code, said.json["sound"], len(said.json["faults"])) == (1, 199, 1)
    said = reknit("store", "check", str(store), "--salvage", str(new))
    assert (said.code, said.err) == (0, "")
    assert said.out.endswith(f"{new}: the sound entries are there\n")
    assert len(read(new)) == 199
    said = reknit("store", "check", str(store), "--salvage", str(tmp_path / "newer"), "--json")
    assert (said.code, said.json["salvaged"]) == (0, str(tmp_path / "newer"))


def test_what_is_no_store_is_said_in_one_line(reknit: Callable[..., Any], tmp_path: Path) -> None:
    said = reknit("store", "check", str(tmp_path / "none"))
    assert (said.code, said.err) == (2, f"reknit: {tmp_path / 'none'}: there is no such file\n")
    for data in (b"", b"something else\n" * 100):
        other = tmp_path / "other"
        other.write_bytes(data)
        for words in ((), ("--salvage", str(tmp_path / "new"))):
            said = reknit("store", "check", str(other), *words)
            assert (said.code, said.out) == (2, "")
            assert said.err == f"reknit: {other}: this is no store of a broker, or its very beginning is destroyed\n"
        assert other.read_bytes() == data
    with contextlib.closing(sqlite3.connect(tmp_path / "base")) as base:
        base.execute("PRAGMA application_id = 77")
        base.execute("CREATE TABLE entry (x)")
        base.commit()
    said = reknit("store", "check", str(tmp_path / "base"))
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert "this is no store of a broker" in said.err
