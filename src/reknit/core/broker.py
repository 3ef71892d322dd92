"""The broker: links, overlay and routing behind one door.

``handle(given, now)`` takes one input and returns the effects that it has; ``deadline()`` is the one alarm that the
broker wants. There is no other way in, and no way out but the effects: no clock, no socket, no chance that was not
given. The same object runs in the simulator and live.

Owns: the order in which the layers see an input, event ids, and the guard against copies. Must not know: the shell.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from reknit.core.io import (
    Accepted,
    AddLink,
    Deliver,
    DialFailed,
    Dialled,
    Drain,
    Due,
    Effect,
    Input,
    Lost,
    Publish,
    Received,
    Remember,
    RemoveLink,
    SwapLink,
)
from reknit.core.links.custody import Custody
from reknit.core.links.link import settle
from reknit.core.links.links import LinkEvent, Links
from reknit.core.options import BrokerOptions
from reknit.core.overlay.events import (
    Arrived,
    Bypassed,
    Left,
    Linked,
    Merged,
    Outside,
    OverlayEvent,
    Paused,
    Renamed,
    Replayed,
    Resumed,
    SidesWanted,
    Split,
    Tell,
    TurnedDown,
    Unlinked,
)
from reknit.core.overlay.overlay import Overlay
from reknit.core.overlay.replacing import REPLACEMENTS, Replacing
from reknit.core.routing.edits import Edits
from reknit.core.routing.gate import Gate
from reknit.core.routing.strategies import make_routing
from reknit.core.routing.subscription_forwarding import SubscriptionForwarding
from reknit.core.sessions.sessions import Sessions
from reknit.core.turn import Turn
from reknit.core.view import view
from reknit.model.event import Event, in_order_of_numbers
from reknit.trace.records import Kind
from reknit.wire.messages import ChangeMessage, Events, Message, Moving, RepairMessage, Snapshot, Unsub

__all__ = ["Broker", "BrokerOptions"]


_NOBODY = Custody(None, 0, [])
"""For events that no neighbour can take over and nobody watches: there is nothing to count."""


class Broker:
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
    ) -> None:
        """``neighbours``: names and addresses of the brokers to be linked with; no address where they dial.

        ``address``: where others can dial this one; they are told, so that either end can mend a link. ``links``: the
        neighbours of the life before, as ``Remember`` gave them; they need no search: the other ends still hold them.
        ``notes``, ``leaves``: of the same. ``new``: it was never linked, so that its first link needs no search.
        ``door``: where its clients connect; a broker whose sessions move here is told, so that the clients can follow.
        """
        founded = dict(links or {})
        wanted = {name: at for name, at in (neighbours or {}).items() if name not in founded}
        if options.founded:
            founded, wanted = founded | wanted, {}
        self.name = name
        self.options = options
        self.source = f"{name}.{incarnation:x}"
        self.turn = Turn(name, options.observe)
        self.links = Links(self.turn, address, incarnation, options.routing, options.links, rng, new)
        self.overlay = Overlay(self.turn, self.links, options.overlay, rng)
        self.overlay.recall(notes)
        self.routing = make_routing(options.routing, options.covering, self.turn, self._send)
        edits = Edits(self.routing) if isinstance(self.routing, SubscriptionForwarding) else None
        times = (options.changes, options.overlay, options.repair)
        self.replacing = Replacing(
            self.turn, self.links, self.overlay, edits, options.covering, *times, rng, self.source
        )
        hidden = self.overlay.swaps.hidden()
        expected = [name for name in (*founded, *wanted) if name not in hidden]
        self.gate = Gate(expected, options.gate_s_max, self.overlay.swaps.keepers())
        self._clients: dict[str, None] = {}
        self._seen: dict[str, int] = {}  # by source: its last event that came by
        parts = (self.turn, self.overlay, self.routing, self._clients, self._seen, self.source)
        self.sessions = Sessions(*parts, options.sessions, rng, door, leaves)
        self._untold: dict[str, None] = {}  # neighbours that know nothing of us yet
        self._held: list[tuple[Event, Arrived | None, Custody]] = []
        self.unrouted = 0  # events that may not have got where they were wanted; see the gate
        self._seq = 0
        self._handlers: dict[type, Callable[[Any], None]] = {
            Received: self._on_received,
            Publish: self._on_publish,
            Due: self._on_due,
            **self.sessions.inputs(),
            Accepted: lambda each: self.links.accepted(each.conn),
            Dialled: lambda each: self.links.dialled(each.peer, each.conn),
            DialFailed: lambda each: self._on_link_events(self.links.dial_failed(each.peer, each.reason)),
            Lost: lambda each: self._on_link_events(self.links.lost(each.conn, each.reason)),
            AddLink: lambda each: self.overlay.add(each.peer, each.address, each.request),
            RemoveLink: lambda each: self._on_overlay_events(self.overlay.remove(each.peer, each.request)),
            SwapLink: lambda each: self._on_overlay_events(
                self.overlay.swap(each.middle, each.goal, each.request, each.of)
            ),
            **dict.fromkeys(REPLACEMENTS, lambda each: self._on_overlay_events(self.replacing.operate(each))),
            Drain: lambda each: self.sessions.drain(each.request, each.of, self.gate.open),
        }
        self._begin_with: tuple[dict[str, str], dict[str, str]] | None = (founded, wanted)

    # --- the door

    def handle(self, given: Input, now: float) -> list[Effect]:
        turn = self.turn
        turn.now = now
        turn.effects = []
        if self._begin_with is not None:
            self._begin(*self._begin_with)
        self._handlers[type(given)](given)
        if self.links.of or self.links.changed or self.overlay.joins.wanted or self.sessions.busy:
            self._end_turn()
        if turn.custodies:
            self._let_go()
        return turn.end() if turn.observing or turn.seen else turn.effects

    def deadline(self) -> float | None:
        if self._begin_with is not None:
            return 0.0
        at = self.links.deadline()
        for other in (each.deadline() for each in (self.overlay, self.replacing, self.gate, self.sessions)):
            if other is not None and (at is None or other < at):
                at = other
        return at

    def _begin(self, founded: dict[str, str], wanted: dict[str, str]) -> None:
        self._begin_with = None
        self.turn.tell(Kind.STARTED, detail=self.source)
        self.gate.start(self.turn.now)
        self._on_overlay_events(self.overlay.tables_known(self.gate.open))
        self.overlay.found(founded)
        for peer, address in wanted.items():
            if address:
                self.overlay.add(peer, address, None)

    def _end_turn(self) -> None:
        self._on_overlay_events(self.overlay.end_of_turn())
        if self.sessions.busy:
            self._on_overlay_events(self.sessions.end_of_turn(self.gate.open))
        self.replacing.end_of_turn()
        if self.links.changed:
            self.links.changed = False
            self.turn.effects.insert(0, self._remembered())
        self.links.flush()

    def _remembered(self) -> Remember:
        neighbours = self.links.remembered()
        expected = dict.fromkeys([*self.gate.missing, *self.gate.late], "") | self.overlay.joins.configured()
        wanted = {name: at for name, at in expected.items() if name not in self.links.of}
        left = self.sessions.departures.left()
        return Remember(neighbours | (left or {}), wanted, self.overlay.notes(), left is not None)

    def _let_go(self) -> None:
        """The turn's own hold on its custodies ends; the frames that it has sent hold them now."""
        custodies, self.turn.custodies = self.turn.custodies, []
        for custody in custodies:
            custody.pending -= 1
            if custody.pending == 0:
                settle(custody, self.turn)

    # --- clients

    def _on_publish(self, each: Publish) -> None:
        if self.links.of or self.turn.observing or not self.gate.open:
            custody = Custody(None, 0, list(each.events) if self.turn.observing else [])
            self.turn.custodies.append(custody)
            if self.turn.observing:
                self.turn.published(each.client, custody.events)
        else:
            custody = _NOBODY
        for event in each.events:
            event.source = self.source
            event.seq = self._seq = self._seq + 1
            if self.gate.open:
                self._dispatch(event, "", (), custody)
            else:
                self._hold(event, None, custody)

    # --- events

    def _dispatch(self, event: Event, sender: str, skip: tuple[str, ...], custody: Custody) -> None:
        """Send an event on to whoever wants it, but to no neighbour in ``skip``."""
        route = self.routing.route(event)
        matches = route.matches
        if matches and self.sessions.busy:
            matches = self.sessions.sift(event, sender, matches)
        if matches:
            self.turn.effects.append(Deliver(event, matches))
        for neighbour in route.neighbours:
            if neighbour not in skip:
                self.overlay.forward(event, neighbour, sender, custody)
        if self.gate.late:
            self._see_unrouted(event, sender)

    def _see_unrouted(self, event: Event, sender: str) -> None:
        """The gate did not wait for these neighbours any longer: they may have wanted the event, and nobody knows."""
        for neighbour in self.gate.late:
            if neighbour != sender:
                self.unrouted += 1
                self.turn.see(Kind.DROPPED, peer=neighbour, event=event, detail="its table is not known")

    def _take(self, event: Event, arrived: Arrived) -> None:
        """An event from a neighbour. Links are FIFO and the overlay is a tree, so a source's numbers only rise."""
        if not self.gate.open:
            self._hold(event, arrived, arrived.custody)
            return
        peer, custody = arrived.peer, arrived.custody
        if event.seq <= self._seen.get(event.source, 0) or event.source == self.source:
            self.turn.see(Kind.DROPPED, peer=peer, event=event, detail="copy")
            for neighbour in arrived.relay:
                if neighbour in self.routing.route(event).neighbours:
                    self.overlay.forward(event, neighbour, peer, custody)
            return
        if event.source not in self._seen and len(self._seen) >= self.options.sources_max:
            del self._seen[next(iter(self._seen))]
        self._seen[event.source] = event.seq
        self._dispatch(event, peer, arrived.skip, custody)

    def _hold(self, event: Event, arrived: Arrived | None, custody: Custody) -> None:
        """``arrived``: None for an event that was published here."""
        if len(self._held) >= self.options.held_events_max:
            self.turn.see(Kind.DROPPED, event=event, detail="waiting for neighbours' tables, and too many wait")
            return
        custody.pending += 1
        self._held.append((event, arrived, custody))

    def _release_held(self) -> None:
        """The gate has opened: events that waited go on.

        In the order in which they came, but those of one source in the order of their numbers: where a link has moved,
        what was kept for us comes on the old way and on the new one.
        """
        held, self._held = self._held, []
        for event, arrived, custody in in_order_of_numbers(held, lambda item: item[0]):
            self.turn.custodies.append(custody)  # takes over the hold that the queue had
            if arrived is not None:
                self._take(event, arrived)
            else:
                self._dispatch(event, "", (), custody)

    # --- neighbours

    def _on_received(self, each: Received) -> None:
        self._on_link_events(self.links.received(each.conn, each.frame))

    def _on_link_events(self, events: Iterable[LinkEvent]) -> None:
        for event in events:
            self._on_overlay_events(self.overlay.on_link_event(event))

    def _on_overlay_events(self, events: Iterable[OverlayEvent]) -> None:
        for event in events:
            match event:
                case Arrived():
                    for message in event.messages:
                        self._on_message(message, event)
                case Linked(peer=peer, again=again):
                    self.sessions.linked(peer, again)
                    self.replacing.met(peer)
                    self.routing.begin_session(peer)
                    self._tell(peer)
                case TurnedDown(peer=peer):
                    self._heard(peer)
                case Replayed(peer=peer):
                    self._replayed(peer)
                case Unlinked(peer=peer, keep=keep):
                    self._untold.pop(peer, None)
                    self.sessions.unlinked(peer)
                    self.routing.begin_session(peer)
                    if keep:
                        self.routing.tell_no_more(peer)
                    else:
                        self.routing.forget(peer)
                    self._heard(peer)
                    self.replacing.unlinked(peer, keep)
                case Left(peer=peer, heard=heard):
                    self._on_overlay_events(self.replacing.left(peer, heard))
                case Outside(event=about):
                    self._on_overlay_events(self.replacing.on_link_event(about))
                case _:
                    self._on_regrouped(event)

    def _on_regrouped(self, event: OverlayEvent) -> None:
        """What is known of neighbours is seated anew; nobody beyond them has to hear of it."""
        match event:
            case Paused(peer=peer):
                self.routing.pause(peer)
            case Resumed(peer=peer):
                self.routing.resume(peer)
            case Tell(peer=peer):
                self._tell(peer)
            case Bypassed(gone=gone, by=by):
                if gone in self.gate.missing:
                    self.gate.stands_in(by, gone)
                    self._heard(gone)
            case SidesWanted(one=one, other=other):
                self.overlay.swaps.take_sides(self.routing.behind(one), self.routing.apart_from(one, other))
            case Renamed(old=old, new=new, tell=tell):
                self.routing.rename(old, new)
                self.gate.stands_in(new, old)
                self._heard(old)
                self._tell(new) if tell else self.routing.resume(new)
            case Merged(gone=gone, into=into, said=said):
                self._untold.pop(gone, None)
                self.routing.begin_session(gone)
                self.gate.stands_in(into, gone)
                self.routing.merge(gone, into, said or [])
                self._tell(into) if said is None else self.routing.resume(into)
                self._heard(gone)
            case Split(old=old, new=new, behind_old=behind_old, behind_new=behind_new):
                self.routing.split(old, new, behind_old, behind_new)

    def _on_message(self, message: Message, arrived: Arrived) -> None:
        peer = arrived.peer
        if isinstance(message, Events):
            for event in message.events:
                self._take(event, arrived)
        elif isinstance(message, Moving):
            self.sessions.receive(peer, message)
        elif isinstance(message, ChangeMessage | RepairMessage):
            self._on_overlay_events(self.replacing.receive(peer, message))
        elif not self.overlay.listens(peer):
            self._on_message_from_outside(peer, message)
        else:
            self._on_wishes(peer, message)

    def _on_wishes(self, peer: str, message: Message) -> None:
        swaps = self.overlay.swaps
        self.routing.beside, self.routing.partly = swaps.yields_to(peer), not swaps.counts(peer)
        if isinstance(message, Unsub):
            self.routing.receive(peer, Unsub(self.replacing.admitted(peer, message.patterns)))
        elif not isinstance(message, Snapshot):
            self.routing.receive(peer, message)
        elif self.routing.receive_snapshot(peer, message):
            self._on_overlay_events(self.overlay.heard(peer))
            if swaps.counts(peer):
                self._heard(peer)

    def _on_message_from_outside(self, peer: str, message: Message) -> None:
        """What a neighbour that is being left wants does not matter any more; what a new one wants, does already."""
        if not self.replacing.new_links.awaits(peer):
            if isinstance(message, Snapshot):  # what was kept for us stands before it
                self._replayed(peer)
            return
        self.routing.beside, self.routing.partly = "", False
        if isinstance(message, Snapshot):
            self._on_overlay_events(self.replacing.takes_plainly(peer))
            self.routing.receive_snapshot(peer, message)
        else:
            self.routing.receive(peer, message)

    def _tell(self, peer: str) -> None:
        self._untold[peer] = None
        self._tell_untold()

    def _replayed(self, peer: str) -> None:
        shut = not self.gate.open
        self.gate.replayed(peer)
        if shut:
            self._tell_untold()

    def _heard(self, peer: str) -> None:
        self._replayed(peer)
        shut = not self.gate.open
        self.gate.heard(peer)
        if shut:
            self._tell_untold()

    def _tell_untold(self) -> None:
        for peer in list(self._untold):
            if self.gate.may_tell(peer):
                del self._untold[peer]
                self.routing.tell(peer)
        if self.gate.open:
            if self._held:
                self._release_held()
            self._on_overlay_events(self.overlay.tables_known(True))

    def _send(self, neighbour: str, message: Message) -> None:
        if (link := self.overlay.link(neighbour)) is not None:
            link.send(message)

    # --- times

    def _on_due(self, _: Due) -> None:
        if self.gate.due(self.turn.now):
            self._tell_untold()
        self._on_overlay_events(self.overlay.due())
        self._on_overlay_events(self.replacing.due())
        self.links.due()

    # --- looking in

    def table(self) -> dict[str, Any]:
        """What this broker knows, for operators: plain values only."""
        return {
            "broker": self.name,
            "routing": self.options.routing,
            "covering": self.options.covering,
            "clients": sorted(self._clients),
            "unrouted": self.unrouted,
            **view(self.gate, self.overlay, self.routing.table),
        }
