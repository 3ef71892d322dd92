"""The clients of a broker and what they want; and both sides of a drain, which moves them, behind one name.

Owns: which clients there are, and who may be drained into whom. A broker takes the sessions of several neighbours at
once, but none while it is being drained itself, and it is not drained while a neighbour comes over: of two that were to
take each other's clients, one must stay. Must not know: the shell.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from reknit.core.book.book import Key
from reknit.core.homes.homes import Homes
from reknit.core.io import (
    Attach,
    Deliver,
    Detach,
    Discard,
    Exported,
    Join,
    KeepAside,
    Match,
    Part,
    Presence,
    Recall,
    Stay,
    StopDrain,
    Subscribe,
    Unsubscribe,
)
from reknit.core.overlay.events import OverlayEvent
from reknit.core.overlay.history import DRAIN, Deed, change_name
from reknit.core.overlay.overlay import Overlay
from reknit.core.routing.base import Routing
from reknit.core.routing.table import client as client_hop
from reknit.core.sessions.arrivals import Arrivals
from reknit.core.sessions.copies import Copies
from reknit.core.sessions.departures import Departures
from reknit.core.sessions.options import SessionOptions
from reknit.core.shares.lines import Group
from reknit.core.shares.shares import Shares
from reknit.core.turn import Turn, earliest
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.trace.records import Kind
from reknit.wire.messages import Draining, Message, Moving, Offer, Opened, Rest, Taken, Told, Welcome, Withdraw

__all__ = ["Sessions"]

_FROM_LEAVER = (Draining, Offer, Rest, Told, Withdraw)


class Sessions:
    def __init__(
        self,
        turn: Turn,
        overlay: Overlay,
        routing: Routing,
        shares: Shares,
        homes: Homes,
        clients: dict[str, None],
        seen: dict[str, int],
        source: str,
        options: SessionOptions,
        rng: random.Random,
        door: str,
        leaves: bool,
    ) -> None:
        """``door``: where clients connect, as others are told. ``clients``, ``seen``, ``source``: the broker's own.

        ``leaves``: a former life was drained, and died before it had left.
        """
        self.turn = turn
        self.overlay = overlay
        self.routing = routing
        self.shares = shares
        self.homes = homes
        self.clients = clients
        self.door = door
        self.copies = Copies(turn, seen, source)
        self.arrivals = Arrivals(turn, routing, shares, clients, self._send, self.copies, options)
        self.departures = Departures(turn, overlay, routing, shares, clients, self._send, self.copies, options, rng)
        homes.may_go_back = lambda client: client in self.arrivals.of
        self._rng = rng
        self._asked: dict[str, str] = {}  # neighbours that are to be drained, and have no answer yet: as a step of what
        self._returned: dict[str, None] = {}  # those that were restarted, and have not said yet what they have
        self._guests: dict[str, str] = {}  # those that may come over: under which name this is remembered
        self.departures.again = leaves
        overlay.leaves.had_left = lambda: self.departures.again and not clients
        self.ordered: Callable[[Subscribe], None] = lambda _: None  # is told who wants events in their order
        self.begins: Callable[[Attach], None] = lambda _: None  # is told who has come
        self.single: Callable[[], bool] = lambda: False  # asked whether a session moves by itself
        self.wishes_of: Callable[[str], None] = lambda _: None  # is told whose wishes have changed
        self.kept: Callable[[str, Pattern, float], None] = lambda client, pattern, since: None
        """Is told what a life before wanted, and since when at the least."""
        self.settled: Callable[[str], None] = lambda _: None  # is told whose session came here long ago
        self.busy = leaves  # asked for each event: is anything on its way?

    def _send(self, peer: str, message: Message) -> None:
        """Also to a neighbour that is being left: it must hear what stays, and what does not."""
        if (link := self.overlay.links.of.get(peer)) is not None:
            link.send(message)
            match message:  # from here on events must not overtake our words
                case Draining(going=going):
                    link.sends_in_line, link.takes_in_line = going, False
                case Welcome(refused=refused):
                    link.sends_in_line = not refused
        self.busy = True

    def _take_in_line(self, peer: str, message: Moving) -> None:
        """What was sent before this word, and overtaken by it, is not taken any more."""
        if (link := self.overlay.links.of.get(peer)) is not None:
            match message:
                case Draining(going=going):
                    link.takes_in_line, link.sends_in_line = going, False
                case Welcome(refused=refused):
                    link.takes_in_line = not refused

    def inputs(self) -> dict[type, Callable[[Any], None]]:
        """What is handled here as it is."""
        return {
            Attach: self.attach,
            Detach: self.detach,
            Subscribe: self.subscribe,
            Unsubscribe: self.unsubscribe,
            Join: self.join,
            Part: self.part,
            Presence: self.shares.presence,
            Stay: lambda each: self.departures.take_back(each.client),
            StopDrain: lambda each: self.stop(each.request),
            Exported: lambda each: self.departures.exported(each.client, each.state),
        }

    # --- operators

    def drain(self, request: int, of: str, ready: bool) -> None:
        """``ready``: this broker knows what its neighbours want, and routes."""
        obstacle = "" if ready else f"{self.turn.node} has not heard from all its neighbours yet"
        if coming := ", ".join([*self._asked, *self._guests]):
            obstacle = f"{coming} is being drained into {self.turn.node}"
        self.departures.begin(request, obstacle, of)
        self.busy = True

    def stop(self, request: int) -> None:
        self.departures.stop(request)
        self.busy = True

    # --- messages

    def receive(self, peer: str, message: Moving) -> None:
        self.busy = True
        if self.turn.observing:
            part = "heir" if isinstance(message, _FROM_LEAVER) else "leaver"
            self.turn.see(Kind.CHANGE, peer=peer, detail=f"drain: {type(message).__name__.lower()} at the {part}")
        self._take_in_line(peer, message)
        if self.overlay.link(peer) is not None:
            self._on_message(peer, message)
        match message:  # these must be heard even if the link is being left
            case Told():
                if self.arrivals.on_told(peer, message):
                    self.homes.moved_in(message.client, peer)
            case Withdraw():
                self.arrivals.on_withdraw(peer, message)

    def _on_message(self, peer: str, message: Moving) -> None:
        match message:
            case Draining(going=True, of=of):
                self._stays(peer, "asked again")
                self._asked[peer] = of
            case Draining():
                self._stays(peer, f"{peer} stays")
                self._forget(peer)
            case Offer() if peer in self._guests:
                self.arrivals.on_offer(peer, message)
            case Rest():
                self.arrivals.on_rest(peer, message)
            case Welcome():
                self.departures.on_welcome(peer, message)
            case Opened():
                self.departures.on_opened(peer, message)
            case Taken():
                self.departures.on_taken(peer, message)

    def _answer(self) -> None:
        for peer, of in self._asked.items():
            if self.overlay.closed:
                self._send(peer, Welcome(self.overlay.closed, ""))
            else:
                name = self._guests[peer] = change_name((peer, self._rng.getrandbits(48)))
                self.overlay.history.begin(name, Deed(DRAIN, (peer, self.turn.node)), "heir", of)
                self._send(peer, Welcome("", self.door))
        self._asked.clear()

    # --- neighbours

    def drains(self, peer: str) -> bool:
        """Whether this neighbour comes over with all its clients."""
        return peer in self._guests

    def linked(self, peer: str, again: bool) -> None:
        self.departures.met(peer)
        if again:
            self._stays(peer, f"{peer} was restarted")
            self._forget(peer)
            self._returned[peer] = None
            self.departures.renewed(peer)

    def unlinked(self, peer: str) -> None:
        if self.overlay.is_left_by(peer) and peer in self._guests:
            self.turn.see(Kind.CHANGE, peer=peer, detail="drain: left at the heir")
            self.overlay.history.end(self._guests.pop(peer))
        self._stays(peer, f"the link to {peer} was removed meanwhile")
        self._forget(peer)
        self._claim_from(peer)
        self.departures.unlinked(peer)

    def _stays(self, peer: str, why: str) -> None:
        """The drain of this neighbour has come to nothing, for now."""
        if peer in self._guests:
            self.overlay.history.end(self._guests.pop(peer), why)

    def _forget(self, peer: str) -> None:
        self._asked.pop(peer, None)
        self._guests.pop(peer, None)
        self._take_in_line(peer, Draining(False))
        self.arrivals.lost(peer)

    def _claim_from(self, peer: str) -> None:
        """There will be nobody to tell us of the sessions that have come from there."""
        self._returned.pop(peer, None)
        for client in self.arrivals.here_from(peer):
            self.claim(client, peer)

    def claim(self, client: str, peer: str) -> None:
        """Its session, which has come from there, is ours though nobody has said so."""
        self.homes.moved_in(client, peer)
        if client not in self.homes.over:
            self.arrivals.claimed(client)

    # --- clients

    def attach(self, each: Attach) -> None:
        if each.client not in self.clients:
            self.clients[each.client] = None
            self.turn.see(Kind.ATTACHED, client=each.client)
        self.begins(each)
        self.arrivals.claimed(each.client)
        self.homes.begun(each.client)

    def recall(self, each: Recall) -> None:
        """Sessions of a life before, and what came by then: what neighbours send again of that is a copy for them."""
        for client, patterns in each.clients.items():
            self.homes.recalled(client)
            self.attach(Attach(client))
            self.copies.expect(client, each.seen, each.had.get(client, {}))
            for pattern in patterns:
                self.routing.subscribe(client, pattern)
            for pattern in each.sure.get(client, ()):
                self.kept(client, pattern, each.written)
            for name, pattern in each.shares.get(client, ()):
                self.shares.add(client, name, pattern, present=False)
            self.busy = True
        self.copies.recall(each.had)
        self.homes.all_recalled()
        self._recall_moves(each)

    def _recall_moves(self, each: Recall) -> None:
        """What was on its way: what this broker was giving away stays, unless its client has gone there by itself."""
        asides = self.shares.asides
        asides.recall(each.asides, each.moves)
        here = [move for move in each.moves if move.client in self.clients]
        self.arrivals.recall(move for move in here if move.came)
        self.departures.recall(move for move in here if not move.came)
        for aside in each.asides:
            if aside.client in self.clients:
                self._recall_aside(aside)
        for client in dict.fromkeys([aside.client for aside in each.asides] + [move.client for move in each.moves]):
            if client not in self.clients:
                asides.end(client)
            elif not self.arrivals.source(client):
                asides.clear(client)

    def _recall_aside(self, aside: KeepAside) -> None:
        """What had no queue to wait in has one now; but what is for a group waits on where a session has just come."""
        client, event, group = aside.client, aside.event, aside.group
        if group and self.arrivals.source(client):
            self.shares.hold_again(client, event, Group(group, aside.patterns[0]))
        elif group:
            self.shares.give(event, Group(group, aside.patterns[0]), client)
        else:
            self.turn.effects.append(Deliver(event, ((client, aside.patterns),)))

    def detach(self, each: Detach) -> None:
        if each.client not in self.clients:
            return
        self.copies.forget(each.client)
        self.arrivals.ended(each.client)
        self.departures.ended(each.client)
        for pattern in self.routing.table.of(client_hop(each.client)):
            self.routing.unsubscribe(each.client, pattern)
        del self.clients[each.client]
        self.turn.see(Kind.DETACHED, client=each.client)
        self.shares.gone(each.client)
        self.homes.ended(each.client)

    def news(self, peer: str, lines: Iterable[Key]) -> None:
        """These lines of the book have become others. What ``peer`` takes back, it has said before."""
        if peer in self._returned:
            self._claim_from(peer)
        self.homes.news(lines)
        self.busy = self.busy or bool(self.homes.over)

    def _end_those_elsewhere(self) -> None:
        """Sessions whose clients have begun anew at another broker; what is on its way is looked at where it stays."""
        for client in list(self.homes.over):
            if self.departures.moves(client) or self.arrivals.awaits(client):
                continue
            del self.homes.over[client]
            if self.homes.is_over(client, self.arrivals.source(client)):
                self.turn.note_deliveries()
                self.detach(Detach(client))
                self.turn.effects.append(Discard(client, taken_over=True))

    def join(self, each: Join) -> None:
        self.departures.take_back(each.client)
        self.shares.join(each)

    def part(self, each: Part) -> None:
        self.departures.take_back(each.client)
        self.shares.part(each)

    def subscribe(self, each: Subscribe) -> None:
        self.departures.take_back(each.client)  # what was offered would not be true any more
        for pattern in each.patterns:
            self.routing.subscribe(each.client, pattern)
        self.wishes_of(each.client)
        self.ordered(each)

    def unsubscribe(self, each: Unsubscribe) -> None:
        self.departures.take_back(each.client)
        self.turn.note_deliveries()  # what was kept aside for it came before
        for pattern in each.patterns:
            self.routing.unsubscribe(each.client, pattern)
        self.wishes_of(each.client)

    # --- events

    def sift(self, event: Event, sender: str, matches: tuple[Match, ...]) -> tuple[Match, ...]:
        """The matches that are to be delivered now."""
        copies, arrivals, departures = self.copies, self.arrivals, self.departures
        return tuple(
            each
            for each in matches
            if not copies.is_one(event, each[0])
            and arrivals.sift(event, sender, each)
            and copies.guard.give(event, each[0])
            and departures.sift(event, each)
        )

    # --- times

    def deadline(self) -> float | None:
        return earliest(self.arrivals.deadline(), self.departures.deadline()) if self.busy else None

    def end_of_turn(self, ready: bool) -> Iterator[OverlayEvent]:
        """``ready``: this broker routes events. Before that, those that wait have no place yet among the others."""
        if self._asked and ready:
            self._answer()
        self.arrivals.end_of_turn()
        yield from self.departures.end_of_turn()
        if self.homes.over:
            self._end_those_elsewhere()
        for client in self.copies.settle():
            self.settled(client)
        waiting = self.arrivals.of or self._asked or self.copies or self.homes.over
        self.busy = bool(waiting) or self.departures.drain is not None or self.single()

    # --- looking in

    @property
    def at_rest(self) -> bool:
        """Nothing is on its way, and nothing is to be."""
        arriving = any(not each.here for each in self.arrivals.of.values())
        return not arriving and not self._asked and not self.homes.over and self.departures.at_rest

    def progress(self) -> dict[str, Any]:
        return self.departures.progress()
