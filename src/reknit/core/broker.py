"""The broker: links, overlay and routing behind one door.

``handle(given, now)`` takes one input and returns the effects that it has; ``deadline()`` is the one alarm that the
broker wants. There is no other way in, and no way out but the effects: no clock, no socket, no chance that was not
given. The same object runs in the simulator and live.

Owns: the order in which the layers see an input. Must not know: the shell, or the way of an event (see ``transit``).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from reknit.core.book.book import Book
from reknit.core.book.retained import RetainedLines
from reknit.core.homes.homes import HOME, Homes
from reknit.core.io import (
    Accepted,
    AddLink,
    DialFailed,
    Dialled,
    Drain,
    Due,
    Effect,
    Input,
    Lost,
    Recall,
    Received,
    Remember,
    RemoveLink,
    SwapLink,
)
from reknit.core.links.custody import settle
from reknit.core.links.links import LinkEvent, Links
from reknit.core.options import BrokerOptions
from reknit.core.overlay.events import (
    Arrived,
    Bypassed,
    Established,
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
from reknit.core.recovery.recovery import make_recovery
from reknit.core.routing.edits import Edits
from reknit.core.routing.gate import Gate
from reknit.core.routing.strategies import make_routing
from reknit.core.routing.subscription_forwarding import SubscriptionForwarding
from reknit.core.sessions.sessions import Sessions
from reknit.core.shares.shares import Shares
from reknit.core.transit import Transit
from reknit.core.turn import Turn, earliest
from reknit.core.view import view
from reknit.trace.records import Kind
from reknit.wire.messages import (
    ChangeMessage,
    Digests,
    Events,
    Gossip,
    Lines,
    Message,
    Moving,
    RepairMessage,
    Snapshot,
    Unsub,
)

__all__ = ["Broker", "BrokerOptions"]


class Broker:
    transit_type: type[Transit] = Transit

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
        """``neighbours``: names and addresses of the brokers to be linked with; no address where they dial.

        ``address``: where others can dial this one; they are told, so that either end can mend a link. ``links``: the
        neighbours of the life before, as ``Remember`` gave them; they need no search: the other ends still hold them.
        ``notes``, ``leaves``: of the same. ``new``: it was never linked, so that its first link needs no search.
        ``door``: where its clients connect, also those that follow a session; ``relay``: where brokers bring them.
        """
        founded = dict(links or {})
        wanted = {name: at for name, at in (neighbours or {}).items() if name not in founded}
        if options.founded:
            founded, wanted = founded | wanted, {}
        self.name, self.options = name, options
        self.source = f"{name}.{incarnation:x}"
        self.turn = Turn(name, options.observe, options.durable)
        self.links = Links(self.turn, address, incarnation, options.routing, options.links, rng, new)
        self.overlay = Overlay(self.turn, self.links, options.overlay, rng)
        self.overlay.recall(notes)
        self.routing = make_routing(options.routing, options.covering, self.turn, self._send)
        edits = Edits(self.routing) if isinstance(self.routing, SubscriptionForwarding) else None
        tree = (self.turn, self.links, self.overlay, edits, self.routing.doubts, options.covering)
        self.replacing = Replacing(*tree, options.changes, options.overlay, options.repair, rng, self.source)
        expected = [name for name in (*founded, *wanted) if name not in self.overlay.swaps.hidden()]
        self.gate = Gate(expected, options.gate_s_max, self.overlay.swaps.keepers())
        self._clients: dict[str, None] = {}
        seen: dict[str, int] = {}  # by source: its last event that came by
        self._untold: dict[str, None] = {}  # neighbours that know nothing of us yet
        self._lines_later: dict[str, list[Message]] = {}  # lines for those, and for others that are not told now
        book = (self.turn, self.source, self.overlay.neighbours, self._send_lines, options.book)
        self.book = Book(*book, passing={HOME: options.homes.gone_s})
        self.homes = Homes(self.turn, self.book, self._clients, relay, options.homes)
        self.retained = RetainedLines(self.turn, self.book)
        self.shares = Shares(self.turn, self.routing, self.book, options.shares, self.links.former)
        parts = (self.turn, self.overlay, self.routing, self.shares, self.homes, self._clients, seen, self.source)
        self.sessions = Sessions(*parts, options.sessions, rng, door, leaves)
        below = (self.turn, self.overlay, self.routing.table, self.source, address)
        self.recovery, history = make_recovery(options.recovery, options.links.may_lose, *below, rng)
        layers = (self.gate, self.overlay, self.routing, self.sessions, self.retained, self.shares, self.recovery)
        self.transit = self.transit_type(self.turn, *layers, history, self.source, seen, options)
        self._handlers = self._make_handlers()
        timed = (self.links, self.overlay, self.replacing, self.gate, self.sessions, self.book, self.shares)
        self._deadlines = [each.deadline for each in (*timed, *([self.recovery] if self.recovery else ()))]
        self._begin_with: tuple[dict[str, str], dict[str, str]] | None = (founded, wanted)

    def _make_handlers(self) -> dict[type, Callable[[Any], None]]:
        return {
            Received: self._on_received,
            **self.transit.inputs(),
            Due: self._on_due,
            Recall: self._on_recall,
            **self.sessions.inputs(),
            Accepted: lambda each: self.links.accepted(each.conn, each.names),
            Dialled: lambda each: self.links.dialled(each.peer, each.conn),
            DialFailed: lambda each: self._on_link_events(self.links.dial_failed(each.peer, each.reason)),
            Lost: lambda each: self._on_link_events(self.links.lost(each.conn, each.reason)),
            AddLink: lambda each: self.overlay.add(each.peer, each.address, each.request),
            RemoveLink: lambda each: self._on_overlay_events(self.overlay.remove(each.peer, each.request)),
            SwapLink: lambda each: self.overlay.swap(each.middle, each.goal, each.request, each.of),
            **dict.fromkeys(REPLACEMENTS, lambda each: self._on_overlay_events(self.replacing.operate(each))),
            Drain: lambda each: self.sessions.drain(each.request, each.of, self.gate.open),
        }

    # --- the door

    def handle(self, given: Input, now: float) -> list[Effect]:
        turn = self.turn
        turn.now, turn.effects = now, []
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
        return earliest(*[ask() for ask in self._deadlines])

    def _begin(self, founded: dict[str, str], wanted: dict[str, str]) -> None:
        self._begin_with = None
        self.turn.tell(Kind.STARTED, detail=self.source)
        self.book.epoch_s = self.links.incarnation / 1000 - self.turn.now
        self.gate.start(self.turn.now)
        self._on_overlay_events(self.overlay.tables_known(self.gate.open))
        self.overlay.found(founded)
        for peer, address in wanted.items():
            if address:
                self.overlay.add(peer, address, None)

    def _end_turn(self) -> None:
        self.transit.end_of_turn()
        self._on_overlay_events(self.overlay.end_of_turn())
        if self.sessions.busy:
            self._on_overlay_events(self.sessions.end_of_turn(self.gate.open))
        if self.shares.errands:  # a session has stayed, or gone; the overlay has to see what is forwarded
            self.transit.end_of_turn()
            self._on_overlay_events(self.overlay.end_of_turn())
        self._on_overlay_events(self.replacing.end_of_turn())
        if self.links.former.apart and not any(self._lines_later.values()):
            self.links.changed |= self.links.former.told(self.links.of.values(), self.turn.now)
        if self.links.changed:
            self.links.changed = False
            self.turn.effects.insert(0, self._remembered())
        self.overlay.history.flush()
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
            elif self.turn.keeping and custody.link is None:
                self.transit.keep(custody)

    def _on_recall(self, each: Recall) -> None:
        """Clients first: an event that was not routed yet may be for them."""
        lines = self.book.recall(each.lines)
        self.retained.news(lines)
        self.sessions.recall(each)
        self.shares.recall(lines, each.seen)
        self.transit.recall(each.kept)
        self.overlay.history.recall(each.changes)

    # --- neighbours

    def _on_received(self, each: Received) -> None:
        self.turn.frame = each.frame
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
                    self.book.compare(peer)
                case TurnedDown(peer=peer):
                    self._heard(peer)
                case Replayed(peer=peer):
                    self._replayed(peer)
                case Unlinked(peer=peer, keep=keep, lost=lost, replaced=replaced):
                    self._untold.pop(peer, None)
                    self._lines_later.pop(peer, None)
                    drained = self.sessions.drains(peer) and self.overlay.is_left_by(peer)
                    self.sessions.unlinked(peer)
                    self.routing.begin_session(peer)
                    (self.routing.tell_no_more if keep else self.routing.forget)(peer)
                    if not drained and (lost or not keep):
                        self.shares.lines.split(peer)
                    self._heard(peer)
                    self.replacing.unlinked(peer, keep, replaced)
                case Left(peer=peer, heard=heard):
                    self.shares.lines.left(peer)
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
                self._lines_later.setdefault(peer, [])
            case Resumed(peer=peer):
                self._resume(peer)
            case Tell(peer=peer):
                self._tell(peer)
            case Established(peer=peer):
                self.book.compare(peer)
            case Bypassed(gone=gone, by=by, wholly=wholly) if gone in self.gate.missing:
                self.gate.stands_in(by, gone)
                if wholly:
                    self._heard(gone)
            case SidesWanted(one=one, other=other):
                self.overlay.swaps.take_sides(*self.routing.sides(one, other))
            case Renamed(old=old, new=new, tell=tell):
                self.routing.rename(old, new)
                self.gate.stands_in(new, old)
                self._heard(old)
                self._pass_lines(old, new)
                self._tell(new) if tell else self._resume(new)
                self.book.compare(new)
            case Merged(gone=gone, into=into, said=said):
                self._untold.pop(gone, None)
                self.routing.begin_session(gone)
                self.gate.stands_in(into, gone)
                self.routing.merge(gone, into, said or [])
                self._pass_lines(gone, into)
                self._tell(into) if said is None else self._resume(into)
                self._heard(gone)
            case Split(old=old, new=new, behind_old=behind_old, behind_new=behind_new):
                self.routing.split(old, new, behind_old, behind_new)
                self._lines_later[new] = list(self._lines_later.setdefault(old, []))
                self.book.compare(new)

    def _on_message(self, message: Message, arrived: Arrived) -> None:
        peer = arrived.peer
        if isinstance(message, Events):
            self.transit.take(message.events, arrived)
        elif isinstance(message, Moving):
            self.sessions.receive(peer, message)
        elif isinstance(message, Lines | Digests):
            news = self.book.receive(peer, message)
            self.retained.news(news)
            self.shares.news(news)
            self.sessions.news(peer, news)
        elif isinstance(message, Gossip):
            self.transit.take_gossip(message, arrived)
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
        elif self.routing.receive_snapshot(peer, self.replacing.completed(peer, message)):
            self._on_overlay_events(self.overlay.heard(peer))
            if swaps.counts(peer):
                self._heard(peer)

    def _on_message_from_outside(self, peer: str, message: Message) -> None:
        """What a neighbour that is being left wants does not matter any more; what a new one wants, does already."""
        if not self.replacing.new_links.awaits(peer):
            if isinstance(message, Snapshot):  # what was kept for us stands before it
                self._replayed(peer)
            return
        self.routing.beside, self.routing.partly = (), False
        if isinstance(message, Snapshot):
            self._on_overlay_events(self.replacing.takes_plainly(peer))
            self.routing.receive_snapshot(peer, message)
        else:
            self.routing.receive(peer, message)

    def _tell(self, peer: str) -> None:
        self._untold[peer] = None
        self._lines_later.setdefault(peer, [])
        self._tell_untold()

    def _resume(self, peer: str) -> None:
        self.routing.resume(peer)
        self._send_later_lines(peer)

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
                self._send_later_lines(peer)
        if self.gate.open:
            self.transit.release_held()
            self._on_overlay_events(self.overlay.tables_known(True))

    def _send(self, neighbour: str, message: Message) -> None:
        if (link := self.overlay.link(neighbour)) is not None:
            link.send(message)

    def _send_lines(self, neighbour: str, message: Message) -> None:
        """Lines go behind what is wanted: whoever reads where the members of a group are has a route to them."""
        if neighbour in self._lines_later and isinstance(message, Lines):
            self._lines_later[neighbour].append(message)
        else:
            self._send(neighbour, message)

    def _pass_lines(self, old: str, new: str) -> None:
        """What one was to read is for another."""
        self._lines_later.setdefault(new, []).extend(self._lines_later.pop(old, []))

    def _send_later_lines(self, neighbour: str) -> None:
        for message in self._lines_later.pop(neighbour, []):
            self._send(neighbour, message)

    # --- times

    def _on_due(self, _: Due) -> None:
        if self.gate.due(self.turn.now):
            self._tell_untold()
        self._on_overlay_events(self.overlay.due())
        self._on_overlay_events(self.replacing.due())
        self.links.due()
        self.book.due()
        self.shares.due()
        self.transit.end_of_turn()
        if self.recovery is not None:
            self.recovery.due()

    # --- looking in

    @property
    def seen(self) -> Mapping[str, int]:
        """By source, the last event that came by and was routed; for the next life."""
        return self.sessions.copies.here

    def table(self) -> dict[str, Any]:
        """What this broker knows, for operators: plain values only."""
        return {
            "broker": self.name,
            "routing": self.options.routing,
            "covering": self.options.covering,
            "clients": sorted(self._clients),
            "unrouted": self.transit.unrouted,
            "groups": self.shares.lines.shown(),
            "shared_dropped": self.shares.dropped,
            **view(self.gate, self.overlay, self.routing.table),
            **({} if self.recovery is None else {"recovery": self.recovery.shown()}),
        }
