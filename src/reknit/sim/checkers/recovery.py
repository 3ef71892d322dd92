"""Where links lose events: nothing twice, nothing to whom it was not meant for, nothing lost that somebody still has.

The rules of ``delivery`` hold, but for one: what is owed may be lost, unless some broker that lived when the faults
were healed had it in its cache then. What was published at a broker that crashes is released: nobody can say any more
that there was something to be missed. And an event that has come back goes to nobody who came to want it long after it
was published; what is under way for long counts as published where it arrived, hence *long*.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reknit.model.event import Event, EventId
from reknit.model.pattern import Pattern
from reknit.sim.checkers.delivery import Ledger, Tally
from reknit.sim.checkers.violation import Violation
from reknit.trace.records import Kind, Record

__all__ = ["check_recovery"]

LONG_S = 10.0
"""Longer than an event can be under way in a schedule."""


class _Ledger(Ledger):
    def __init__(self, tally: Tally) -> None:
        super().__init__(tally, lasting=False)
        self.kept: dict[EventId, str] = {}  # in the cache of whom
        self.born: dict[EventId, float] = {}
        self.back: dict[tuple[str, EventId], None] = {}  # by broker: what has come back there
        self.since: dict[tuple[str, str, Pattern], float] = {}  # by broker and client

    def see(self, record: Record) -> Iterator[Violation]:
        event, pattern = record.event, record.pattern
        match record.kind:
            case Kind.SETTLED:
                return  # on such links that only says that it was sent
            case Kind.KEPT if event is not None:
                self.kept[event.id] = record.node
            case Kind.PUBLISHED if event is not None:
                self.born[event.id] = record.time
            case Kind.RECOVERED if event is not None:
                self.back[record.node, event.id] = None
            case Kind.SUBSCRIBED if pattern is not None:
                self.since[record.node, record.client, pattern] = record.time
            case Kind.DELIVERED if event is not None and (record.node, event.id) in self.back:
                yield from self._too_old(record, event)
        yield from super().see(record)
        if record.kind is Kind.CALM:
            self.kept.clear()

    def _too_old(self, record: Record, event: Event) -> Iterator[Violation]:
        patterns = self._session((record.node, record.client)).patterns
        since = [self.since[record.node, record.client, each] for each in patterns if each.matches(event)]
        if since and min(since) > self.born[event.id] + LONG_S:
            who = f"{record.client} at {record.node}"
            yield Violation("recovery", record.time, f"{event.id} came back to {who}, which did not want it then")

    def _lost(self, event: Event, what: str, time: float) -> Iterator[Violation]:
        if event.id in self.kept:
            had = f"though {self.kept[event.id]} had it"
            yield Violation("recovery", time, f"{event.id} ({event.topic}) {what}, {had}")


def check_recovery(records: Iterable[Record], tally: Tally | None = None) -> Iterator[Violation]:
    """The trace must end with a calm record, or the last events are not judged."""
    ledger = _Ledger(tally or Tally())
    for record in records:
        yield from ledger.see(record)
