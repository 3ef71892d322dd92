"""Entries on shelves: the narrow interface between a broker and whatever keeps them.

An entry is bytes under a key on a shelf. Changes come in batches, and a batch is kept as a whole or not at all; of two
changes of one entry in a batch the last counts. There is no way to drop a whole shelf at once: that could not be put in
order with a batch which is on its way, and whoever ends a thing knows its entries.

Owns: these words, and the errors. Must not know: what an entry means, or how it is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Protocol, TypeAlias
from zlib import crc32

__all__ = ["Batch", "Entry", "Key", "Store", "StoreBusy", "StoreDamaged", "StoreError", "StoreFull", "checksum"]

Key: TypeAlias = tuple[str, bytes]
"""Shelf, and key there."""
Batch: TypeAlias = dict[Key, bytes | None]
"""What is to be kept under each key; None: nothing any more."""
Entry: TypeAlias = tuple[str, bytes, bytes]
"""Shelf, key, value."""


class StoreError(Exception):
    """One line: what is wrong with which file, and the way out."""


class StoreBusy(StoreError):
    """Somebody else holds the file."""


class StoreDamaged(StoreError):
    """What was written is not what can be read."""


class StoreFull(StoreError):
    """It could not be written now; it may be later."""


class Store(Protocol):
    def load(self) -> Iterator[Entry]:
        """All entries, by shelf and key. ``StoreDamaged`` if one of them is not what was written."""
        ...

    def commit(self, batch: Mapping[Key, bytes | None]) -> None:
        """Keep all of it; when this returns, no crash can undo it. ``StoreError``: nothing of it is kept."""
        ...

    def close(self) -> None: ...


def checksum(shelf: str, key: bytes, value: bytes) -> int:
    """Of one entry: a value under another's key is as wrong as another value."""
    return crc32(value, crc32(key, _begun(shelf, len(key))))


@lru_cache(maxsize=1024)
def _begun(shelf: str, key_bytes: int) -> int:
    return crc32(f"{shelf}/{key_bytes}/".encode())
