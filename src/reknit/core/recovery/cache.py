"""The events that a broker keeps for those who have missed them.

They are found by their numbers, for whoever misses an event knows nothing else of it. Each has an *age*: how long ago
it was published, as far as the brokers that held it can tell without a common clock. Whoever asks says for how long it
has wanted the pattern, and gets nothing older: what was published before was not meant for it.

Owns: the events and where they are found. Must not know: which events are worth it (see ``policies``), or who asks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from reknit.core.recovery.policies import Policy
from reknit.model.event import Event, EventId, event_bytes

__all__ = ["Cached", "EventCache"]


class Cached:
    """``born``: when it was published, by this broker's clock."""

    __slots__ = ("born", "event", "size")

    def __init__(self, event: Event, born: float, size: int) -> None:
        self.event = event
        self.born = born
        self.size = size


_NONE: Mapping[str, dict[int, Cached]] = {}


class EventCache:
    def __init__(self, policy: Policy, events_max: int, bytes_max: int) -> None:
        self.policy = policy
        self.events_max = events_max
        self.bytes_max = bytes_max
        self.bytes = 0
        self.newest = -math.inf
        """When the newest of them was published."""
        self._of: dict[EventId, Cached] = {}
        self._numbers: dict[int, dict[str, dict[int, Cached]]] = {}  # by signature, source and number

    def __len__(self) -> int:
        return len(self._of)

    def __iter__(self) -> Iterator[Event]:
        return (each.event for each in self._of.values())

    def put(self, event: Event, own: bool, born: float) -> None:
        """Its numbers are final. ``own``: it was published here, or is wanted by clients here."""
        marks = event.marks
        if marks is None or not marks.numbers or not self.policy.admits(own):
            return
        ident = (event.source, event.seq)
        size = event_bytes(event)
        if ident in self._of or size > self.bytes_max:
            return
        cached = self._of[ident] = Cached(event, born, size)
        self.bytes += size
        self.newest = max(self.newest, born)
        for signature, number in marks.numbers:
            sources = self._numbers.get(signature)
            if sources is None:
                sources = self._numbers[signature] = {}
            numbers = sources.get(event.source)
            if numbers is None:
                numbers = sources[event.source] = {}
            numbers[number] = cached
        self.policy.came(ident, own)
        while len(self._of) > self.events_max or self.bytes > self.bytes_max:
            self._remove(self.policy.leave())

    def find(self, source: str, signature: int, number: int, published_after: float) -> Cached | None:
        """None, too, for one that is older than that."""
        cached = self._numbers.get(signature, _NONE).get(source, {}).get(number)
        return cached if cached is not None and cached.born >= published_after else None

    def signatures(self) -> list[int]:
        """Of the patterns for which something is kept."""
        return list(self._numbers)

    def fresh(self, signature: int, published_after: float) -> Iterator[tuple[str, list[int]]]:
        """By source: the numbers of what is kept for a pattern and is not older than that."""
        for source, numbers in self._numbers.get(signature, _NONE).items():
            if young := [number for number, each in numbers.items() if each.born >= published_after]:
                yield source, young

    def _remove(self, ident: EventId) -> None:
        cached = self._of.pop(ident)
        self.bytes -= cached.size
        event = cached.event
        for signature, number in event.marks.numbers if event.marks is not None else ():
            self._unlist(signature, event.source, number, cached)

    def _unlist(self, signature: int, source: str, number: int, cached: Cached) -> None:
        """Two events under one number are somebody's lie; the later one is found."""
        sources = self._numbers.get(signature, {})
        numbers = sources.get(source, {})
        if numbers.get(number) is cached:
            del numbers[number]
            if not numbers:
                del sources[source]
            if not sources:
                del self._numbers[signature]
