"""Where links lose events: nothing twice, nothing to whom it was not meant for, nothing lost that somebody still has.

The rules of ``delivery`` hold, but for one: what is owed may be lost, unless some broker that lived when the faults
were healed had it in its cache then; a broker that is drained hands its cache over. Even then it may be in two cases.
Each is a promise that is not kept yet, and is counted by its reason, so that nobody takes a verdict for more than it
says:

- The broker of its session has a store, and has died since it was published: its next life does not know what the one
  before was missing. What is published from then on is owed, also while it is dead.
- The broker that published it has died: nobody can say any more that there was something to be missed.

An event that has come back goes to nobody who came to want it long after it was published; what is under way for long
counts as published where it arrived, hence *long*.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reknit.model.event import Event, EventId
from reknit.model.pattern import Pattern
from reknit.sim.checkers.delivery import Debt, Ledger, Tally
from reknit.sim.checkers.violation import Violation
from reknit.trace.records import DRAINED, Kind, Record

__all__ = ["MISSED", "SOURCE_DIED", "check_recovery", "hand_over"]

LONG_S = 10.0
"""Longer than an event can be under way in a schedule."""

MISSED = "its broker has died since"
SOURCE_DIED = "the broker that published it has died"
"""Why an event may be lost that is in somebody's cache."""


class _Ledger(Ledger):
    def __init__(self, tally: Tally, lasting: bool) -> None:
        super().__init__(tally, lasting)
        self.kept: dict[EventId, dict[str, None]] = {}  # in the caches of whom
        self.left: dict[str, None] = {}  # brokers that are drained: they are in no tree any more
        self.born: dict[EventId, float] = {}
        self.back: dict[tuple[str, EventId], None] = {}  # by broker: what has come back there
        self.since: dict[tuple[str, str, Pattern], float] = {}  # by broker and client

    def see(self, record: Record) -> Iterator[Violation]:
        event, pattern = record.event, record.pattern
        match record.kind:
            case Kind.SETTLED:
                return  # on such links that only says that it was sent
            case Kind.KEPT if event is not None and record.node not in self.left:
                self.kept.setdefault(event.id, {})[record.node] = None
            case Kind.CHANGE if record.detail == DRAINED:
                self.left[record.node] = None
                hand_over(self.kept, record.node, record.peer)
            case Kind.PUBLISHED if event is not None:
                self.born[event.id] = record.time
            case Kind.RECOVERED if event is not None:
                self.back[record.node, event.id] = None
            case Kind.SUBSCRIBED if pattern is not None:
                if not self.lasting or pattern not in self._session((record.node, record.client)).patterns:
                    self.since[record.node, record.client, pattern] = record.time
            case Kind.DELIVERED if event is not None and (record.node, event.id) in self.back:
                yield from self._too_old(record, event)
            case Kind.CRASHED:
                self._forgotten(record.node)
            case Kind.MOVED_IN:
                for pattern in self._session((record.node, record.client)).patterns:
                    key = (record.node, record.client, pattern)
                    self.since[key] = min(self.since[key], self.since.get((record.peer, *key[1:]), self.since[key]))
        yield from super().see(record)
        if record.kind is Kind.CALM:
            self.kept.clear()

    def _forgotten(self, node: str) -> None:
        """A broker has died."""
        gone = self.unsettled.pop(node, {})
        for key, debts in self.owed.items():
            for event_id, debt in debts.items():
                if event_id in gone:
                    debt.excuse(SOURCE_DIED)
                elif key[0] == node:
                    debt.excuse(MISSED)

    def _too_old(self, record: Record, event: Event) -> Iterator[Violation]:
        patterns = self._session((record.node, record.client)).patterns
        since = [self.since[record.node, record.client, each] for each in patterns if each.matches(event)]
        if since and min(since) > self.born[event.id] + LONG_S:
            who = f"{record.client} at {record.node}"
            yield Violation("recovery", record.time, f"{event.id} came back to {who}, which did not want it then")

    def _forgive(self, debt: Debt) -> None:
        if self.kept.get(debt.event.id):
            super()._forgive(debt)

    def _lost(self, event: Event, what: str, time: float) -> Iterator[Violation]:
        if holders := self.kept.get(event.id):
            had = f"though {', '.join(holders)} had it"
            yield Violation("recovery", time, f"{event.id} ({event.topic}) {what}, {had}")


def hand_over(kept: dict[EventId, dict[str, None]], leaver: str, heir: str) -> None:
    """What was in the cache of a broker that has left is in that of the one that has taken its clients."""
    for holders in kept.values():
        if holders.pop(leaver, leaver) is None:
            holders[heir] = None


def check_recovery(
    records: Iterable[Record], tally: Tally | None = None, *, lasting: bool = False
) -> Iterator[Violation]:
    """The trace must end with a calm record, or the last events are not judged. ``lasting``: brokers have stores."""
    ledger = _Ledger(tally or Tally(), lasting)
    for record in records:
        yield from ledger.see(record)
