"""The events that a broker keeps for those who have missed them.

They are found by their numbers, for whoever misses an event knows nothing else of it. Where nothing is lost nobody
asks, and an event must cost next to nothing then. So events are kept by *batches*, those that came one after the other,
as the very bytes that brought them, or as they were published here: nothing is made of them for the cache. A batch is
read, and *listed* under the numbers of its events, only when somebody asks for one that it may hold: of which runs of
numbers it consists is known, unless they are too many. Most leave before, and whole. Once somebody asks, batches are
*filed* by the sources of their runs, so that a question looks at those of its source only.

Each has an *age*: how long ago it was published, as far as the brokers that held it can tell without a common clock.
Whoever asks says for how long it has wanted the pattern, and gets nothing older: what was published before was not
meant for it.

Owns: the events and where they are found. Must not know: which events are worth it (see ``policies``), or who asks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from reknit.core.recovery.policies import Policy
from reknit.core.recovery.runs import Run
from reknit.model.event import EVENT_OVERHEAD_BYTES, Event
from reknit.wire.codec import decode, decode_events, encode
from reknit.wire.marks import lags_of, numbers_of_event
from reknit.wire.messages import Data, Events, Loose

__all__ = ["Batch", "Cached", "EventCache"]

BATCH_BYTES_MAX = 256 * 1024
"""No batch grows beyond this."""

BATCH_RUNS_MAX = 8
"""Runs of numbers that are known of a batch; one with more of them may hold anything."""


class Cached(msgspec.Struct, frozen=True, gc=False):
    """``born``: when it was published, by this broker's clock."""

    event: Event
    born: float


class Part(msgspec.Struct, frozen=True, gc=False):
    """So many events: a frame that has brought them and no others, or just these events, as bytes or as they are."""

    data: bytes | Sequence[Event]
    is_frame: bool
    count: int
    born: float

    def read(self) -> list[Cached]:
        events: Sequence[Event]
        if not isinstance(self.data, bytes):
            events = self.data
        else:
            events = _events_of_frame(self.data) if self.is_frame else decode_events(self.data)
        return [Cached(event, self.born) for event in events]


class Batch:
    """Events that came one after the other. ``own``: published here, or wanted by clients here."""

    __slots__ = ("bytes", "left", "listed", "newest", "own", "parts", "runs")

    def __init__(self, own: bool) -> None:
        self.own = own
        self.parts: list[Part] = []
        self.bytes = 0
        self.left = 0  # of the oldest, some may have gone
        self.newest = -math.inf  # when the newest was published
        self.listed: list[Cached] | None = None  # those that are left, once somebody has asked
        self.runs: list[Run] | None = []  # all that it holds; None if that is not known

    def add(self, part: Part, size: int, run: Run | None) -> None:
        """``run``: all of it, if it is one; it is the batch's from now on."""
        self.parts.append(part)
        self.left += part.count
        self.bytes += size
        runs = self.runs
        if run is None or runs is None:
            self.runs = None
        elif runs and runs[-1].last + 1 == run.first and runs[-1].marks == run.marks and runs[-1].source == run.source:
            runs[-1].last = run.last
        elif len(runs) < BATCH_RUNS_MAX:
            runs.append(run)
        else:
            self.runs = None

    def may_hold(self, source: str, signature: int, first: int, last: int) -> bool:
        """Any event of a source and a pattern with one of these numbers."""
        return self.runs is None or any(
            each == signature and run.first + lag <= last and run.last + lag >= first
            for run in self.runs
            if run.source == source
            for each, lag in lags_of(run.marks)
        )

    @property
    def is_unlisted(self) -> bool:
        """Something of it is left, and nobody has read it yet."""
        return self.listed is None and self.left > 0

    def read(self) -> list[Cached]:
        """Those that are left, the oldest first; the bytes are not needed any more."""
        parts, self.parts = self.parts, []
        events = [cached for part in parts for cached in part.read()]
        self.listed = events[len(events) - self.left :]
        return self.listed


def _events_of_frame(data: bytes) -> list[Event]:
    frame = decode(data)
    messages = frame.messages if isinstance(frame, Data | Loose) else []
    return [event for message in messages if isinstance(message, Events) for event in message.events]


_NONE: Mapping[str, dict[int, Cached]] = {}


class EventCache:
    def __init__(self, policy: Policy[Batch], events_max: int, bytes_max: int) -> None:
        """Until somebody asks it may hold two batches more: what came last.

        The bytes of a batch count until the last of its events is gone.
        """
        self.policy = policy
        self.events_max = events_max
        self.bytes_max = bytes_max
        self._count = self._bytes = 0
        self._newest = self._gone = -math.inf  # when the newest was published of all, and of those that are gone
        self._open = {own: Batch(own) for own in (True, False)}  # may still grow
        self._unlisted: list[Batch] = []  # in the order in which they came; some may be gone, or listed since
        self._filed = 0  # so many of these, from the front
        self._of_source: dict[str, list[Batch]] = {}  # of those filed, by source; some may be gone, or listed since
        self._of_any: list[Batch] = []  # the same, of which nothing is known
        self._numbers: dict[int, dict[str, dict[int, Cached]]] = {}  # by signature, source and number

    def __len__(self) -> int:
        self._close_all()
        return self._count

    def __iter__(self) -> Iterator[Event]:
        self._list()
        return (cached.event for batch in self.policy for cached in batch.listed or ())

    @property
    def size(self) -> int:
        """In bytes."""
        self._close_all()
        return self._bytes

    @property
    def newest(self) -> float:
        """When the newest of them was published."""
        return self._newest

    def put(self, events: Sequence[Event], own: bool, born: float) -> None:
        """Those that were not here before, and whose numbers are final.

        ``own``: they were published here, or are wanted by clients here.
        """
        if events:
            data = encode(events)
            self._put(Part(data, False, len(events), born), len(data), own, born, None)

    def put_own(self, events: Sequence[Event], born: float, run: Run | None = None) -> None:
        """The same of events that were published here, and do not change any more: they are kept as they are.

        ``run``: all of them, if they are one.
        """
        if events:
            count = len(events)
            size = count * EVENT_OVERHEAD_BYTES + sum([len(event.payload) for event in events])
            self._put(Part(events, False, count, born), size, True, born, run)

    def put_frame(self, frame: bytes, count: int, own: bool, born: float, run: Run | None = None) -> None:
        """The same of a frame that has brought so many events, all of which are to be kept."""
        self._put(Part(frame, True, count, born), len(frame), own, born, run)

    def find(self, source: str, signature: int, numbers: Sequence[int], published_after: float) -> list[Cached | None]:
        """For each number the event; None, too, for one that is older than that."""
        if not numbers:
            return []
        self._list_about(source, signature, min(numbers), max(numbers), published_after)
        kept = self._numbers.get(signature, _NONE).get(source, {})
        found = [kept.get(number) for number in numbers]
        return [each if each is not None and each.born >= published_after else None for each in found]

    def keeps_all_since(self, then: float) -> bool:
        """Whether nothing has had to leave that was published then or later."""
        self._close_all()
        return self._gone < then

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

    def kept(self, signature: int, published_after: float) -> Iterator[Cached]:
        """What is kept for a pattern and is not older than that."""
        self._list(published_after)
        for numbers in self._numbers.get(signature, _NONE).values():
            yield from (each for each in numbers.values() if each.born >= published_after)

    def every(self, published_after: float) -> Iterator[Cached]:
        """All that is kept, and is younger than that."""
        self._list(published_after)
        for batch in self.policy:
            yield from (each for each in batch.listed or () if each.born > published_after)

    # --- inside

    def _put(self, part: Part, size: int, own: bool, born: float, run: Run | None) -> None:
        if size > self.bytes_max or not (own or self.policy.takes_strangers):
            self._gone = max(self._gone, born)
            return
        batch = self._open[own]
        batch.add(part, size, run)
        if born > batch.newest:
            batch.newest = born
            if born > self._newest:
                self._newest = born
        if batch.left >= self.policy.batch_max or batch.bytes >= BATCH_BYTES_MAX:
            self._close(batch)

    def _close_all(self) -> None:
        for batch in list(self._open.values()):
            if batch.left:
                self._close(batch)

    def _close(self, batch: Batch) -> None:
        """From now on it counts, and may have to leave."""
        self._open[batch.own] = Batch(batch.own)
        self._count += batch.left
        self._bytes += batch.bytes
        self.policy.came(batch, batch.own)
        self._unlisted.append(batch)
        while self._count > self.events_max or self._bytes > self.bytes_max:
            self._make_room()
        if len(self._unlisted) > 2 * self.events_max:
            self._begin_filing([each for each in self._unlisted if each.is_unlisted])

    def _make_room(self) -> None:
        batch = self.policy.leave()
        surplus = self._count - self.events_max
        if self._bytes > self.bytes_max or surplus >= batch.left:
            self._drop(batch, batch.left)
        else:
            self._drop(batch, surplus)
            self.policy.back(batch, batch.own)

    def _drop(self, batch: Batch, count: int) -> None:
        """The oldest of a batch."""
        if batch.listed is not None:
            for cached in batch.listed[:count]:
                self._unlist(cached.event)
            del batch.listed[:count]
        self._gone = max(self._gone, batch.newest)
        self._count -= count
        batch.left -= count
        if not batch.left:
            self._bytes -= batch.bytes
            batch.parts.clear()

    def _list(self, published_after: float = -math.inf) -> None:
        """Whatever holds anything which is not older: whoever has just come asks for the last few."""
        self._close_all()
        older: list[Batch] = []
        for batch in self._unlisted:
            if batch.is_unlisted:
                older.append(batch) if batch.newest < published_after else self._list_batch(batch)
        self._begin_filing(older)

    def _list_about(self, source: str, signature: int, first: int, last: int, published_after: float) -> None:
        """The same of what may hold any of these numbers."""
        self._close_all()
        self._file()
        for pile in (self._of_source.get(source, []), self._of_any):
            for batch in pile:
                holds = batch.is_unlisted and batch.newest >= published_after
                if holds and batch.may_hold(source, signature, first, last):
                    self._list_batch(batch)
            pile[:] = [batch for batch in pile if batch.is_unlisted]

    def _begin_filing(self, unlisted: list[Batch]) -> None:
        self._unlisted = unlisted
        self._filed = 0
        self._of_source.clear()
        self._of_any.clear()

    def _file(self) -> None:
        """What has come since the last question."""
        for batch in self._unlisted[self._filed :]:
            if batch.runs is None:
                self._of_any.append(batch)
            else:
                for source in dict.fromkeys([run.source for run in batch.runs]):
                    self._of_source.setdefault(source, []).append(batch)
        self._filed = len(self._unlisted)

    def _list_batch(self, batch: Batch) -> None:
        for cached in batch.read():
            self._list_event(cached.event, cached)

    def _list_event(self, event: Event, cached: Cached) -> None:
        for signature, number in numbers_of_event(event):
            self._numbers.setdefault(signature, {}).setdefault(event.source, {})[number] = cached

    def _unlist(self, event: Event) -> None:
        """Two events under one number are somebody's lie; the later one is found."""
        for signature, number in numbers_of_event(event):
            sources = self._numbers.get(signature, {})
            numbers = sources.get(event.source, {})
            if number in numbers and numbers[number].event is event:
                del numbers[number]
                if not numbers:
                    del sources[event.source]
                if not sources:
                    del self._numbers[signature]
