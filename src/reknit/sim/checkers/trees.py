"""When all is calm, brokers on a ring have one version, and topics' trees are those computed from all ids and wishes.

And as long as nothing has changed since, an event crosses the links to its root and those of its tree, each once, and
no others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise

from reknit.model.event import Event, EventId
from reknit.model.pattern import Pattern
from reknit.planning.ring import NoRing
from reknit.planning.trees import Branches, ideal_trees, way_up
from reknit.sim.checkers.violation import Violation
from reknit.trace.records import DRAINED, Kind, Record

__all__ = ["check_trees"]

_DISTURBING = {
    *(Kind.SUBSCRIBED, Kind.UNSUBSCRIBED, Kind.ROUTE_ADDED, Kind.ROUTE_REMOVED),
    *(Kind.STARTED, Kind.CRASHED, Kind.PLACED, Kind.CHANGE, Kind.LINK_DOWN, Kind.LINK_REMOVED),
}


class _Circle:
    """Brokers, wishes and branches as the trace tells them."""

    def __init__(self) -> None:
        self.ids: dict[str, int] = {}
        self.versions: dict[str, int] = {}
        self.wanted: dict[str, dict[tuple[str, Pattern], None]] = {}  # node -> (client, pattern)
        self.branches: Branches = {}
        self.crossed: dict[EventId, tuple[str, Event, Counter[tuple[str, str]]]] = {}  # published since all was calm
        self.still = False

    def see(self, record: Record) -> None:
        node, pattern = record.node, record.pattern
        match record.kind:
            case Kind.STARTED:
                self.wanted[node], self.branches[node] = {}, set()
            case Kind.PLACED:
                self.ids[node], self.versions[node] = int(record.detail), record.size
            case Kind.CRASHED:
                self._gone(node)
            case Kind.CHANGE if record.detail == DRAINED:
                self._gone(node)
            case Kind.SUBSCRIBED if pattern is not None:
                self.wanted[node][record.client, pattern] = None
            case Kind.UNSUBSCRIBED if pattern is not None:
                self.wanted[node].pop((record.client, pattern), None)
            case Kind.ROUTE_ADDED if pattern is not None:
                self.branches[node].add((record.peer, pattern.topic))
            case Kind.ROUTE_REMOVED if pattern is not None:
                self.branches[node].discard((record.peer, pattern.topic))
            case Kind.PUBLISHED if record.event is not None and self.still:
                self.crossed[record.event.id] = (node, record.event, Counter())
            case Kind.FORWARDED if record.event is not None and record.event.id in self.crossed:
                self.crossed[record.event.id][2][node, record.peer] += 1
        if record.kind in _DISTURBING:
            self.still = False
            self.crossed.clear()

    def _gone(self, node: str) -> None:
        for each in (self.ids, self.versions, self.wanted, self.branches):
            each.pop(node, None)

    def ideal(self) -> Branches:
        wants = {node: {pattern.topic: None for _, pattern in each} for node, each in self.wanted.items()}
        return ideal_trees(self.ids, wants)


def check_trees(records: Iterable[Record]) -> Iterator[Violation]:
    circle = _Circle()
    for record in records:
        circle.see(record)
        if record.kind is Kind.CALM:
            yield from _judge(circle, record.time)


def _judge(circle: _Circle, time: float) -> Iterator[Violation]:
    if len(set(circle.versions.values())) > 1:
        yield Violation("versions", time, f"there are several: {dict(sorted(circle.versions.items()))}")
        return
    try:
        ideal = circle.ideal()
    except NoRing as error:
        yield Violation("trees", time, str(error))
        return
    for node in sorted(ideal):
        for peer, topic in sorted(ideal[node] - circle.branches[node]):
            yield Violation("trees", time, f"{node} does not send {topic} on to {peer}")
        for peer, topic in sorted(circle.branches[node] - ideal[node]):
            yield Violation("trees", time, f"{node} sends {topic} on to {peer} in vain")
    for node, event, crossed in circle.crossed.values():
        yield from _astray(circle, ideal, node, event, crossed, time)
    circle.crossed.clear()
    circle.still = True


def _astray(
    circle: _Circle, ideal: Branches, node: str, event: Event, crossed: Counter[tuple[str, str]], time: float
) -> Iterator[Violation]:
    expected = Counter(pairwise(way_up(circle.ids, node, event.topic)))
    expected.update((one, other) for one, hops in ideal.items() for other, topic in hops if topic == event.topic)
    for hop, count in sorted((crossed - expected).items()):
        yield Violation("trees", time, f"{event.id} ({event.topic}) crossed {' - '.join(hop)} {count} times too often")
