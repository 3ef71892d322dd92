"""The members of topics that one peer keeps for all, each until its lease ends.

Owns: the entries and their bounds. Must not know: which topics fall to this peer.
"""

from __future__ import annotations

from random import Random

from reknit.wire.peers import ENTRIES_MAX

__all__ = ["Shelf"]


class Shelf:
    __slots__ = ("_entries_max", "_topics", "_topics_max")

    def __init__(self, topics_max: int, entries_max: int) -> None:
        self._topics_max = topics_max
        self._entries_max = entries_max
        self._topics: dict[str, dict[str, float]] = {}

    def put(self, topic: str, peer: str, until: float) -> bool:
        """Whether there was room for it."""
        entries = self._topics.get(topic)
        if entries is None:
            if len(self._topics) >= self._topics_max:
                return False
            entries = self._topics[topic] = {}
        if peer not in entries and len(entries) >= self._entries_max:
            return False
        entries[peer] = max(until, entries.get(peer, until))
        return True

    def remove(self, topic: str, peer: str) -> bool:
        entries = self._topics.get(topic, {})
        found = entries.pop(peer, None) is not None
        if not entries:
            self._topics.pop(topic, None)
        return found

    def expire(self, now: float) -> None:
        for topic, entries in list(self._topics.items()):
            for peer in [peer for peer, until in entries.items() if until <= now]:
                del entries[peer]
            if not entries:
                del self._topics[topic]

    def topics(self) -> list[str]:
        return list(self._topics)

    def take(self, topic: str) -> None:
        """All of it: it is somebody else's now."""
        self._topics.pop(topic, None)

    def count(self, topic: str, until: float = 0.0) -> int:
        """Of those whose leases do not end before."""
        return sum(each >= until for each in self._topics.get(topic, {}).values())

    def draw(self, topic: str, want: int, but: str, rng: Random, until: float = 0.0) -> tuple[str, ...]:
        """So many by chance, or all, in any order: who needs fewer takes the first. None whose lease ends before."""
        others = [peer for peer, each in self._topics.get(topic, {}).items() if peer != but and each >= until]
        return tuple(rng.sample(others, min(want, len(others))))

    def entries(self, topic: str, now: float) -> list[tuple[tuple[str, float], ...]]:
        """With what is left of their leases, in parts that fit into a message."""
        all_ = [(peer, until - now) for peer, until in self._topics.get(topic, {}).items() if until > now]
        return [tuple(all_[at : at + ENTRIES_MAX]) for at in range(0, len(all_), ENTRIES_MAX)]
