"""A table of peers with a bound: each once, never oneself, each until its time has come.

Owns: the entries and their order. Must not know: what the peers are members of.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from random import Random

__all__ = ["View"]


class View:
    __slots__ = ("_me", "_next_end", "_until", "size_max")

    def __init__(self, me: str, size_max: int) -> None:
        self._me = me
        self._until: dict[str, float] = {}
        self._next_end: float | None = inf  # None where it has to be looked for: it is asked for far more often
        self.size_max = size_max

    def add(self, peer: str, until: float = inf) -> bool:
        """Whether it is new here; one that is here already stays for the longer of both times."""
        before = self._until.get(peer)
        if before is not None:
            if until > before:
                self._until[peer] = until
                self._gone(before)
            return False
        if peer == self._me or len(self._until) >= self.size_max:
            return False
        self._until[peer] = until
        if self._next_end is not None and until < self._next_end:
            self._next_end = until
        return True

    def drop(self, peer: str) -> bool:
        until = self._until.pop(peer, None)
        if until is None:
            return False
        self._gone(until)
        return True

    def _gone(self, until: float) -> None:
        if until == self._next_end:
            self._next_end = None

    def expire(self, now: float) -> list[str]:
        gone = [peer for peer, until in self._until.items() if until <= now]
        for peer in gone:
            self.drop(peer)
        return gone

    def until(self, peer: str) -> float:
        return self._until[peer]

    def next_end(self) -> float:
        if self._next_end is None:
            self._next_end = min(self._until.values(), default=inf)
        return self._next_end

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
