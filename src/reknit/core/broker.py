"""The broker: links, overlay and routing behind one door.

``handle(given, now)`` takes one input and returns the effects that it has; ``deadline()`` is the one alarm that the
broker wants. There is no other way in, and no way out but the effects: no clock, no socket, no chance that was not
given. The same object runs in the simulator and live.

Owns: the order in which the layers see an input, event ids, and the guard against copies. Must not know: the shell.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from reknit.core.io import (
    Accepted,
    AddLink,
    Attach,
    Deliver,
    Detach,
    DialFailed,
    Dialled,
    Due,
    Effect,
    Input,
    Lost,
    Publish,
    Received,
    Remember,
    RemoveLink,
    Subscribe,
    Unsubscribe,
)
from reknit.core.links.custody import Custody
from reknit.core.links.link import Link, settle
from reknit.core.links.links import LinkEvent, Links
from reknit.core.links.options import LinkOptions
from reknit.core.overlay.options import OverlayOptions
from reknit.core.overlay.overlay import Arrived, Linked, Overlay, OverlayEvent, TurnedDown, Unlinked
from reknit.core.routing.gate import Gate
from reknit.core.routing.strategies import RoutingName, make_routing
from reknit.core.routing.table import client
from reknit.core.turn import Turn
from reknit.model.event import Event
from reknit.trace.records import Kind
from reknit.wire.messages import Events, Message, Snapshot

__all__ = ["Broker", "BrokerOptions"]


class BrokerOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    routing: RoutingName = "subscription-forwarding"
    covering: bool = False
    """Tell a neighbour only of patterns that no other covers (subscription-forwarding)."""

    observe: bool = False
    """Report what is seen, for the trace."""

    founded: bool = False
    """The neighbours given at the start are links of a network that was checked as a whole; no search for cycles."""

    gate_s_max: float = 10.0
    """How long a broker that begins waits for its neighbours' tables; then it routes without the missing ones."""

    held_events_max: int = 100_000
    """Events that may wait for that. Beyond it they are dropped, and each drop is seen in the trace."""

    sources_max: int = 4_096
    """Sources whose last event is remembered, as the guard against copies."""

    links: LinkOptions = LinkOptions()
    overlay: OverlayOptions = OverlayOptions()


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
    ) -> None:
        """``neighbours``: names and addresses of the brokers to be linked with; no address where they dial.

        ``address``: where others can dial this one; they are told, so that either end can mend a link. ``links``: the
        neighbours of the life before, as ``Remember`` gave them; they need no search: the other ends still hold them.
        """
        founded = dict(links or {})
        wanted = {name: at for name, at in (neighbours or {}).items() if name not in founded}
        if options.founded:
            founded, wanted = founded | wanted, {}
        self.name = name
        self.options = options
        self.source = f"{name}.{incarnation:x}"
        self.turn = Turn(name, options.observe)
        self.links = Links(self.turn, address, incarnation, options.routing, options.links, rng)
        self.overlay = Overlay(self.turn, self.links, options.overlay, rng)
        self.routing = make_routing(options.routing, options.covering, self.turn, self._send)
        self.gate = Gate([*founded, *wanted], options.gate_s_max)
        self._clients: dict[str, None] = {}
        self._untold: dict[str, None] = {}  # neighbours that know nothing of us yet
        self._held: deque[tuple[Event, str, Custody]] = deque()
        self.unrouted = 0  # events that may not have got where they were wanted; see the gate
        self._seq = 0
        self._seen: dict[str, int] = {}  # by source: its last event that came by
        self._handlers: dict[type, Callable[[Any], None]] = {
            Received: self._on_received,
            Publish: self._on_publish,
            Due: self._on_due,
            Attach: self._on_attach,
            Detach: self._on_detach,
            Subscribe: self._on_subscribe,
            Unsubscribe: self._on_unsubscribe,
            Accepted: lambda each: self.links.accepted(each.conn),
            Dialled: lambda each: self.links.dialled(each.peer, each.conn),
            DialFailed: lambda each: self._on_link_events(self.links.dial_failed(each.peer, each.reason)),
            Lost: lambda each: self._on_link_events(self.links.lost(each.conn, each.reason)),
            AddLink: lambda each: self.overlay.add(each.peer, each.address, each.request),
            RemoveLink: lambda each: self._on_overlay_events(self.overlay.remove(each.peer, each.request)),
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
        if self.links.of or self.links.changed or self.overlay.joins.wanted:
            self._end_turn()
        if turn.custodies:
            self._let_go()
        return turn.end() if turn.observing or turn.seen else turn.effects

    def deadline(self) -> float | None:
        if self._begin_with is not None:
            return 0.0
        at = self.links.deadline()
        for other in (self.overlay.deadline(), self.gate.deadline()):
            if other is not None and (at is None or other < at):
                at = other
        return at

    def _begin(self, founded: dict[str, str], wanted: dict[str, str]) -> None:
        self._begin_with = None
        self.turn.tell(Kind.STARTED, detail=self.source)
        self.gate.start(self.turn.now)
        self.overlay.found(founded)
        for peer, address in wanted.items():
            if address:
                self.overlay.add(peer, address, None)

    def _end_turn(self) -> None:
        self._on_overlay_events(self.overlay.end_of_turn())
        if self.links.changed:
            self.links.changed = False
            self.turn.effects.insert(0, self._remembered())
        self.links.flush()

    def _remembered(self) -> Remember:
        neighbours = self.links.remembered()
        expected = dict.fromkeys([*self.gate.missing, *self.gate.late], "") | self.overlay.joins.configured()
        return Remember(neighbours, {name: at for name, at in expected.items() if name not in self.links.of})

    def _let_go(self) -> None:
        """The turn's own hold on its custodies ends; the frames that it has sent hold them now."""
        custodies, self.turn.custodies = self.turn.custodies, []
        for custody in custodies:
            custody.pending -= 1
            if custody.pending == 0:
                settle(custody, self.turn)

    # --- clients

    def _on_attach(self, each: Attach) -> None:
        if each.client not in self._clients:
            self._clients[each.client] = None
            self.turn.see(Kind.ATTACHED, client=each.client)

    def _on_detach(self, each: Detach) -> None:
        if each.client in self._clients:
            for pattern in self.routing.table.of(client(each.client)):
                self.routing.unsubscribe(each.client, pattern)
            del self._clients[each.client]
            self.turn.see(Kind.DETACHED, client=each.client)

    def _on_subscribe(self, each: Subscribe) -> None:
        for pattern in each.patterns:
            self.routing.subscribe(each.client, pattern)

    def _on_unsubscribe(self, each: Unsubscribe) -> None:
        for pattern in each.patterns:
            self.routing.unsubscribe(each.client, pattern)

    def _on_publish(self, each: Publish) -> None:
        observing = self.turn.observing
        if self.links.of or observing or not self.gate.open:
            custody = Custody(None, 0, list(each.events) if observing else [])
            self.turn.custodies.append(custody)
            if observing:
                self.turn.published(each.client, custody.events)
        else:
            custody = _NOBODY
        for event in each.events:
            event.source = self.source
            event.seq = self._seq = self._seq + 1
            self._dispatch(event, "", custody)

    # --- events

    def _dispatch(self, event: Event, sender: str, custody: Custody) -> None:
        """Send an event on to whoever wants it, but not back."""
        if not self.gate.open:
            self._hold(event, sender, custody)
            return
        route = self.routing.route(event)
        if route.matches:
            self.turn.effects.append(Deliver(event, route.matches))
        for neighbour in route.neighbours:
            if neighbour != sender and (link := self.overlay.link(neighbour)) is not None:
                self._forward(event, link, custody)
        if self.gate.late:
            self._see_unrouted(event, sender)

    def _forward(self, event: Event, link: Link, custody: Custody) -> None:
        if link.send_event(event, custody) and self.turn.observing:
            self.turn.forwarded(event, link.peer)

    def _see_unrouted(self, event: Event, sender: str) -> None:
        """The gate did not wait for these neighbours any longer: they may have wanted the event, and nobody knows."""
        for neighbour in self.gate.late:
            if neighbour != sender:
                self.unrouted += 1
                self.turn.see(Kind.DROPPED, peer=neighbour, event=event, detail="its table is not known")

    def _take(self, event: Event, sender: str, custody: Custody) -> None:
        """An event from a neighbour. Links are FIFO and the overlay is a tree, so a source's numbers only rise."""
        if event.seq <= self._seen.get(event.source, 0) or event.source == self.source:
            self.turn.see(Kind.DROPPED, peer=sender, event=event, detail="copy")
            return
        if event.source not in self._seen and len(self._seen) >= self.options.sources_max:
            del self._seen[next(iter(self._seen))]
        self._seen[event.source] = event.seq
        self._dispatch(event, sender, custody)

    def _hold(self, event: Event, sender: str, custody: Custody) -> None:
        if len(self._held) >= self.options.held_events_max:
            self.turn.see(Kind.DROPPED, event=event, detail="waiting for neighbours' tables, and too many wait")
            return
        custody.pending += 1
        self._held.append((event, sender, custody))

    def _release_held(self) -> None:
        """The gate has opened: events that waited go on, in their order."""
        while self._held:
            event, sender, custody = self._held.popleft()
            self.turn.custodies.append(custody)  # takes over the hold that the queue had
            self._dispatch(event, sender, custody)

    # --- neighbours

    def _on_received(self, each: Received) -> None:
        self._on_link_events(self.links.received(each.conn, each.frame))

    def _on_link_events(self, events: Iterable[LinkEvent]) -> None:
        for event in events:
            self._on_overlay_events(self.overlay.on_link_event(event))

    def _on_overlay_events(self, events: Iterable[OverlayEvent]) -> None:
        for event in events:
            match event:
                case Arrived(peer=peer, messages=messages, custody=custody):
                    self.turn.custodies.append(custody)
                    for message in messages:
                        self._on_message(peer, message, custody)
                case Linked(peer=peer):
                    self.routing.begin_session(peer)
                    self._untold[peer] = None
                    self._tell_untold()
                case TurnedDown(peer=peer):
                    self._heard(peer)
                case Unlinked(peer=peer):
                    self._untold.pop(peer, None)
                    self.routing.begin_session(peer)
                    self.routing.forget(peer)
                    self._heard(peer)

    def _on_message(self, peer: str, message: Message, custody: Custody) -> None:
        if isinstance(message, Events):
            for event in message.events:
                self._take(event, peer, custody)
        elif self.overlay.link(peer) is None:
            pass  # what a neighbour that is being left wants does not matter any more
        elif isinstance(message, Snapshot):
            if self.routing.receive_snapshot(peer, message):
                self._heard(peer)
        else:
            self.routing.receive(peer, message)

    def _heard(self, peer: str) -> None:
        shut = not self.gate.open
        self.gate.heard(peer)
        if shut:
            self._tell_untold()

    def _tell_untold(self) -> None:
        for peer in list(self._untold):
            if self.gate.may_tell(peer):
                del self._untold[peer]
                self.routing.tell(peer)
        if self.gate.open and self._held:
            self._release_held()

    def _send(self, neighbour: str, message: Message) -> None:
        if (link := self.overlay.link(neighbour)) is not None:
            link.send(message)

    # --- times

    def _on_due(self, _: Due) -> None:
        if self.gate.due(self.turn.now):
            self._tell_untold()
        self._on_overlay_events(self.overlay.due())
        self.links.due()

    # --- looking in

    def table(self) -> dict[str, Any]:
        """What this broker knows, for operators: plain values only."""
        table = self.routing.table
        return {
            "broker": self.name,
            "routing": self.options.routing,
            "covering": self.options.covering,
            "ready": self.gate.open and all(link.greeted for link in self.links.of.values()),
            "waiting_for": self.gate.missing,
            "wanted_links": {each.peer: each.last for each in self.overlay.joins.wanted.values()},
            "neighbours": {
                name: {"up": link.greeted, "outbox_bytes": link.outbox_bytes, "dropped": link.dropped}
                for name, link in sorted(self.links.of.items())
            },
            "clients": sorted(self._clients),
            "entries": [
                {"kind": kind, "hop": name, "topic": pattern.topic, "selector": pattern.selector}
                for kind, name in sorted(table.hops())
                for pattern in sorted(table.of((kind, name)))
            ],
            "malformed_frames": self.links.malformed,
            "unrouted": self.unrouted,
        }
