"""Many events that one input has made a node see, told at once.

Owns: what a passage is, how many records it stands for and which, and what it is given to. Must not know: who sees it,
or how it is stored (see ``rows``).

Under load one read brings hundreds of events, and of each the same three things are to be told: it was published, it
was delivered, it has settled. A record for each of them would cost more than a third of what the broker does with the
event itself. So the broker notes the events in one list and where each went in another; whoever wants records has them
made from that, and on real sockets that is another process (``scribe``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, zip_longest
from typing import Protocol, TypeAlias

import msgspec

from reknit.model.event import Event, event_bytes
from reknit.trace.records import Kind, Record

__all__ = ["Passage", "RecordSink", "Seen", "expand"]


class Passage(msgspec.Struct, array_like=True, tag=1, gc=False):
    """What became of ``events``, one after the other, at one time; ``settled`` is said of all of them, after that."""

    time: float
    node: str
    client: str | None
    """Who published them here; None says that they were not published here, or that it is told elsewhere."""
    events: list[Event]
    clients: list[tuple[str, ...]] = []
    """By event: to whom it was delivered. It may be shorter than ``events``; then the rest went to nobody."""
    peers: list[tuple[str, ...]] = []
    """By event: to whom it was forwarded; it may be shorter, too."""
    settled: bool = False

    def count(self) -> int:
        """How many records it stands for."""
        each = (self.client is not None) + self.settled
        return each * len(self.events) + sum(map(len, self.clients)) + sum(map(len, self.peers))

    def records(self) -> Iterator[Record]:
        """What it stands for, in the order in which it was seen."""
        for event, clients, peers in zip_longest(self.events, self.clients, self.peers, fillvalue=()):
            assert isinstance(event, Event)
            if self.client is not None:
                yield Record(self.time, self.node, Kind.PUBLISHED, "", self.client, event)
            for name in clients:
                yield Record(self.time, self.node, Kind.DELIVERED, "", name, event)
            for name in peers:
                yield Record(self.time, self.node, Kind.FORWARDED, name, "", event, None, event_bytes(event))
        if self.settled:
            for event in self.events:
                yield Record(self.time, self.node, Kind.SETTLED, "", "", event)


Seen: TypeAlias = Record | Passage


def expand(seen: Iterable[Seen]) -> list[Record]:
    """All records, in their order."""
    return list(chain.from_iterable((each,) if isinstance(each, Record) else each.records() for each in seen))


class RecordSink(Protocol):
    """Where the trace goes; it must return at once, and count what it could not take."""

    @property
    def written(self) -> int: ...

    @property
    def dropped(self) -> int: ...

    def append(self, seen: list[Seen]) -> None: ...

    def close(self) -> None: ...
