"""Events that cross between brokers and communities: to each who wants one once, and to nobody else.

An event is known by the id that it had where it was published; where it has crossed, a property says which that was.

Owns: that judgement. Must not know: anything but the trace.
"""

from __future__ import annotations

from collections.abc import Iterable

from reknit.model.event import Event
from reknit.model.topic import topic_matches
from reknit.sim.checkers.violation import Violation
from reknit.trace.records import Kind, Record

__all__ = ["ORIGIN", "check_crossing"]

ORIGIN = "reknit-origin"
"""The property that has it; the same name as the gateway's, which a reader of traces does not know."""

CHECKER = "crossing"


def check_crossing(records: Iterable[Record], inner: str = "$") -> list[Violation]:
    """Clients whose names begin with ``inner`` are the brokers' own. What is published after ``CALM`` is owed."""
    book = _Book(inner)
    for record in records:
        book.take(record)
    return [*book.found, *book.missing()]


class _Book:
    def __init__(self, inner: str) -> None:
        self.inner = inner
        self.found: list[Violation] = []
        self.wants: dict[tuple[str, str], dict[str, None]] = {}  # by node and client: topic filters
        self.got: dict[tuple[str, tuple[str, str]], None] = {}
        self.owed: dict[str, tuple[float, Event]] = {}
        self.calm = False

    def take(self, record: Record) -> None:
        who = (record.node, record.client)
        if record.client.startswith(self.inner):
            return
        if record.kind is Kind.CALM:
            self.calm = True
        elif record.kind is Kind.SUBSCRIBED and record.pattern is not None and not record.detail:
            self.wants.setdefault(who, {})[record.pattern.topic] = None
        elif record.kind is Kind.UNSUBSCRIBED and record.pattern is not None:
            self.wants.get(who, {}).pop(record.pattern.topic, None)
        elif record.kind is Kind.PUBLISHED and record.event is not None and self.calm:
            self._publish(record, record.event)
        elif record.kind is Kind.DELIVERED and record.event is not None:
            self._deliver(record, record.event, who)

    def _publish(self, record: Record, event: Event) -> None:
        if ORIGIN not in dict(event.properties) and not event.topic.startswith("$"):
            self.owed[_origin(event)] = (record.time, event)

    def _deliver(self, record: Record, event: Event, who: tuple[str, str]) -> None:
        name = who[1] or who[0]
        if not any(topic_matches(topic, event.topic) for topic in self.wants.get(who, ())):
            self._wrong(record, f"{name} got {_origin(event)} of {event.topic}, which it does not want")
        if (_origin(event), who) in self.got:
            self._wrong(record, f"{name} got {_origin(event)} twice")
        self.got[_origin(event), who] = None

    def _wrong(self, record: Record, told: str) -> None:
        self.found.append(Violation(CHECKER, record.time, told))

    def missing(self) -> list[Violation]:
        return [
            Violation(CHECKER, time, f"{who[1] or who[0]} never got {origin} of {event.topic}")
            for origin, (time, event) in self.owed.items()
            for who, topics in self.wants.items()
            if any(topic_matches(topic, event.topic) for topic in topics) and (origin, who) not in self.got
        ]


def _origin(event: Event) -> str:
    return dict(event.properties).get(ORIGIN, f"{event.source}/{event.seq}")
