"""The events that a broker keeps for those who have missed them.

They are found by their numbers, for whoever misses an event knows nothing else of it. Where nothing is lost nobody
asks, so an event is *listed* under its numbers only when somebody asks for the first time since it came; most leave
before.

Each has an *age*: how long ago it was published, as far as the brokers that held it can tell without a common clock.
Whoever asks says for how long it has wanted the pattern, and gets nothing older: what was published before was not
meant for it.

Owns: the events and where they are found. Must not know: which events are worth it (see ``policies``), or who asks.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Mapping

import msgspec

from reknit.core.recovery.policies import Policy
from reknit.model.event import Event, event_bytes

__all__ = ["Cached", "EventCache"]


BATCH = 64
"""Events that wait to be taken in together: each costs less then."""


class Cached(msgspec.Struct, gc=False):
    """``born``: when it was published, by this broker's clock."""

    event: Event
    born: float
    size: int
    listed: bool = False
    gone: bool = False


_NONE: Mapping[str, dict[int, Cached]] = {}


class EventCache:
    def __init__(self, policy: Policy[Cached], events_max: int, bytes_max: int) -> None:
        """Beyond its bounds it may hold as many as wait to be taken in."""
        self.policy = policy
        self.events_max = events_max
        self.bytes_max = bytes_max
        self._bytes = self._count = 0
        self._newest = -math.inf
        self._waiting: list[tuple[Event, bool, float]] = []
        self._unlisted: deque[Cached] = deque()  # in the order in which they came; some may be gone
        self._numbers: dict[int, dict[str, dict[int, Cached]]] = {}  # by signature, source and number

    def __len__(self) -> int:
        self._take_in()
        return self._count

    def __iter__(self) -> Iterator[Event]:
        self._take_in()
        return (each.event for each in self.policy)

    @property
    def bytes(self) -> int:
        self._take_in()
        return self._bytes

    @property
    def newest(self) -> float:
        """When the newest of them was published."""
        self._take_in()
        return self._newest

    def put(self, event: Event, own: bool, born: float) -> None:
        """One that was not here before, and whose numbers are final.

        ``own``: it was published here, or is wanted by clients here.
        """
        self._waiting.append((event, own, born))
        if len(self._waiting) >= BATCH:
            self._take_in()

    def find(self, source: str, signature: int, number: int, published_after: float) -> Cached | None:
        """None, too, for one that is older than that."""
        self._list()
        cached = self._numbers.get(signature, _NONE).get(source, {}).get(number)
        return cached if cached is not None and cached.born >= published_after else None

    def signatures(self) -> list[int]:
        """Of the patterns for which something is kept."""
        self._list()
        return list(self._numbers)

    def fresh(self, signature: int, published_after: float) -> Iterator[tuple[str, list[int]]]:
        """By source: the numbers of what is kept for a pattern and is not older than that."""
        self._list()
        for source, numbers in self._numbers.get(signature, _NONE).items():
            if young := [number for number, each in numbers.items() if each.born >= published_after]:
                yield source, young

    # --- inside

    def _take_in(self) -> None:
        waiting, self._waiting = self._waiting, []
        came, strangers = self.policy.came, self.policy.takes_strangers
        for event, own, born in waiting:
            if event.marks is None or not (own or strangers):
                continue
            size = event_bytes(event)
            if size > self.bytes_max:
                continue
            cached = Cached(event, born, size)
            self._unlisted.append(cached)
            came(cached, own)
            self._count += 1
            self._bytes += size
            if born > self._newest:
                self._newest = born
        while self._count > self.events_max or self._bytes > self.bytes_max:
            self._remove(self.policy.leave())
        if len(self._unlisted) > 2 * self.events_max:  # chance has left holes
            self._unlisted = deque(each for each in self._unlisted if not each.gone)

    def _remove(self, cached: Cached) -> None:
        self._count -= 1
        self._bytes -= cached.size
        if cached.listed:
            self._unlist(cached)
        elif self._unlisted[0] is cached:
            self._unlisted.popleft()
        else:
            cached.gone = True

    def _list(self) -> None:
        self._take_in()
        unlisted, lists = self._unlisted, self._numbers
        while unlisted:
            cached = unlisted.popleft()
            event = cached.event
            if cached.gone or event.marks is None:
                continue
            cached.listed = True
            for signature, number in event.marks.numbers:
                lists.setdefault(signature, {}).setdefault(event.source, {})[number] = cached

    def _unlist(self, cached: Cached) -> None:
        """Two events under one number are somebody's lie; the later one is found."""
        event = cached.event
        for signature, number in event.marks.numbers if event.marks is not None else ():
            sources = self._numbers.get(signature, {})
            numbers = sources.get(event.source, {})
            if numbers.get(number) is cached:
                del numbers[number]
                if not numbers:
                    del sources[event.source]
                if not sources:
                    del self._numbers[signature]
