"""Entries in one SQLite file, each with a checksum of its own.

A commit is one transaction in a journal beside the file (WAL), synced before it returns. The file belongs to one broker
at a time, and to one name: a lock of the kernel, which ends with the process, keeps a second one out, and the name that
stands in the file keeps out a broker that was given another's. At the start the journal, the file's structure and every
entry are checked; nothing that is not as it was written is ever handed on.

Owns: the file, its marks and its checks. Must not know: what an entry means; when to commit.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from reknit.store.entries import Entry, Key, StoreBusy, StoreDamaged, StoreError, StoreFull, checksum
from reknit.store.wal import read_journal

__all__ = ["APPLICATION_ID", "VERSION", "SqliteStore", "explain", "journal_of", "locked"]

APPLICATION_ID = 0x726B6E74
"""Says of an SQLite file that it is one of these."""
VERSION = 1
FAULTS_SHOWN_MAX = 3

_ABOUT = "about"
_NAME = b"broker"
_SCHEMA = """
CREATE TABLE entry (
    shelf TEXT NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL, checksum INTEGER NOT NULL, PRIMARY KEY (shelf, key)
) WITHOUT ROWID
"""
# A statement for many entries is one step of SQLite, and a thread that takes a step lets go of the interpreter: with a
# step for each entry it would have to wait for its turn again each time, behind a loop that is busy.
_SIZES = (256, 64, 16, 4, 1)
_PUT = {
    size: f"INSERT OR REPLACE INTO entry (shelf, key, value, checksum) VALUES {', '.join(['(?, ?, ?, ?)'] * size)}"
    for size in _SIZES
}
_DROP = {size: f"DELETE FROM entry WHERE shelf = ? AND key IN ({', '.join('?' * size)})" for size in _SIZES}
_ALL = "SELECT shelf, key, value, checksum FROM entry ORDER BY shelf, key"

T = TypeVar("T")


def journal_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def locked(path: Path) -> int:
    """A file descriptor that holds the file for us until it is closed.

    Not to be closed before SQLite has closed the same file: that would end SQLite's own locks.
    """
    try:
        held = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreError(f"{path}: cannot be a store: {error.strerror}") from None
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(held)
        raise StoreBusy(f"{path}: another broker holds this store; give each broker a file of its own") from None
    return held


def explain(path: Path, error: sqlite3.Error) -> StoreError:
    """SQLite's error as one line with a way out."""
    if "locked" in str(error):
        return StoreBusy(f"{path}: somebody else holds this store: {error}")
    if isinstance(error, sqlite3.OperationalError):
        return StoreFull(f"{path}: could not be written: {error}; see that there is room, and that the disk is well")
    return _damaged(path, str(error))


def _damaged(path: Path, what: str) -> StoreDamaged:
    plain = " ".join(what.split())
    return StoreDamaged(f"{path}: damaged: {plain}; `reknit store check {path} --salvage NEW` copies what is sound")


def _pieces(items: list[T]) -> Iterator[list[T]]:
    """The same items in pieces for which there are statements."""
    at = 0
    for size in _SIZES:
        while len(items) - at >= size:
            yield items[at : at + size]
            at += size


class SqliteStore:
    def __init__(self, path: Path, name: str) -> None:
        """``name``: of the broker. ``StoreError`` if the file is not its store, or not what it has written."""
        self.path = path
        self.remark = ""
        """What was found at the start and does no harm, in one line; empty for nothing."""
        self._held = locked(path)
        self._base: sqlite3.Connection | None = None
        try:
            self._check_journal()
            self._base = self._open(name)
        except sqlite3.Error as error:
            self.close()
            raise self._at_start(error) from None
        except BaseException:
            self.close()
            raise

    def _at_start(self, error: sqlite3.Error) -> StoreError:
        """Nothing has to be written by then, so a file that cannot be read is a bad one."""
        found = explain(self.path, error)
        return _damaged(self.path, str(error)) if isinstance(found, StoreFull) else found

    def _check_journal(self) -> None:
        try:
            journal = read_journal(journal_of(self.path))
        except OSError as error:
            raise StoreError(f"{journal_of(self.path)}: {error.strerror}") from None
        if journal.damaged:
            raise _damaged(self.path, f"{journal.commits} commits of its journal cannot be read")
        if journal.torn_bytes:
            self.remark = (
                f"{self.path}: the end of its journal is torn ({journal.torn_bytes} bytes), "
                "as a crash leaves it; that commit was not finished, and is gone"
            )

    def _open(self, name: str) -> sqlite3.Connection:
        base = sqlite3.connect(self.path, timeout=0, isolation_level=None, check_same_thread=False)
        self._base = base
        base.execute("PRAGMA locking_mode = EXCLUSIVE")
        base.execute("PRAGMA cell_size_check = ON")
        (tables,) = base.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if tables:
            self._check_marks(base)
        base.execute("PRAGMA journal_mode = WAL")
        base.execute("PRAGMA synchronous = FULL")
        if tables:
            self._check_structure(base)
            self._check_name(base, name)
        else:
            self._found(base, name)
        return base

    def _check_marks(self, base: sqlite3.Connection) -> None:
        (application,) = base.execute("PRAGMA application_id").fetchone()
        (version,) = base.execute("PRAGMA user_version").fetchone()
        if application != APPLICATION_ID:
            raise StoreError(f"{self.path}: no store of reknit; choose another file")
        if version != VERSION:
            raise StoreError(f"{self.path}: a store of version {version}, not {VERSION}; run the reknit that wrote it")

    def _check_structure(self, base: sqlite3.Connection) -> None:
        faults = [text for (text,) in base.execute(f"PRAGMA quick_check({FAULTS_SHOWN_MAX})")]
        if faults != ["ok"]:
            raise _damaged(self.path, "; ".join(faults))

    def _check_name(self, base: sqlite3.Connection, name: str) -> None:
        query = "SELECT shelf, key, value, checksum FROM entry WHERE shelf = ? AND key = ?"
        row = base.execute(query, (_ABOUT, _NAME)).fetchone()
        if row is None:
            raise _damaged(self.path, "it does not say whose store it is")
        _, _, value = self._checked(row)
        if value != name.encode():
            raise StoreError(f"{self.path}: the store of {value.decode(errors='replace')!r}, not of {name!r}")

    def _found(self, base: sqlite3.Connection, name: str) -> None:
        base.execute("BEGIN IMMEDIATE")
        base.execute(_SCHEMA)
        base.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        base.execute(f"PRAGMA user_version = {VERSION}")
        base.execute(_PUT[1], (_ABOUT, _NAME, name.encode(), checksum(_ABOUT, _NAME, name.encode())))
        base.execute("COMMIT")

    def _checked(self, row: tuple[object, ...]) -> Entry:
        match row:
            case (str() as shelf, bytes() as key, bytes() as value, kept) if checksum(shelf, key, value) == kept:
                return shelf, key, value
        raise _damaged(self.path, f"entry {row[1]!r} on shelf {row[0]!r} is not what was written")

    # --- entries

    def load(self) -> Iterator[Entry]:
        assert self._base is not None
        try:
            for row in self._base.execute(_ALL):
                entry = self._checked(row)
                if entry[:2] != (_ABOUT, _NAME):
                    yield entry
        except sqlite3.Error as error:
            raise self._at_start(error) from None

    def commit(self, batch: Mapping[Key, bytes | None]) -> None:
        base = self._base
        assert base is not None
        kept: list[tuple[str, bytes, bytes, int]] = []
        gone: dict[str, list[bytes]] = {}
        for (shelf, key), value in batch.items():
            if value is None:
                gone.setdefault(shelf, []).append(key)
            else:
                kept.append((shelf, key, value, checksum(shelf, key, value)))
        try:
            base.execute("BEGIN IMMEDIATE")
            for shelf, keys in gone.items():
                for some in _pieces(keys):
                    base.execute(_DROP[len(some)], (shelf, *some))
            for rows in _pieces(kept):
                base.execute(_PUT[len(rows)], [field for row in rows for field in row])
            base.execute("COMMIT")
        except sqlite3.Error as error:
            with contextlib.suppress(sqlite3.Error):
                if base.in_transaction:
                    base.execute("ROLLBACK")
            raise explain(self.path, error) from None

    def close(self) -> None:
        if self._base is not None:
            self._base.close()
            self._base = None
        if self._held >= 0:
            os.close(self._held)
            self._held = -1
