"""How long deliveries take while a tree becomes another one, and which of them are late (SWAP's minimal delay).

A delivery is *late* if it took longer than the way from the event's broker to the client's takes in each of the trees
between which the network was changing then. Links have fixed latencies and brokers take no time, so that at rest
nothing ever is. The same is asked of subscriptions, on their way to each broker. Of deliveries that are late it is told
which have waited for order: wherever they stood, they went on together with an event that the broker before had handled
earlier. Where a triangle stands between two trees, the later event can be faster, and to keep order is to let it wait.

Owns: reading ways and waits from a trace. Must not know: how trees are changed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from reknit.core.overlay.shapes import Edge, find_path
from reknit.model.event import EventId
from reknit.model.pattern import Pattern
from reknit.trace.records import Kind, Record

__all__ = ["Clock", "Epoch"]

ROUNDING_S = 1e-9


@dataclass(frozen=True, slots=True)
class Epoch:
    """From ``since`` on the network changes from one tree to another, or has done so."""

    since: float
    before: tuple[Edge, ...]
    after: tuple[Edge, ...]


class Clock:
    """How long deliveries took, how long they may take, and what they have waited for."""

    def __init__(
        self, records: Sequence[Record], epochs: Sequence[Epoch], latency_of: Callable[[str, str], float]
    ) -> None:
        self.records = records
        self.epochs = epochs
        self.latency_of = latency_of
        self._ways: dict[tuple[tuple[Edge, ...], str, str], float] = {}
        self._hops: dict[tuple[EventId, str], tuple[float, str]] = {}  # by event and broker: sent when, by whom
        self._handled: dict[str, dict[EventId, float]] = {}  # by broker: when it gave it to somebody first
        self._came: dict[str, list[tuple[float, EventId]]] = {}  # by broker: when it came, or was handled
        for record in records:
            self._see(record)
        for events in self._came.values():
            events.sort()

    def _see(self, record: Record) -> None:
        if record.event is None or record.kind not in (Kind.PUBLISHED, Kind.DELIVERED, Kind.FORWARDED):
            return
        event, node = record.event.id, record.node
        self._handled.setdefault(node, {}).setdefault(event, record.time)
        self._came.setdefault(node, []).append((record.time, event))
        if record.kind is Kind.FORWARDED:
            self._hops.setdefault((event, record.peer), (record.time, node))
            arrives = record.time + self.latency_of(node, record.peer)
            self._came.setdefault(record.peer, []).append((arrives, event))

    def late(self) -> Iterator[tuple[float, bool, str]]:
        """For each delivery that took longer than any way: by how much, whether for another event, and what it was."""
        published: dict[EventId, Record] = {}
        for record in self.records:
            if record.event is None:
                continue
            if record.kind is Kind.PUBLISHED:
                published[record.event.id] = record
            elif record.kind is Kind.DELIVERED and (excess := self._excess(published[record.event.id], record)):
                what = f"{record.event.id} came to {record.node} {1000 * excess:.2f} ms late"
                yield excess, self._waited_for_another(record), what

    def told(self) -> Iterator[tuple[float, str]]:
        """For each subscription and each broker that hears of it: by how much it is late, which may be not at all."""
        wanted: dict[Pattern, Record] = {}
        heard: set[tuple[Pattern, str]] = set()
        for record in self.records:
            if record.pattern is None:
                continue
            if record.kind is Kind.SUBSCRIBED:
                wanted.setdefault(record.pattern, record)
            elif record.kind is Kind.ROUTE_ADDED and (record.pattern, record.node) not in heard:
                heard.add((record.pattern, record.node))
                if (at := wanted.get(record.pattern)) is not None and at.node != record.node:
                    excess = self._excess(at, record)
                    yield excess, f"{record.pattern.topic} came to {record.node} {1000 * excess:.2f} ms late"

    def _excess(self, at: Record, record: Record) -> float:
        """By how much it took longer than any way from the one to the other."""
        allowed = max(self._way(tree, at.node, record.node) for tree in self._trees(at.time, record.time))
        excess = record.time - at.time - allowed
        return excess if excess > ROUNDING_S else 0.0

    def _trees(self, start: float, end: float) -> dict[tuple[Edge, ...], None]:
        """Those between which the network was changing at some time from ``start`` to ``end``."""
        spans = [(one.since, other.since, one) for one, other in pairwise(self.epochs)]
        spans.append((self.epochs[-1].since, float("inf"), self.epochs[-1]))
        near = [epoch for since, until, epoch in spans if since <= end and start <= until]
        return dict.fromkeys(tree for epoch in near for tree in (epoch.before, epoch.after))

    def _way(self, tree: tuple[Edge, ...], start: str, end: str) -> float:
        key = (tree, start, end)
        if key not in self._ways:
            self._ways[key] = sum(self.latency_of(one, other) for one, other in pairwise(find_path(tree, start, end)))
        return self._ways[key]

    def _waited_for_another(self, delivered: Record) -> bool:
        """Wherever it has waited, it went on with an event that the broker before had handled earlier."""
        assert delivered.event is not None
        event, node, left = delivered.event.id, delivered.node, delivered.time
        waits: list[bool] = []
        while (event, node) in self._hops:
            sent, sender = self._hops[event, node]
            if left > sent + self.latency_of(sender, node) + ROUNDING_S:
                waits.append(self._goes_with(event, node, left, sender, sent))
            node, left = sender, sent
        return bool(waits) and all(waits)

    def _goes_with(self, event: EventId, node: str, at: float, sender: str, sent: float) -> bool:
        came = self._came[node]
        place = bisect_left(came, (at - ROUNDING_S, event))
        while place < len(came) and came[place][0] <= at + ROUNDING_S:
            other = came[place][1]
            if other != event and self._handled.get(sender, {}).get(other, float("inf")) <= sent + ROUNDING_S:
                return True
            place += 1
        return False
