"""A store that keeps its entries for as long as the process lives: for simulated brokers, which die more often.

Owns: the entries. Must not know: what they mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reknit.store.entries import Entry, Key

__all__ = ["MemoryStore"]


class MemoryStore:
    def __init__(self) -> None:
        self._entries: dict[Key, bytes] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def load(self) -> Iterator[Entry]:
        return iter([(shelf, key, value) for (shelf, key), value in sorted(self._entries.items())])

    def commit(self, batch: Mapping[Key, bytes | None]) -> None:
        for key, value in batch.items():
            if value is None:
                self._entries.pop(key, None)
            else:
                self._entries[key] = value

    def close(self) -> None:
        """Nothing is given back: the next life reads the same object."""
