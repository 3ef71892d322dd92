"""What has been seen before, as far back as a bound allows.

Owns: the memory of keys, oldest forgotten first. Must not know: what a key stands for.
"""

from __future__ import annotations

from typing import Generic, TypeVar

__all__ = ["Seen"]

K = TypeVar("K")


class Seen(Generic[K]):
    __slots__ = ("_keys", "size_max")

    def __init__(self, size_max: int) -> None:
        self._keys: dict[K, None] = {}
        self.size_max = size_max

    def is_first(self, key: K) -> bool:
        """Whether it is new; from now on it is not."""
        if key in self._keys:
            return False
        if len(self._keys) >= self.size_max:
            del self._keys[next(iter(self._keys))]
        self._keys[key] = None
        return True

    def __contains__(self, key: K) -> bool:
        return key in self._keys

    def __len__(self) -> int:
        return len(self._keys)
