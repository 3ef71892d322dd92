"""A passage as columns, of events that have nothing but a topic and a payload.

Owns: which passages can be told so, and how. Must not know: how it is handed over (see ``scribe``), or how it becomes
rows (see ``rows``).

Nearly all events of a busy node are of this kind, and nearly all of one passage have the same topic, the same hops and
numbers that rise by one. So of a thousand events there is hardly more to say than the sizes of their payloads, and
neither the node nor its scribe has to look at a payload, make an event of bytes, or take one apart again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias, TypeVar

import msgspec

from reknit.trace.passage import Passage, Seen
from reknit.trace.records import Record

__all__ = ["Plain", "Told", "plain", "short_hops", "tell"]

_T = TypeVar("_T")


class Plain(msgspec.Struct, array_like=True, tag=2, gc=False):
    """``length`` events; each list has one entry for each of them, or one for all."""

    time: float
    node: str
    client: str | None
    settled: bool
    length: int
    clients: list[tuple[str, ...]]
    peers: list[tuple[str, ...]]
    topics: list[str]
    payload_sizes: list[int]
    qos: list[int]
    sources: list[str]
    seqs: list[int]
    """A single one is that of the first event, and each further event has the next."""

    def count(self) -> int:
        """How many records it stands for."""
        each = (self.client is not None) + self.settled
        return each * self.length + self._count(self.clients) + self._count(self.peers)

    def _count(self, hops: list[tuple[str, ...]]) -> int:
        return len(hops[0]) * self.length if len(hops) == 1 else sum(map(len, hops))


Told: TypeAlias = Record | Passage | Plain


def tell(seen: Iterable[Seen]) -> tuple[list[Told], int]:
    """The same, as short as it can be told, and how many records it stands for."""
    told = [plain(each) if isinstance(each, Passage) else each for each in seen]
    return told, sum(1 if isinstance(each, Record) else each.count() for each in told)


def plain(passage: Passage) -> Plain | Passage:
    """The same as columns, if it can be told so. This is on the way of every event."""
    events = passage.events
    if [1 for each in events if each.attributes or each.properties or each.derived or each.content_type]:
        return passage
    sources, seqs = _ids(passage)
    return Plain(
        passage.time,
        passage.node,
        passage.client,
        passage.settled,
        len(events),
        short_hops(passage.clients, len(events)),
        short_hops(passage.peers, len(events)),
        _short([each.topic for each in events]),
        _short([len(each.payload) for each in events]),
        _short([each.qos for each in events]),
        sources,
        seqs,
    )


def _ids(passage: Passage) -> tuple[list[str], list[int]]:
    """Sources and numbers. Those of events that were published here were given out one after the other."""
    events = passage.events
    first, last = events[0], events[-1]
    if passage.client is not None and first.source == last.source and last.seq - first.seq == len(events) - 1:
        return [first.source], [first.seq]
    seqs = [each.seq for each in events]
    rising = seqs == list(range(first.seq, first.seq + len(seqs)))
    return _short([each.source for each in events]), [first.seq] if rising else seqs


def _short(values: list[_T]) -> list[_T]:
    return values[:1] if values.count(values[0]) == len(values) else values


def short_hops(hops: list[tuple[str, ...]], length: int) -> list[tuple[str, ...]]:
    """Of a passage of ``length`` events: those of each, or one for all."""
    return _short(hops + [()] * (length - len(hops)) if len(hops) < length else hops)
