"""A broker that routes by rendezvous: the same layers, on a ring instead of a tree.

Links, sessions, the book and the way of an event are those of any broker. Who is linked, and why, is the ring's to
say (``core/ring``); the overlay has nobody, and inputs that would change a tree are refused.

Owns: what a broker on a ring does otherwise. Must not know: the shell, or how a ring is kept.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from reknit.core.broker import Broker, BrokerOptions
from reknit.core.io import (
    AddLink,
    Drain,
    Due,
    Ended,
    LinkAppeared,
    LinkVanished,
    Received,
    Remember,
    RemoveLink,
    Replace,
    Reply,
    Reshape,
    StopDrain,
    Substitute,
    SwapLink,
)
from reknit.core.links.custody import Arrival
from reknit.core.links.links import LinkEvent
from reknit.core.ring.manager import Manager
from reknit.core.ring.monitor import Monitor
from reknit.core.ring.order import Load
from reknit.core.ring.peers import Met
from reknit.core.ring.reshaping import Reshaping
from reknit.core.ring.station import Station
from reknit.core.ring_transit import RingTransit
from reknit.core.routing.rendezvous import Rendezvous
from reknit.core.turn import earliest
from reknit.trace.records import DRAINED, Kind
from reknit.wire.messages import Digests, Lines, Message
from reknit.wire.planes import PlanesMessage, Report, Staged

__all__ = ["RingBroker"]

_OF_TREES = (AddLink, RemoveLink, SwapLink, Replace, LinkVanished, LinkAppeared, Substitute, StopDrain)


class RingBroker(Broker):
    transit_type = RingTransit

    def __init__(
        self,
        name: str,
        incarnation: int,
        options: BrokerOptions,
        rng: random.Random,
        neighbours: Mapping[str, str] | None = None,
        address: str = "",
        links: Mapping[str, str] | None = None,
        notes: str = "",
        leaves: bool = False,
        new: bool = False,
        door: str = "",
        relay: str = "",
    ) -> None:
        """As a ``Broker``; ``neighbours`` and ``links`` are contacts, of which one at least is to be on the ring."""
        super().__init__(name, incarnation, options, rng, neighbours, address, links, "", False, new, door, relay)
        self.ring = Station(self.turn, self.links, options.ring, rng, self._deliver, options.held_events_max, notes)
        assert isinstance(self.routing, Rendezvous)
        assert isinstance(self.transit, RingTransit)
        self.routing.want, self.routing.want_no_more = self.ring.want, self.ring.want_no_more
        self.transit.carry = self._carry
        self.book.neighbours = lambda: list(self.links.of)
        self.gate.waive()
        self._deadlines.append(self.ring.deadline)
        self.reshaping = Reshaping(self.turn, self.ring, options.ring)
        self.manager = Manager(self.turn, self.ring, self.reshaping, options.ring)
        self.monitor = Monitor(self.turn, self.ring, options.ring, lambda: bool(self._changing))
        self.ring.lost = self.manager.lost
        self._deadlines += [self.reshaping.deadline, self.manager.deadline, self.monitor.deadline]
        self._leaving: int | None = None  # the operator's request to leave
        self._left_at: float | None = None
        self._remembered_at = -1.0
        self._configured = {peer: at for peer, at in (neighbours or {}).items() if at}

    def _deliver(self, load: Load) -> None:
        assert isinstance(self.transit, RingTransit)
        self.transit.deliver(load)

    def _carry(self, loads: Sequence[Load]) -> None:
        self.monitor.count(loads)
        self.ring.publish(loads)

    def _make_handlers(self) -> dict[type, Callable[[Any], None]]:
        refused: dict[type, Callable[[Any], None]] = dict.fromkeys(_OF_TREES, self._refuse)
        reshape = lambda each: self.manager.begin(each.base, each.places, each.request)  # noqa: E731
        return {**super()._make_handlers(), **refused, Drain: self._on_drain, Reshape: reshape}

    # --- the door

    def _begin(self, founded: dict[str, str], wanted: dict[str, str]) -> None:
        self._begin_with = None
        self.turn.tell(Kind.STARTED, detail=self.source)
        self.book.epoch_s = self.links.incarnation / 1000 - self.turn.now
        self.ring.begin(wanted | founded)
        self.links.changed = True  # its place is to be remembered, though there is no link yet

    def _end_turn(self) -> None:
        self.transit.end_of_turn()
        self.reshaping.check()
        for peer, staged in self.reshaping.answers():
            self.manager.receive(peer, staged)
        if self.sessions.busy:
            for _ in self.sessions.end_of_turn(True):
                pass  # nobody moves, so there is nothing to be said of neighbours
        if self._leaving is not None:
            self._go_on_leaving()
        if self.links.changed or self._remembered_at != self.ring.changed_at:
            self.links.changed, self._remembered_at = False, self.ring.changed_at
            self.turn.effects.insert(0, self._remembered())
        self.links.flush()

    def _remembered(self) -> Remember:
        return Remember(self.ring.contacts(), self._configured, self.ring.notes())

    def deadline(self) -> float | None:
        return 0.0 if self._begin_with is not None else earliest(*[ask() for ask in self._deadlines])

    # --- operators

    def _refuse(self, each: Any) -> None:
        reason = f"{self.name} routes by rendezvous: it is on a ring, and has no tree whose links could change"
        if (request := getattr(each, "request", None)) is not None:
            self.turn.effects.append(Reply(request, reason))
        else:
            self.turn.tell(Kind.REFUSED, detail=reason)

    def _on_drain(self, each: Drain) -> None:
        """Leave the ring for good. Sessions do not move on a ring, so there must be none."""
        if self._clients:
            reason = (
                f"{self.name} has {len(self._clients)} clients, and on a ring sessions do not move; send them on first"
            )
            self.turn.effects.append(Reply(each.request, reason))
        elif self._leaving is not None:
            self.turn.effects.append(Reply(each.request, f"{self.name} is leaving already"))
        else:
            self._leaving = each.request

    def _go_on_leaving(self) -> None:
        """First what was published here is settled; then the ring is told; then the others have heard of it.

        What comes meanwhile and finds no way from here goes back to who has sent it, when this broker has ended.
        """
        assert self._leaving is not None
        if self._left_at is None and self.ring.joined and self.ring.empty:
            self._left_at = self.turn.now
            self.ring.leave()
        elif self._left_at is not None and self._is_told(self._left_at):
            self.turn.tell(Kind.CHANGE, detail=DRAINED)
            self.turn.effects += [Reply(self._leaving), Ended()]

    def _is_told(self, since: float) -> bool:
        heard = all(link.everything_received for link in self.links.of.values())
        return (heard and self.ring.empty) or self.turn.now >= since + self.options.ring.lost_s

    # --- others

    def _on_received(self, each: Received) -> None:
        self._on_link_events(self.links.received(each.conn, each.frame))

    def _on_link_events(self, events: Iterable[LinkEvent]) -> None:
        self._on_ring_events(self.ring.on_link_events(events))

    def _on_ring_events(self, events: Iterable[Arrival | Met]) -> None:
        for event in events:
            if isinstance(event, Met):
                self.book.compare(event.peer)
            else:
                for message in event.messages:
                    self._on_word(event.peer, message)

    def _on_word(self, peer: str, message: Message) -> None:
        if isinstance(message, Lines | Digests):
            self._on_lines(peer, message)
        elif isinstance(message, Staged):
            self.manager.receive(peer, message)
        elif isinstance(message, Report):
            self.monitor.receive(message)
        elif isinstance(message, PlanesMessage):
            self.reshaping.receive(peer, message)

    def _on_lines(self, peer: str, message: Lines | Digests) -> None:
        news = self.book.receive(peer, message)
        self.retained.news(news)
        self.shares.news(news)
        self.sessions.news(peer, news)

    def _send(self, neighbour: str, message: Message) -> None:
        if (link := self.links.of.get(neighbour)) is not None:
            link.send(message)

    def _on_due(self, _: Due) -> None:
        self._on_ring_events(self.ring.due())
        self.reshaping.due()
        self.manager.due()
        self.monitor.due()
        self.links.due()
        self.book.due()
        self.shares.due()
        self.transit.end_of_turn()
        self.links.changed = self.links.changed or self._leaving is not None  # one that is alone may leave, too

    # --- looking in

    def unrest(self) -> str:
        """What is under way here, for people to read; empty if nothing is."""
        return self._changing or self.ring.unrest()

    @property
    def _changing(self) -> str:
        return "" if self.reshaping.at_rest and self.manager.at_rest else "places are being changed"

    def table(self) -> dict[str, Any]:
        return {**super().table(), "ready": self.ring.joined, "ring": self.ring.shown()}
