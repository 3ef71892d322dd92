"""Subscription forwarding on an unrooted tree (PATH, Figures 12 and 13, corrected).

The rule of the paper, said as one sentence: *a neighbour d is told of a pattern p exactly as long as somebody other
than d wants p*. The paper's tests ("no subscriber left", "exactly one left") are the moments at which the truth of
that sentence changes for some d; as printed, they count the subscriber that was just inserted, and subscriptions
never spread. An event goes to every hop with a matching entry except the one that it came from, once.

With *covering*, d is told only of the patterns that no other pattern told to d covers. That shrinks tables and
changes no delivery: a covered pattern's events match the covering one.

Owns: what each neighbour has been told. Must not know: how the tree is shaped beyond the neighbours.
"""

from __future__ import annotations

from reknit.core.routing.announcements import Announcements, Covering
from reknit.core.routing.base import Routing, Sender, chunks
from reknit.core.routing.table import broker
from reknit.core.turn import Turn
from reknit.model.pattern import Pattern
from reknit.wire.messages import Entry, Message, Sub, Unsub

__all__ = ["SubscriptionForwarding"]


class SubscriptionForwarding(Routing):
    name = "subscription-forwarding"

    def __init__(self, turn: Turn, send: Sender, covering: bool = False) -> None:
        super().__init__(turn, send)
        self._announcements = Covering if covering else Announcements
        self._told: dict[str, Announcements] = {}

    def subscribe(self, name: str, pattern: Pattern) -> None:
        if self._add_client(name, pattern):
            self._spread(pattern)

    def unsubscribe(self, name: str, pattern: Pattern) -> None:
        if self._remove_client(name, pattern):
            self._spread(pattern)

    def receive(self, neighbour: str, message: Message) -> None:
        if isinstance(message, Sub):
            for pattern in message.patterns:
                if self._add(neighbour, pattern):
                    self._spread(pattern)
        elif isinstance(message, Unsub):
            for pattern in message.patterns:
                # An unsubscription for an absent entry does nothing (Figure 14's guard, needed everywhere).
                if self._remove(neighbour, pattern):
                    self._spread(pattern)

    def tell(self, neighbour: str) -> None:
        told = self._told[neighbour] = self._announcements()
        hop = broker(neighbour)
        for pattern in self.table.patterns():
            if self.table.wanted_apart_from(hop, pattern):
                told.want(pattern)
        self._send_snapshot(neighbour, [("", told.announced())])

    def forget(self, neighbour: str) -> None:
        self._told.pop(neighbour, None)
        for pattern in self.table.of(broker(neighbour)):
            self._remove(neighbour, pattern)
            self._spread(pattern)

    def replace(self, neighbour: str, entries: list[Entry]) -> None:
        wanted = {pattern: None for _, patterns in entries for pattern in patterns}
        self.receive(neighbour, Sub(list(wanted)))  # build before destroying
        self.receive(neighbour, Unsub([each for each in self.table.of(broker(neighbour)) if each not in wanted]))

    def _spread(self, pattern: Pattern) -> None:
        """An entry for ``pattern`` has come or gone: tell each neighbour for which that makes a difference."""
        for neighbour, told in self._told.items():
            if self.table.wanted_apart_from(broker(neighbour), pattern):
                announce, retract = told.want(pattern)
            else:
                announce, retract = told.want_no_more(pattern)
            for some in chunks(announce):
                self.send(neighbour, Sub(some))
            for some in chunks(retract):
                self.send(neighbour, Unsub(some))
