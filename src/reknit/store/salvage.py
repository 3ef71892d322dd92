"""What is sound in a store that is not: found, listed, and copied into a new one.

The file is looked at in a copy, since SQLite would put what it can read of a journal into the file and throw the rest
away. A page that cannot be read ends a walk through the entries; so there are two walks, from both ends.

Owns: what is still an entry. Must not know: what it means.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from reknit.store.entries import Batch, Entry, Key, StoreError, checksum
from reknit.store.sqlite import APPLICATION_ID, SqliteStore, journal_of, locked
from reknit.store.wal import read_journal

__all__ = ["Findings", "examine", "salvage"]

FAULTS_MAX = 100
BATCH_ENTRIES = 1_000
_SQLITE = b"SQLite format 3\0"
_ID_AT = 68
"""Where an SQLite file says whose it is, in bytes from its beginning."""


@dataclass(slots=True)
class Findings:
    name: str = ""
    """Whose store it is."""
    sound: int = 0
    entries: dict[str, int] = field(default_factory=dict)
    """How many are sound on each shelf."""
    faults: list[str] = field(default_factory=list)
    """What is not sound, a line each; at most ``FAULTS_MAX``."""

    def fault(self, line: str) -> None:
        if len(self.faults) < FAULTS_MAX:
            self.faults.append(" ".join(line.split()))


def examine(path: Path) -> Findings:
    """What a store holds, and what of it is not sound. ``StoreError`` if nothing can be said of it."""
    findings = Findings()
    for _ in _walk(path, findings):
        pass
    return findings


def salvage(path: Path, new: Path) -> Findings:
    """Copy what is sound into a new file."""
    if new.exists():
        raise StoreError(f"{new}: is there already; choose another name")
    findings, found = Findings(), list[Entry]()
    for entry in _walk(path, findings):
        found.append(entry)
    if not findings.name:
        raise StoreError(f"{path}: it cannot be read whose store it is; nothing was copied")
    store = SqliteStore(new, findings.name)
    try:
        for at in range(0, len(found), BATCH_ENTRIES):
            batch: Batch = {(shelf, key): value for shelf, key, value in found[at : at + BATCH_ENTRIES]}
            store.commit(batch)
    finally:
        store.close()
    return findings


def _walk(path: Path, findings: Findings) -> Iterator[Entry]:
    if not path.is_file():
        raise StoreError(f"{path}: there is no such file")
    held = locked(path)
    try:
        with tempfile.TemporaryDirectory(prefix="reknit-store-") as directory:
            copy = Path(directory) / "store"
            shutil.copyfile(path, copy)
            journal = journal_of(path)
            if journal.exists():
                shutil.copyfile(journal, journal_of(copy))
                _look_at_journal(journal, findings)
            yield from _entries(copy, findings)
        if _is_strange(path, findings):
            raise StoreError(f"{path}: this is no store of a broker, or its very beginning is destroyed")
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from None
    finally:
        os.close(held)


def _is_strange(path: Path, findings: Findings) -> bool:
    """Whether it never was a store: nothing was found in it, nor does it say that it is one.

    What a new store says of itself may stand in its journal alone.
    """
    if findings.name or findings.sound or journal_of(path).exists():
        return False
    with path.open("rb") as file:
        head = file.read(_ID_AT + 4)
    return not head.startswith(_SQLITE) or int.from_bytes(head[_ID_AT:], "big") != APPLICATION_ID


def _look_at_journal(journal: Path, findings: Findings) -> None:
    found = read_journal(journal)
    if found.damaged:
        findings.fault(f"{journal}: {found.commits} commits cannot be read")
    elif found.torn_bytes:
        findings.fault(f"{journal}: the end is torn ({found.torn_bytes} bytes): one commit that was not finished")


def _entries(copy: Path, findings: Findings) -> Iterator[Entry]:
    base = sqlite3.connect(copy, isolation_level=None)
    base.text_factory = lambda data: data.decode(errors="replace")  # a shelf's name may be what is damaged
    seen: dict[Key, None] = {}
    try:
        _look_at_structure(base, findings)
        for order in ("", "DESC"):
            whole = yield from _one_way(base, order, seen, findings)
            if whole:
                return
    finally:
        base.close()


def _look_at_structure(base: sqlite3.Connection, findings: Findings) -> None:
    try:
        for (text,) in base.execute(f"PRAGMA integrity_check({FAULTS_MAX})"):
            if text != "ok":
                findings.fault(f"structure: {text}")
    except sqlite3.Error as error:
        findings.fault(f"structure: {error}")


def _one_way(
    base: sqlite3.Connection, order: str, seen: dict[Key, None], findings: Findings
) -> Generator[Entry, None, bool]:
    """Yield what was not seen yet, up to what cannot be read; return whether there was no such thing."""
    try:
        query = f"SELECT shelf, key, value, checksum FROM entry ORDER BY shelf {order}, key {order}"
        for shelf, key, value, kept in base.execute(query):
            plain = isinstance(shelf, str) and isinstance(key, bytes) and isinstance(value, bytes)
            if (shelf, key) in seen:
                continue
            seen[shelf, key] = None
            if not plain or checksum(shelf, key, value) != kept:
                findings.fault(f"entry {key!r} on shelf {shelf!r} is not what was written")
            elif (shelf, key) == ("about", b"broker"):
                findings.name = value.decode(errors="replace")
            else:
                findings.sound += 1
                findings.entries[shelf] = findings.entries.get(shelf, 0) + 1
                yield shelf, key, value
    except sqlite3.Error as error:
        findings.fault(f"entries: {error}")
        return False
    return True
