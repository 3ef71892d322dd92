"""Where links lose events, order is for those who ask for it: what comes back comes before its successors.

An event that has come back must not be delivered to such a client behind a later one of the same source and pattern,
unless a later one of that source, for whatever pattern, has waited for as long as the client lets it: what waits for a
client goes in one line, and with that one all before it. Judged are events that were published after the wish had
settled, while their publisher knew of the pattern: others have no number for it, and nobody can tell that one is
missing. A session that moves takes nothing along that waits: what it had when it left may be out of order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from reknit.model.event import Event, EventId
from reknit.model.pattern import Pattern
from reknit.sim.checkers.violation import Violation
from reknit.trace.records import Kind, Record

__all__ = ["check_succession"]

EPSILON_S = 1e-6
"""Times are floating."""


@dataclass(slots=True)
class _Wish:
    wait_s: float
    settled: bool = False
    hasty: dict[str, int] = field(default_factory=dict)
    """By source: the last event that was delivered without having waited for as long as it may."""


class _Watcher:
    def __init__(self) -> None:
        self.wishes: dict[tuple[str, str], dict[Pattern, _Wish]] = {}  # by node and client
        self.waiting: dict[tuple[str, str, EventId], float] = {}
        self.patient: dict[tuple[str, str, str], int] = {}  # by source: the last that has waited for as long as it may
        self.back: dict[tuple[str, EventId], None] = {}
        self.routes: dict[
            str, dict[Pattern, dict[str, None]]
        ] = {}  # by node: where its table sends events of a pattern
        self.numbered: dict[EventId, tuple[Pattern, ...]] = {}  # published since all was calm last: for which patterns

    def see(self, record: Record) -> Iterator[Violation]:
        key, event, pattern = (record.node, record.client), record.event, record.pattern
        match record.kind:
            case Kind.ORDERED if pattern is not None:
                self._wish(key, pattern, float(record.detail))
            case Kind.UNSUBSCRIBED if pattern is not None:
                self.wishes.get(key, {}).pop(pattern, None)
            case Kind.ATTACHED | Kind.DETACHED | Kind.MOVED_OUT | Kind.MOVED_IN:
                self.wishes.pop(key, None)
            case Kind.MOVING:
                for wish in self.wishes.get(key, {}).values():
                    wish.hasty.clear()
            case Kind.ROUTE_ADDED if pattern is not None:
                self.routes.setdefault(record.node, {}).setdefault(pattern, {})[record.peer] = None
            case Kind.ROUTE_REMOVED if pattern is not None:
                self.routes.get(record.node, {}).get(pattern, {}).pop(record.peer, None)
            case Kind.CRASHED:
                self.routes.pop(record.node, None)
                for each in [each for each in self.wishes if each[0] == record.node]:
                    del self.wishes[each]
            case Kind.PUBLISHED if event is not None:
                routes = self.routes.get(record.node, {})
                self.numbered[event.id] = tuple(each for each, peers in routes.items() if peers and each.matches(event))
            case Kind.WAITING if event is not None:
                self.waiting[(*key, event.id)] = record.time
            case Kind.RECOVERED if event is not None:
                self.back[record.node, event.id] = None
            case Kind.DELIVERED if event is not None:
                yield from self._delivered(key, event, record.time)
            case Kind.CALM:
                self._calm()

    def _wish(self, key: tuple[str, str], pattern: Pattern, wait_s: float) -> None:
        wishes = self.wishes.setdefault(key, {})
        if wait_s:
            wishes.setdefault(pattern, _Wish(wait_s)).wait_s = wait_s
        else:
            wishes.pop(pattern, None)

    def _delivered(self, key: tuple[str, str], event: Event, time: float) -> Iterator[Violation]:
        since = self.waiting.pop((*key, event.id), None)
        came_back, numbered = (key[0], event.id) in self.back, self.numbered.get(event.id, ())
        wishes = self.wishes.get(key, {})
        wait_s = max((wish.wait_s for pattern, wish in wishes.items() if pattern.matches(event)), default=0.0)
        waited = since is not None and time >= since + wait_s - EPSILON_S
        line = (*key, event.source)
        if waited:
            self.patient[line] = max(event.seq, self.patient.get(line, 0))
        for pattern, wish in wishes.items():
            if not wish.settled or pattern not in numbered:
                continue
            last = wish.hasty.get(event.source, 0)
            if came_back and self.patient.get(line, 0) < event.seq < last:
                what = f"{event.id} came back to {key[1]} at {key[0]} behind number {last} of the same source"
                yield Violation("order", time, f"{what}, which has not waited for {wish.wait_s:g} s")
            if not waited:
                wish.hasty[event.source] = max(event.seq, last)

    def _calm(self) -> None:
        self.numbered.clear()
        for wishes in self.wishes.values():
            for wish in wishes.values():
                wish.settled = True
                wish.hasty.clear()


def check_succession(records: Iterable[Record]) -> Iterator[Violation]:
    watcher = _Watcher()
    for record in records:
        yield from watcher.see(record)
