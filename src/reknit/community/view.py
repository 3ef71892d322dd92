"""A table of peers with a bound: each once, never oneself, each until its time has come.

Owns: the entries and their order. Must not know: what the peers are members of.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from random import Random

__all__ = ["View"]


class View:
    __slots__ = ("_me", "_until", "size_max")

    def __init__(self, me: str, size_max: int) -> None:
        self._me = me
        self._until: dict[str, float] = {}
        self.size_max = size_max

    def add(self, peer: str, until: float = inf) -> bool:
        """Whether it is new here; one that is here already stays for the longer of both times."""
        if peer in self._until:
            self._until[peer] = max(self._until[peer], until)
            return False
        if peer == self._me or len(self._until) >= self.size_max:
            return False
        self._until[peer] = until
        return True

    def drop(self, peer: str) -> bool:
        return self._until.pop(peer, None) is not None

    def expire(self, now: float) -> list[str]:
        gone = [peer for peer, until in self._until.items() if until <= now]
        for peer in gone:
            del self._until[peer]
        return gone

    def until(self, peer: str) -> float:
        return self._until[peer]

    def next_end(self) -> float:
        return min(self._until.values(), default=inf)

    def is_full(self) -> bool:
        return len(self._until) >= self.size_max

    def sample(self, rng: Random, count: int) -> list[str]:
        """So many of them by chance, or all."""
        peers = list(self._until)
        return peers if count >= len(peers) else rng.sample(peers, count)

    def one(self, rng: Random, *others_than: str) -> str | None:
        peers = [peer for peer in self._until if peer not in others_than]
        return rng.choice(peers) if peers else None

    def __contains__(self, peer: str) -> bool:
        return peer in self._until

    def __iter__(self) -> Iterator[str]:
        return iter(self._until)

    def __len__(self) -> int:
        return len(self._until)
