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
    Refer,
    Relocate,
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
from reknit.core.placement.arriving import Arriving
from reknit.core.placement.leaving import Leaving
from reknit.core.placement.placement import Placement
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
from reknit.wire.messages import Digests, Lines, Message, Moving, Offer, Opened, PlacementMessage
from reknit.wire.planes import PlanesMessage, Report, Staged

__all__ = ["RingBroker"]

_OF_TREES = (AddLink, RemoveLink, SwapLink, Replace, LinkVanished, LinkAppeared, Substitute)


SEND_S = 0.5
"""A broker that is to leave looks so often for sessions that it can send on."""


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
        self.placement = self._place(rng, door, relay)
        self.ring.lost, self.placement.leaving.refused = self._lose, self._on_refusal
        timed = (self.reshaping, self.manager, self.monitor, self.placement)
        self._deadlines += [each.deadline for each in timed]
        self._leaving: int | None = None  # the operator's request to leave
        self._left_at: float | None = None
        self._send_at = 0.0  # when sessions are sent on that have not gone yet
        self._refers = ""  # where new clients are sent
        self._deadlines.append(self._sending_at)
        self._remembered_at = -1.0
        self._configured = {peer: at for peer, at in (neighbours or {}).items() if at}

    def _place(self, rng: random.Random, door: str, relay: str) -> Placement:
        routing, transit, options = self.routing, self.transit, self.options
        assert isinstance(routing, Rendezvous)
        assert isinstance(transit, RingTransit)
        copies, moves = self.sessions.copies, options.sessions
        parts = (self.turn, self.overlay, routing, self.shares, self._clients, copies, moves, rng, self.ring)
        leaving = Leaving(*parts, transit.unsettled)
        arriving = Arriving(
            self.turn, routing, self.shares, self._clients, copies, moves, self.ring, options.ring, door, relay
        )
        transit.sift = lambda load, matches: leaving.sift_load(load, arriving.sift_load(load, matches))
        layers = (self.turn, self.ring, routing, self.sessions, leaving, arriving, options.placement)
        return Placement(*layers, lambda: bool(self._changing))

    def _lose(self, peer: str) -> None:
        self.manager.lost(peer)
        self.placement.lost(peer)

    def _deliver(self, load: Load) -> None:
        assert isinstance(self.transit, RingTransit)
        self.transit.deliver(load)

    def _carry(self, loads: Sequence[Load]) -> None:
        self.monitor.count(loads)
        self.ring.publish(loads)

    def _make_handlers(self) -> dict[type, Callable[[Any], None]]:
        refused: dict[type, Callable[[Any], None]] = dict.fromkeys(_OF_TREES, self._refuse)
        reshape = lambda each: self.manager.begin(each.base, each.places, each.request)  # noqa: E731
        own: dict[type, Callable[[Any], None]] = {Drain: self._on_drain, StopDrain: self._on_stop_drain}
        return {**super()._make_handlers(), **refused, **own, Reshape: reshape, Relocate: self._on_relocate}

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
                pass  # whoever moves, there is nothing to be said of neighbours
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
        """Leave the ring for good, once all sessions have gone to the next broker on it."""
        if self._leaving is not None:
            self.turn.effects.append(Reply(each.request, f"{self.name} is leaving already"))
        else:
            self._leaving, self.placement.leaving.last_place = each.request, ("", "")

    def _on_stop_drain(self, each: StopDrain) -> None:
        why = f"{self.name} is leaving already" if self._leaving is not None else f"{self.name} is not being drained"
        if self._leaving is not None and self._left_at is None:
            self._stop_leaving("the drain was stopped")
            why = ""
        self.turn.effects.append(Reply(each.request, why))

    def _stop_leaving(self, why: str) -> None:
        """What has gone has gone; all others stay."""
        assert self._leaving is not None
        self.sessions.busy = True
        self.placement.leaving.stay_from(self.ring.plane.member.chord.successor[1], why)
        self.turn.effects += [Reply(self._leaving, why), Refer("", "")]
        self._leaving, self._refers = None, ""

    def _on_refusal(self, peer: str, why: str) -> None:
        """A session is not taken, and it would not be if it were offered again."""
        if self._leaving is not None and self._left_at is None and peer == self.ring.plane.member.chord.successor[1]:
            self._stop_leaving(f"{peer}: {why}")

    def _on_relocate(self, each: Relocate) -> None:
        self.sessions.busy = True
        why = self.placement.leaving.go(each.client, each.spot, each.request)
        if why and each.request is not None:
            self.turn.effects.append(Reply(each.request, why))

    def _go_on_leaving(self) -> None:
        """First what was published here is settled; then the ring is told; then the others have heard of it.

        What comes meanwhile and finds no way from here goes back to who has sent it, when this broker has ended.
        """
        assert self._leaving is not None
        if self._clients and self._left_at is None:
            self._send_clients()
        elif self._left_at is None and self.ring.joined and self.ring.empty and not self.placement.leaving.busy:
            self._left_at = self.turn.now
            self._refer()
            self.ring.leave()
        elif self._left_at is not None and self._is_told(self._left_at):
            self.turn.tell(Kind.CHANGE, detail=DRAINED)
            self.turn.effects += [Reply(self._leaving), Ended()]

    def _send_clients(self) -> None:
        if self.placement.leaving.last_place[0] == self.ring.plane.member.chord.successor[1]:
            self._refer()
        if self.turn.now < self._send_at:
            return
        self._send_at = self.turn.now + SEND_S
        if self.ring.joined and (why := self.placement.send_all()):
            self._stop_leaving(why)

    def _refer(self) -> None:
        """Who comes now is to go to the next one; where that is, is not known if it has never taken a session."""
        heir, (peer, door) = self.ring.plane.member.chord.successor[1], self.placement.leaving.last_place
        if heir != self._refers:
            self._refers = heir
            self.turn.effects.append(Refer(heir, door if peer == heir else ""))

    def _sending_at(self) -> float | None:
        return self._send_at if self._leaving is not None and self._clients and self._left_at is None else None

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
                self.placement.met(event.peer)
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
        elif isinstance(message, Offer) and self._leaving is not None:
            self._refuse_offer(peer, message)
        elif isinstance(message, Moving | PlacementMessage):
            self.placement.receive(peer, message)

    def _refuse_offer(self, peer: str, offer: Offer) -> None:
        """If all leave at once, each waits for the next; so the last on the ring, whose next is the first, stays."""
        before = self.ring.plane.member.chord.before
        last = before is not None and before[1] == peer and before[0] > self.ring.me[0]
        why = f"{self.name} is leaving, too; try again when it has left"
        self._send(peer, Opened(offer.client, offer.move, why, retry=not last))

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
        self.placement.due()
        self.links.due()
        self.book.due()
        self.shares.due()
        self.transit.end_of_turn()
        self.links.changed = self.links.changed or self._leaving is not None  # one that is alone may leave, too

    # --- looking in

    def unrest(self) -> str:
        """What is under way here, for people to read; empty if nothing is."""
        return self._changing or self.placement.unrest() or self.ring.unrest()

    def astray(self) -> str:
        return self.ring.astray()

    @property
    def _changing(self) -> str:
        return "" if self.reshaping.at_rest and self.manager.at_rest else "places are being changed"

    def table(self) -> dict[str, Any]:
        own = {"ready": not self.astray(), "ring": self.ring.shown(), "placement": self.placement.shown()}
        return {**super().table(), **own}
