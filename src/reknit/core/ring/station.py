"""A broker on a ring: its links, its place, and the events that come by.

Owns: the order in which links, ring and events see what happens; the versions of the control plane, of which there is
one as long as nothing changes. Must not know: clients, or which of them wants an event.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from reknit.core.links.custody import Arrival
from reknit.core.links.links import LinkEvent, Links
from reknit.core.ring.carriage import Carriage, Plane
from reknit.core.ring.member import Member
from reknit.core.ring.options import RingOptions
from reknit.core.ring.order import Load, Order
from reknit.core.ring.peers import Gone, Met, PeerEvent, Peers
from reknit.core.turn import Turn, earliest
from reknit.model.pattern import Pattern
from reknit.model.ring import ring_id
from reknit.trace.records import Kind
from reknit.wire.messages import Down, Ringed, Up
from reknit.wire.planes import Place
from reknit.wire.ring import RingMessage, Spot

__all__ = ["FIRST_VERSION", "Station"]

FIRST_VERSION = 1


class Notes(msgspec.Struct, frozen=True):
    """What the next life has to know of this one."""

    version: int
    number: int
    places: list[Place] = []
    """Of all, if this version was planned."""


class Station:
    def __init__(
        self,
        turn: Turn,
        links: Links,
        options: RingOptions,
        rng: random.Random,
        deliver: Callable[[Load], None],
        waiting_max: int,
        notes: str = "",
    ) -> None:
        """``deliver``: hands an event to clients here. ``notes``: of the life before."""
        known = _read(notes)
        self.turn, self.links, self.options, self.rng = turn, links, options, rng
        self.deliver = deliver
        self.counts = known.version if known is not None else FIRST_VERSION
        number = known.number if known is not None else ring_id(turn.node)
        self.me: Spot = (options.id if options.id is not None and known is None else number, turn.node, links.address)
        self.places: list[Place] = known.places if known is not None else []  # of the version that counts, if planned
        self.planes: dict[int, Plane] = {}
        self.peers = Peers(turn, links, options.lost_s)
        self.order = Order(turn, options.order_s_max, options.fresh_s, options.lines_max)
        self.carriage = Carriage(turn, self.peers, self._plane, self._arrive, waiting_max)
        self.saw: Callable[[Load], None] = lambda load: None  # is told what has come, whether it is in order or not
        self.unknown = 0  # words in versions that nobody knows here
        self.lost: Callable[[str], None] = lambda peer: None  # is told who is gone
        self.behind: Callable[[str], None] = lambda peer: None  # is told who speaks in a version that is over
        self.ahead: Callable[[str, int], None] = lambda peer, version: None  # and for whom a newer one counts
        self._told = ""  # why this broker cannot be on the ring, as the operator was told

    def begin(self, contacts: Mapping[str, str]) -> None:
        placed = {name: number for (number, name, _), _ in self.places}
        spots = [(placed.get(name, ring_id(name)), name, at) for name, at in contacts.items() if at]
        self.open(self.counts, self.me, spots)
        self.turn.tell(Kind.PLACED, size=self.counts, detail=str(self.me[0]))

    def open(self, version: int, me: Spot, contacts: Sequence[Spot]) -> Plane:
        send: Callable[[Spot, RingMessage], None] = lambda spot, word: self._say(version, spot, word)  # noqa: E731
        member = Member(me, send, self.options, self.rng, contacts)
        member.now = self.turn.now
        plane = self.planes[version] = Plane(version, member)
        member.trees.watch = lambda topic, hop, leads: self._see(plane, topic, hop, leads)
        return plane

    @property
    def plane(self) -> Plane:
        """The one by which what is new is routed."""
        return self.planes[self.counts]

    def _plane(self, version: int) -> Plane | None:
        """What is older than all that is known goes on by the one that counts; for a newer one it has to wait."""
        plane = self.planes.get(version)
        return plane if plane is not None or version > self.counts else self.plane

    def close(self, version: int) -> None:
        """This version is not needed any more, or will never be."""
        self.planes.pop(version, None)

    def switch(self, version: int) -> None:
        """From now on what is new is routed by this version."""
        self._show(self.plane, False)
        self.counts, self.me = version, self.planes[version].member.me
        self._show(self.plane, True)
        self.turn.tell(Kind.PLACED, size=version, detail=str(self.me[0]))
        self.links.changed = True

    def begin_anew(self, version: int, me: Spot, contacts: Sequence[Spot]) -> None:
        """Only this version counts, and nobody in it knows this broker: so nobody may think that it knows anything."""
        wanted = list(self.plane.member.trees.wanted)
        self._show(self.plane, False)
        self.planes.clear()
        self.counts, self.me = version, me
        self.open(version, me, contacts)
        self.turn.tell(Kind.PLACED, size=version, detail=str(me[0]))
        for topic in wanted:
            self.plane.member.want(topic)
        for peer in list(self.links.of):
            self._lose(self.peers.drop(peer))
        self.links.changed = True

    def _show(self, plane: Plane, leads: bool) -> None:
        for topic, hops in plane.member.trees.counts.items():
            for hop in hops:
                kind = Kind.ROUTE_ADDED if leads else Kind.ROUTE_REMOVED
                self.turn.see(kind, peer=plane.member.spot(hop)[1], pattern=Pattern(topic, ""))

    # --- topics

    def want(self, topic: str) -> None:
        self.order.want(topic)
        for plane in self.planes.values():
            plane.member.want(topic)

    def want_no_more(self, topic: str) -> None:
        self.order.want_no_more(topic)
        for plane in self.planes.values():
            plane.member.want_no_more(topic)

    def shows(self, topic: str) -> bool:
        """Whether events of this topic come here, in whatever version."""
        return bool(self.planes) and all(plane.member.trees.shows(topic) for plane in self.planes.values())

    def _see(self, plane: Plane, topic: str, hop: int, leads: bool) -> None:
        if plane.version == self.counts:
            kind = Kind.ROUTE_ADDED if leads else Kind.ROUTE_REMOVED
            self.turn.see(kind, peer=plane.member.spot(hop)[1], pattern=Pattern(topic, ""))

    # --- events

    def publish(self, loads: Sequence[Load]) -> None:
        self.carriage.publish(self.counts, loads)

    def _arrive(self, load: Load) -> None:
        if self.order.wants(load.event.topic):
            self.saw(load)
            for each in self.order.arrive(load):
                self.deliver(each)

    # --- what others say

    def on_link_events(self, events: Iterable[LinkEvent]) -> Iterator[Arrival | Met]:
        """What is left of it for those above."""
        for event in events:
            yield from self._on_peer_events(self.peers.on_link_event(event))

    def _on_peer_events(self, events: Iterable[PeerEvent]) -> Iterator[Arrival | Met]:
        for event in events:
            if isinstance(event, Gone):
                self._lose(event)
            elif isinstance(event, Met):
                yield event
            else:
                yield from self._on_arrival(event)

    def _on_arrival(self, arrival: Arrival) -> Iterator[Arrival]:
        """In their order: a branch that is cut behind an event must not be cut before it."""
        self.turn.custodies.append(arrival.custody)
        for message in arrival.messages:
            if isinstance(message, Ringed):
                self._hear(arrival.peer, message)
            elif isinstance(message, Up | Down):
                self.carriage.take(arrival.peer, message, arrival.custody)
            else:
                yield Arrival(arrival.peer, [message], arrival.custody)

    def _hear(self, peer: str, message: Ringed) -> None:
        if message.counts > self.counts:
            self.ahead(peer, message.counts)
        elif message.counts < self.counts:
            self.behind(peer)
        plane = self.planes.get(message.version)
        if plane is None:
            self.unknown += 1
            return
        plane.member.now = self.turn.now
        link = self.links.of.get(peer)
        plane.member.received((message.sender, peer, link.address if link is not None else ""), message.word)
        if plane.member.chord.refused and plane.member.chord.refused != self._told:
            self._told = plane.member.chord.refused
            self.turn.tell(Kind.REFUSED, peer=peer, detail=self._told)

    def _say(self, version: int, spot: Spot, word: RingMessage) -> None:
        _, name, address = spot
        if name != self.turn.node:
            self.peers.say(name, address, Ringed(version, self.counts, self.planes[version].member.me[0], word))

    def _lose(self, gone: Gone) -> None:
        self.lost(gone.peer)
        for plane in list(self.planes.values()):
            plane.member.now = self.turn.now
            plane.member.lost_name(gone.peer)
        self.carriage.come_back(self.counts, gone.returned)

    def leave(self) -> None:
        """For good: topics that are rooted here go to the next."""
        for plane in self.planes.values():
            plane.member.leave()

    # --- times

    def deadline(self) -> float | None:
        members = [plane.member.deadline() for plane in self.planes.values()]
        return earliest(*members, self.peers.deadline(), self.order.deadline(), self.carriage.deadline())

    def due(self) -> Iterator[Arrival | Met]:
        yield from self._on_peer_events(self.peers.due())
        for plane in list(self.planes.values()):
            at = plane.member.deadline()
            if at is not None and self.turn.now >= at:
                plane.member.due(self.turn.now)
        self.carriage.due()
        for load in self.order.due():
            self.deliver(load)

    # --- the next life, and looking in

    @property
    def changed_at(self) -> float:
        return max((plane.member.changed_at for plane in self.planes.values()), default=0.0)

    def contacts(self) -> dict[str, str]:
        """Brokers by which a next life finds the others."""
        known = [spot for plane in self.planes.values() for spot in plane.member.chord.acquainted()]
        return {name: address for _, name, address in known if address}

    def notes(self) -> str:
        return msgspec.json.encode(Notes(self.counts, self.me[0], self.places)).decode()

    @property
    def at_rest(self) -> bool:
        return not self.unrest()

    @property
    def empty(self) -> bool:
        """Nobody waits for an event that is here."""
        return self.carriage.at_rest and self.peers.at_rest

    def unrest(self) -> str:
        """What is under way here, for people to read; empty if nothing is."""
        if not all(plane.member.at_rest for plane in self.planes.values()):
            return "the ring does not show yet what is wanted"
        if not self.carriage.at_rest:
            return "events wait for a way"
        if not self.order.at_rest:
            return "events wait for those before them, or would"
        return "" if self.peers.at_rest else "events are on their way"

    @property
    def joined(self) -> bool:
        return bool(self.planes) and self.plane.member.chord.joined

    def astray(self) -> str:
        """Why this broker is not yet on one ring with those that it is to join, for people to read; empty if it is."""
        return self.plane.member.astray() if self.planes else "it has not begun yet"

    @property
    def knows_others(self) -> bool:
        return bool(self.planes) and len(self.plane.member.chord.known()) > 1

    def shown(self) -> dict[str, Any]:
        """For operators."""
        member = self.plane.member
        chord = member.chord
        return {
            "version": self.counts,
            "versions": sorted(self.planes),
            "id": member.me[0],
            "address": member.me[2],
            "joined": chord.joined,
            "refused": chord.refused,
            "before": chord.before[1] if chord.before else "",
            "behind": [spot[1] for spot in chord.behind],
            "fingers": sorted({spot[1] for spot in chord.fingers.values()}),
            "wanted": sorted(member.trees.wanted),
            "children": {
                topic: sorted(member.spot(child)[1] for child in member.trees.children(topic))
                for topic in sorted(member.trees.counts)
            },
            "gaps": self.order.gaps,
            "dropped": self.carriage.dropped,
        }


def _read(notes: str) -> Notes | None:
    try:
        return msgspec.json.decode(notes.encode(), type=Notes) if notes else None
    except msgspec.DecodeError:  # of a life that was on a tree
        return None
