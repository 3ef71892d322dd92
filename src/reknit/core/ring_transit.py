"""The way of an event through a broker on a ring: clients' events go to the ring, and what it brings goes to clients.

Each event bears the number of the last one before it, of the same topic, that has not settled: whoever delivers it has
to wait for that one. If all have settled, everybody who was to get them has them.

Owns: the events of each topic that were published here and have not settled. Must not know: how an event travels.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from reknit.core.io import Match, Publish
from reknit.core.links.custody import Custody
from reknit.core.ring.order import Load
from reknit.core.routing.table import Route
from reknit.core.transit import Transit
from reknit.model.event import Event

__all__ = ["RingTransit"]

TOPICS_MAX = 65_536
"""Topics whose last event is remembered; beyond it those that have settled are forgotten, and then the oldest."""


class RingTransit(Transit):
    carry: Callable[[Sequence[Load]], None]
    """Takes events to their topics' roots; set by the broker."""

    sift: Callable[[Load, tuple[Match, ...]], tuple[Match, ...]]
    """Says who gets an event now, while sessions move; set by the broker."""

    _last: dict[str, deque[tuple[int, Custody]]] | None = None

    def publish(self, each: Publish) -> None:
        custody = Custody(None, 0, list(each.events) if self.turn.observing else [])
        self.turn.custodies.append(custody)
        if self.turn.observing:
            self.turn.published(each.client, custody.events)
        self._stamp(each.events)
        self._begin_way(each.events, custody)

    def _begin_way(self, events: Sequence[Event], custody: Custody) -> None:
        for event in events if self.shares else ():
            if event.sharing is None:
                self.shares.stamp(event)
        self.carry([Load(event, self._before(event, custody), [custody]) for event in events])

    def _before(self, event: Event, custody: Custody) -> int:
        """And remember this one."""
        known = self._last = {} if self._last is None else self._last
        earlier = known.pop(event.topic, None) or deque()
        while earlier and not earlier[0][1].pending:
            earlier.popleft()
        before = next((seq for seq, each in reversed(earlier) if each.pending), 0)
        earlier.append((event.seq, custody))
        if len(known) >= TOPICS_MAX:
            self._forget(known)
        known[event.topic] = earlier
        return before

    def _forget(self, known: dict[str, deque[tuple[int, Custody]]]) -> None:
        for topic in [topic for topic, events in known.items() if not any(each.pending for _, each in events)]:
            del known[topic]
        if len(known) >= TOPICS_MAX:
            del known[next(iter(known))]

    def deliver(self, load: Load) -> None:
        """An event that the ring has brought, to whoever wants it here."""
        event, route = load.event, self.routing.route(load.event)
        matches = self.sift(load, route.matches)
        if matches is not route.matches:
            route = Route(route.neighbours, matches)
        self._dispatch(event, route, self.turn.node, (), load.custodies[0])

    def unsettled(self) -> list[Custody]:
        """Of what was published here."""
        known = self._last or {}
        return [custody for events in known.values() for _, custody in events if custody.pending]
