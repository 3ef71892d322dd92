"""Events that cross between brokers and communities: to each who wants one once, and to nobody else.

An event is known by the id that it had where it was published; where it has crossed, a property says which that was.

Owns: that judgement. Must not know: anything but the trace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import inf

from reknit.model.event import Event
from reknit.model.topic import topic_matches
from reknit.sim.checkers.parasites import Above
from reknit.sim.checkers.violation import Violation
from reknit.trace.records import Kind, Record

__all__ = ["ORIGIN", "Passes", "check_crossing"]

ORIGIN = "reknit-origin"
"""The property that has it; the same name as the gateway's, which a reader of traces does not know."""

CHECKER = "crossing"


Passes = Callable[[str], str]
"""From a topic to the peer through which its events cross to brokers, or nothing."""


def check_crossing(
    records: Iterable[Record],
    inner: str = "$",
    above: Above | None = None,
    passes: Passes | None = None,
    calm_s: float = inf,
) -> list[Violation]:
    """Clients whose names begin with ``inner`` are the brokers' own. What is published after ``CALM`` is owed.

    ``above``: where topics have parents that their names do not say. ``passes``: where gossip may lose an event; then
    peers are owed nothing here, and clients what has come to the peer that passes it on. ``calm_s``: for how long it is
    calm, and not for longer than until somebody crashes; what is published at other times than that may come twice, if
    a broker has crashed, since gateways have then to find out anew which of them passes it on.
    """
    book = _Book(inner, above, passes, calm_s)
    for record in records:
        book.take(record)
    return [*book.found, *book.missing()]


class _Book:
    def __init__(self, inner: str, above: Above | None, passes: Passes | None, calm_s: float) -> None:
        self.inner = inner
        self.above = above
        self.passes = passes
        self.found: list[Violation] = []
        self.wants: dict[tuple[str, str], dict[str, None]] = {}  # by node and client: topic filters
        self.got: dict[tuple[str, tuple[str, str]], None] = {}
        self.owed: dict[str, tuple[float, Event]] = {}
        self.of_clients: dict[str, None] = {}
        self.begun: dict[str, float] = {}  # by node: its life
        self.calm_s = calm_s
        self.calm_until = -inf
        self.is_shaken = False  # a broker with clients has crashed

    def take(self, record: Record) -> None:
        who = (record.node, record.client)
        if record.client.startswith(self.inner):
            return
        if record.kind is Kind.CALM:
            self.calm_until = record.time + self.calm_s
        elif record.kind in (Kind.CRASHED, Kind.STARTED):
            if self.calm_s < inf:
                self.calm_until = -inf
                self.is_shaken |= record.kind is Kind.CRASHED and any(
                    who[0] == record.node for who in self.wants if who[1]
                )
            self._begin_anew(record.node, record.time)
        elif record.kind is Kind.SUBSCRIBED and record.pattern is not None and not record.detail:
            self.wants.setdefault(who, {})[record.pattern.topic] = None
        elif record.kind is Kind.UNSUBSCRIBED and record.pattern is not None:
            self.wants.get(who, {}).pop(record.pattern.topic, None)
        elif record.kind is Kind.PUBLISHED and record.event is not None and record.time <= self.calm_until:
            self._publish(record, record.event)
        elif record.kind is Kind.DELIVERED and record.event is not None:
            self._deliver(record, record.event, who)

    def _begin_anew(self, node: str, now: float) -> None:
        """Nothing of an earlier life is known to who lives there, nor owed to it."""
        self.begun[node] = now
        for who in [who for who in self.wants if who[0] == node]:
            del self.wants[who]
        for key in [key for key in self.got if key[1][0] == node]:
            del self.got[key]

    def _publish(self, record: Record, event: Event) -> None:
        if ORIGIN not in dict(event.properties) and not event.topic.startswith("$"):
            self.owed[_origin(event)] = (record.time, event)
            if record.client:
                self.of_clients[_origin(event)] = None

    def _deliver(self, record: Record, event: Event, who: tuple[str, str]) -> None:
        name = who[1] or who[0]
        if not self._is_wanted(who, event.topic):
            self._wrong(record, f"{name} got {_origin(event)} of {event.topic}, which it does not want")
        is_judged = not self.is_shaken or _origin(event) in self.owed
        if is_judged and (_origin(event), who) in self.got:
            self._wrong(record, f"{name} got {_origin(event)} twice")
        self.got[_origin(event), who] = None

    def _wrong(self, record: Record, told: str) -> None:
        self.found.append(Violation(CHECKER, record.time, told))

    def _is_wanted(self, who: tuple[str, str], topic: str) -> bool:
        if self.above is not None and not who[1]:
            return any(each in self.wants.get(who, ()) for each in self.above(topic))
        return any(topic_matches(each, topic) for each in self.wants.get(who, ()))

    def missing(self) -> list[Violation]:
        return [
            Violation(CHECKER, time, f"{who[1] or who[0]} never got {origin} of {event.topic}")
            for origin, (time, event) in self.owed.items()
            for who in self.wants
            if time >= self.begun.get(who[0], -inf)
            and self._is_wanted(who, event.topic)
            and (origin, who) not in self.got
            and self._owes(origin, event, who)
        ]

    def _owes(self, origin: str, event: Event, who: tuple[str, str]) -> bool:
        if self.passes is None:
            return True
        return bool(who[1]) and (origin in self.of_clients or (origin, (self.passes(event.topic), "")) in self.got)


def _origin(event: Event) -> str:
    return dict(event.properties).get(ORIGIN, f"{event.source}/{event.seq}")
