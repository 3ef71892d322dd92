"""The events that a broker keeps for those who have missed them.

They are found by their numbers, for whoever misses an event knows nothing else of it. Where nothing is lost nobody
asks, and an event must cost next to nothing then. So events are kept by *batches*, those that came one after the other
at one time; and a batch is *listed* under the numbers of its events only when somebody asks for the first time since it
came. Most leave before, and whole.

Each has an *age*: how long ago it was published, as far as the brokers that held it can tell without a common clock.
Whoever asks says for how long it has wanted the pattern, and gets nothing older: what was published before was not
meant for it.

Owns: the events and where they are found. Must not know: which events are worth it (see ``policies``), or who asks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import msgspec

from reknit.core.recovery.policies import Policy
from reknit.model.event import Event, event_bytes

__all__ = ["Batch", "Cached", "EventCache"]


class Cached(msgspec.Struct, frozen=True, gc=False):
    """``born``: when it was published, by this broker's clock."""

    event: Event
    born: float


class Batch:
    """Events that came at one time, the oldest first. ``own``: published here, or wanted by clients here."""

    __slots__ = ("born", "bytes", "events", "listed", "own")

    def __init__(self, own: bool, born: float) -> None:
        self.own = own
        self.born = born
        self.events: list[Event] = []
        self.bytes = 0
        self.listed = False


_NONE: Mapping[str, dict[int, Cached]] = {}


class EventCache:
    def __init__(self, policy: Policy[Batch], events_max: int, bytes_max: int) -> None:
        """Beyond its bounds it may hold two batches: what came last, and what is about to leave."""
        self.policy = policy
        self.events_max = events_max
        self.bytes_max = bytes_max
        self._bytes = self._count = 0
        self._newest = -math.inf
        self._open: dict[bool, Batch] = {own: Batch(own, math.inf) for own in (True, False)}  # may still grow
        self._unlisted: list[Batch] = []  # in the order in which they came; some may be gone
        self._numbers: dict[int, dict[str, dict[int, Cached]]] = {}  # by signature, source and number

    def __len__(self) -> int:
        self._take_in()
        return self._count

    def __iter__(self) -> Iterator[Event]:
        self._take_in()
        return (event for batch in self.policy for event in batch.events)

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
        batch = self._open[own]
        if batch.born != born or len(batch.events) >= self.policy.batch_max:
            batch = self._begin(own, born)
        batch.events.append(event)

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

    def _begin(self, own: bool, born: float) -> Batch:
        self._close(self._open[own])
        self._make_room(exactly=False)
        batch = self._open[own] = Batch(own, born)
        return batch

    def _take_in(self) -> None:
        for own, batch in self._open.items():
            if batch.events:
                self._close(batch)
                self._open[own] = Batch(own, math.inf)
        self._make_room(exactly=True)

    def _close(self, batch: Batch) -> None:
        """From now on it counts; what cannot be kept, or not be found, is not in it any more."""
        events = [event for event in batch.events if event.marks is not None]
        sizes = list(map(event_bytes, events))
        if sizes and max(sizes) > self.bytes_max:
            events = [event for event, size in zip(events, sizes, strict=True) if size <= self.bytes_max]
            sizes = [size for size in sizes if size <= self.bytes_max]
        if not events or not (batch.own or self.policy.takes_strangers):
            return
        batch.events, batch.bytes = events, sum(sizes)
        self._count += len(events)
        self._bytes += batch.bytes
        self._newest = max(self._newest, batch.born)
        self.policy.came(batch, batch.own)
        self._unlisted.append(batch)

    def _make_room(self, exactly: bool) -> None:
        """Unless ``exactly``, a batch of which only a part has to go may stay."""
        while self._count > self.events_max or self._bytes > self.bytes_max:
            batch = self.policy.leave()
            if len(batch.events) <= self._count - self.events_max:
                self._drop(batch, len(batch.events), batch.bytes)
                continue
            if exactly or self._bytes > self.bytes_max:
                self._drop(batch, 1, event_bytes(batch.events[0]))
            if batch.events:
                self.policy.back(batch, batch.own)
            if not exactly and self._bytes <= self.bytes_max:
                break
        if len(self._unlisted) > 2 * self.events_max:
            self._unlisted = [each for each in self._unlisted if each.events]

    def _drop(self, batch: Batch, count: int, size: int) -> None:
        """The oldest of a batch."""
        if batch.listed:
            for event in batch.events[:count]:
                self._unlist(event)
        del batch.events[:count]
        batch.bytes -= size
        self._count -= count
        self._bytes -= size

    def _list(self) -> None:
        self._take_in()
        unlisted, self._unlisted = self._unlisted, []
        lists = self._numbers
        for batch in unlisted:
            batch.listed = True
            for event in batch.events:
                cached = Cached(event, batch.born)
                for signature, number in event.marks.numbers if event.marks is not None else ():
                    lists.setdefault(signature, {}).setdefault(event.source, {})[number] = cached

    def _unlist(self, event: Event) -> None:
        """Two events under one number are somebody's lie; the later one is found."""
        for signature, number in event.marks.numbers if event.marks is not None else ():
            sources = self._numbers.get(signature, {})
            numbers = sources.get(event.source, {})
            if number in numbers and numbers[number].event is event:
                del numbers[number]
                if not numbers:
                    del sources[event.source]
                if not sources:
                    del self._numbers[signature]
