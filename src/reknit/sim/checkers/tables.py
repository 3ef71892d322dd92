"""When all is calm, each routing table equals the one computed from all subscriptions.

And as long as nothing has changed since, an event travels only where somebody wants it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reknit.core.routing.ideal import NoForest, Tables, ideal_tables
from reknit.core.routing.strategies import RoutingName
from reknit.model.event import EventId
from reknit.model.pattern import Pattern
from reknit.sim.checkers.tree import Forest
from reknit.sim.checkers.violation import Violation
from reknit.trace.records import Kind, Record

__all__ = ["check_tables"]

_DISTURBING = {
    Kind.SUBSCRIBED,
    Kind.UNSUBSCRIBED,
    Kind.LINK_ADDED,
    Kind.LINK_REMOVED,
    Kind.LINK_MOVED,
    Kind.CHANGE,
    Kind.CRASHED,
    Kind.ROUTE_ADDED,
    Kind.ROUTE_REMOVED,
}


class _Network:
    """Subscriptions and tables as the trace tells them."""

    def __init__(self) -> None:
        self.forest = Forest()
        self.wanted: dict[str, dict[tuple[str, Pattern], None]] = {}  # node -> (client, pattern)
        self.tables: Tables = {}

    def see(self, record: Record) -> None:
        self.forest.see(record)
        node, pattern = record.node, record.pattern
        match record.kind:
            case Kind.STARTED | Kind.CRASHED:
                self.wanted[node] = {}
                self.tables[node] = set()
            case Kind.SUBSCRIBED if pattern is not None:
                self.wanted[node][record.client, pattern] = None
            case Kind.UNSUBSCRIBED if pattern is not None:
                self.wanted[node].pop((record.client, pattern), None)
            case Kind.ROUTE_ADDED if pattern is not None:
                self.tables[node].add((record.peer, pattern))
            case Kind.ROUTE_REMOVED if pattern is not None:
                self.tables[node].discard((record.peer, pattern))

    def ideal(self, routing: RoutingName, covering: bool) -> Tables:
        wanted = {node: {pattern: None for _, pattern in wants} for node, wants in self.wanted.items()}
        return ideal_tables(self.forest.edges(), wanted, routing, covering)


def check_tables(records: Iterable[Record], routing: RoutingName, covering: bool) -> Iterator[Violation]:
    network = _Network()
    ideal: Tables | None = None  # while nothing has changed since all was calm
    calm_since = 0.0
    crossed: dict[EventId, dict[tuple[str, str], None]] = {}  # by event published since: the hops that it has made
    for record in records:
        network.see(record)
        if record.kind is Kind.CALM:
            crossed.clear()
            try:
                ideal, calm_since = network.ideal(routing, covering), record.time
            except NoForest as error:
                ideal = None
                yield Violation("tables", record.time, str(error))
            else:
                yield from _differences(network.tables, ideal, record.time)
        elif record.kind in _DISTURBING:
            ideal = None
        elif ideal is not None and record.event is not None and routing != "flooding":
            if record.kind is Kind.PUBLISHED:
                crossed[record.event.id] = {}
            elif record.kind is Kind.FORWARDED and record.event.id in crossed:
                yield from _needless(record, ideal, calm_since)
                yield from _sent_back(record, crossed[record.event.id])


def _differences(tables: Tables, ideal: Tables, time: float) -> Iterator[Violation]:
    for node in sorted(ideal):
        for peer, pattern in sorted(ideal[node] - tables[node]):
            yield Violation("tables", time, f"{node} lacks the entry ({peer}, {pattern})")
        for peer, pattern in sorted(tables[node] - ideal[node]):
            yield Violation("tables", time, f"{node} has a stale entry ({peer}, {pattern})")


def _needless(record: Record, ideal: Tables, calm_since: float) -> Iterator[Violation]:
    event = record.event
    assert event is not None
    if not any(peer == record.peer and pattern.matches(event) for peer, pattern in ideal[record.node]):
        what = f"{record.node} forwarded {event.id} to {record.peer}, behind which nobody wants it"
        yield Violation("tables", record.time, f"{what} (calm since {calm_since:.3f} s)")


def _sent_back(record: Record, crossed: dict[tuple[str, str], None]) -> Iterator[Violation]:
    """On a tree an event crosses a link once, in one direction."""
    assert record.event is not None
    hop = (record.node, record.peer)
    if hop in crossed or hop[::-1] in crossed:
        yield Violation("tables", record.time, f"{record.event.id} crossed the link {' - '.join(hop)} again")
    crossed[hop] = None
