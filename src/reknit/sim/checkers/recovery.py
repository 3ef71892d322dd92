"""Where links lose events: nothing twice, nothing to whom it was not meant for, nothing lost that somebody still has.

The rules of ``delivery`` hold, but for one: what is owed may be lost, unless some broker that lived when the faults
were healed had it in its cache then, and has not left the network since, with its cache. What was published at a broker
that crashes is released: nobody can say any more that there was something to be missed. So is what was owed to its
sessions, also where they last, and what is published until all is calm again: its next life knows neither what the one
before was missing, nor what it could have had, and its wishes are as young as itself. And so is what was owed to a
session that moves: it moves when nothing is known to be missing, and what is not known nobody can tell the new broker.
An event that has come back goes to nobody who came to want it long after it was published; what is under way for long
counts as published where it arrived, hence *long*.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reknit.model.event import Event, EventId
from reknit.model.pattern import Pattern
from reknit.sim.checkers.delivery import Ledger, Tally
from reknit.sim.checkers.violation import Violation
from reknit.trace.records import DRAINED, Kind, Record

__all__ = ["check_recovery"]

LONG_S = 10.0
"""Longer than an event can be under way in a schedule."""


class _Ledger(Ledger):
    def __init__(self, tally: Tally, lasting: bool) -> None:
        super().__init__(tally, lasting)
        self.anew: dict[str, None] = {}  # brokers that have died since all was calm
        self.kept: dict[EventId, dict[str, None]] = {}  # in the caches of whom
        self.born: dict[EventId, float] = {}
        self.back: dict[tuple[str, EventId], None] = {}  # by broker: what has come back there
        self.since: dict[tuple[str, str, Pattern], float] = {}  # by broker and client

    def see(self, record: Record) -> Iterator[Violation]:
        event, pattern = record.event, record.pattern
        match record.kind:
            case Kind.SETTLED:
                return  # on such links that only says that it was sent
            case Kind.KEPT if event is not None:
                self.kept.setdefault(event.id, {})[record.node] = None
            case Kind.CHANGE if record.detail == DRAINED:
                for holders in self.kept.values():
                    holders.pop(record.node, None)
            case Kind.PUBLISHED if event is not None:
                self.born[event.id] = record.time
            case Kind.RECOVERED if event is not None:
                self.back[record.node, event.id] = None
            case Kind.SUBSCRIBED if pattern is not None:
                self.since[record.node, record.client, pattern] = record.time
            case Kind.DELIVERED if event is not None and (record.node, event.id) in self.back:
                yield from self._too_old(record, event)
            case Kind.CRASHED if self.lasting:
                self.anew[record.node] = None
                self._forgotten(record.node)
            case Kind.MOVED_OUT:
                self.owed.pop((record.node, record.client), None)
        yield from super().see(record)
        if record.kind is Kind.CALM:
            self.kept.clear()
            self.anew.clear()

    def _published(self, node: str, event: Event) -> None:
        super()._published(node, event)
        for key in [key for key in self.owed if key[0] in self.anew]:
            del self.owed[key]

    def _forgotten(self, node: str) -> None:
        for key in [key for key in self.owed if key[0] == node]:
            del self.owed[key]
        for event_id in self.unsettled.pop(node, {}):
            for debts in self.owed.values():
                debts.pop(event_id, None)

    def _too_old(self, record: Record, event: Event) -> Iterator[Violation]:
        patterns = self._session((record.node, record.client)).patterns
        since = [self.since[record.node, record.client, each] for each in patterns if each.matches(event)]
        if since and min(since) > self.born[event.id] + LONG_S:
            who = f"{record.client} at {record.node}"
            yield Violation("recovery", record.time, f"{event.id} came back to {who}, which did not want it then")

    def _lost(self, event: Event, what: str, time: float) -> Iterator[Violation]:
        if holders := self.kept.get(event.id):
            had = f"though {', '.join(holders)} had it"
            yield Violation("recovery", time, f"{event.id} ({event.topic}) {what}, {had}")


def check_recovery(
    records: Iterable[Record], tally: Tally | None = None, *, lasting: bool = False
) -> Iterator[Violation]:
    """The trace must end with a calm record, or the last events are not judged. ``lasting``: brokers have stores."""
    ledger = _Ledger(tally or Tally(), lasting)
    for record in records:
        yield from ledger.see(record)
