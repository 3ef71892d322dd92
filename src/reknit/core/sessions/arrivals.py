"""The receiving side of a drain: sessions of a neighbour's clients that move in.

The life of one that arrives:

    state      input                          what follows
    ---------  -----------------------------  ------------------------------------------------------------------
    offered    the last part of its patterns  they are entered as those of a client of ours; *Opened*; to *open*
    open       an event of its old broker     not for it: the old broker has it, and it is in the rest
               any other event                held
               the first part of the rest     from here on events of the old broker are held, too; to *filling*
    filling    an event                       held
               the last part of the rest      the shell has it; then what was held, in its order; *Taken*; to *here*
    here       an event for its group         held: if the session is taken back, it is for another member
               told, or the client comes      a client like any other

*Opened* stands behind all that we had sent to the old broker: that is the old broker's to deliver, and all that comes
by here later is ours. The first part of the rest is the same mark in the other direction. So each event has one owner,
whatever the two links hold in flight, and the rest, which has what the old one owned, goes before what was held.

If the old broker takes it back, is unlinked or loses its memory before the session is here, it is forgotten, and with
it what was held: the old broker has kept its own copy of all of that, or has died, and its clients' sessions with it.

Owns: what has not fully arrived. Must not know: what a state says; why a neighbour is being drained.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from reknit.core.io import Deliver, Discard, Import, KeepMove, Match, Reserve
from reknit.core.routing.base import Routing
from reknit.core.routing.table import client as client_hop
from reknit.core.sessions.copies import Copies
from reknit.core.sessions.options import SessionOptions
from reknit.core.shares.shares import Shares
from reknit.core.turn import Turn
from reknit.model.event import Event, EventId
from reknit.model.pattern import Pattern
from reknit.trace.records import Kind
from reknit.wire.messages import Age, Lack, Message, Offer, Opened, Rest, Taken, Told, Withdraw

__all__ = ["Arrivals", "Guest"]

_Held: TypeAlias = tuple[Event, tuple[Pattern, ...]]
_HasHad: TypeAlias = Callable[[Event], bool]
_TOO_LATE = "it took too long"


@dataclass(slots=True)
class Guest:
    """One session that arrives."""

    peer: str
    move: int
    expires: float
    parts: int = 0  # of the offer
    patterns: dict[Pattern, None] = field(default_factory=dict)
    shares: dict[tuple[str, Pattern], None] = field(default_factory=dict)
    open: bool = False
    filling: bool = False
    here: bool = False
    state: list[bytes] = field(default_factory=list)
    state_bytes: int = 0
    held: list[_Held] = field(default_factory=list)
    lacks: list[Lack] = field(default_factory=list)


class Arrivals:
    def __init__(
        self,
        turn: Turn,
        routing: Routing,
        shares: Shares,
        clients: dict[str, None],
        send: Callable[[str, Message], None],
        copies: Copies,
        options: SessionOptions,
    ) -> None:
        """``clients``: those of this broker; whoever moves in is one of them from the moment that it is open."""
        self.turn = turn
        self.routing = routing
        self.shares = shares
        self.clients = clients
        self.send = send
        self.copies = copies
        self.options = options
        self.of: dict[str, Guest] = {}  # by client
        self.aged: Callable[[str, list[Age]], None] = lambda client, ages: None  # is told how old its wishes are
        self.left_for: Callable[[str, list[Lack], _HasHad], list[_Held]] = lambda client, lacks, has_had: []
        """Is told what it lacks, and says what is here of what it wants and has not had."""
        self.give_late: Callable[[Event, Match], None] = lambda event, match: None  # as if it had just come back

    # --- what the old broker says

    def on_offer(self, peer: str, offer: Offer) -> None:
        arrival = self.of.get(offer.client)
        if offer.part == 0:
            if refused := self._refusal(peer, offer.client):
                self.send(peer, Opened(offer.client, offer.move, refused, retry=False))
                return
            arrival = self.of[offer.client] = Guest(peer, offer.move, self._lease())
        if arrival is None or not self._is(arrival, peer, offer.move) or arrival.parts != offer.part:
            return  # a part of what was refused, or given up
        arrival.parts += 1
        arrival.patterns.update(dict.fromkeys(offer.patterns))
        arrival.shares.update(dict.fromkeys(offer.shares))
        if offer.last:
            self._open(offer.client, arrival)

    def _refusal(self, peer: str, client: str) -> str:
        arrival = self.of.get(client)
        if arrival is not None and (arrival.here or arrival.peer == peer):
            self._forget(client)  # its old broker has begun anew, or the client has never come for it
        elif arrival is not None:
            return f"{self.turn.node} is taking {client} over from {arrival.peer}"
        if client in self.clients:
            return f"{self.turn.node} has a session of {client}, too; let it connect with a clean start, and try again"
        if len(self.clients) >= self.options.sessions_max:
            return f"{self.turn.node} has {len(self.clients)} sessions, and takes no more"
        return ""

    def _open(self, client: str, arrival: Guest) -> None:
        arrival.open = True
        self.clients[client] = None
        self.turn.effects.append(Reserve(client))
        for pattern in arrival.patterns:
            self.routing.subscribe(client, pattern)
        self.send(arrival.peer, Opened(client, arrival.move, "", retry=False))

    def on_rest(self, peer: str, rest: Rest) -> None:
        arrival = self.of.get(rest.client)
        if arrival is None or not self._is(arrival, peer, rest.move) or not arrival.open or arrival.here:
            self.send(peer, Opened(rest.client, rest.move, _TOO_LATE, retry=True))
            return
        if not arrival.filling:
            self._fill(rest.client, arrival, rest)
        self.copies.expect_had(rest.client, rest.had)
        arrival.expires = self._lease()
        arrival.state.append(rest.state)
        arrival.state_bytes += len(rest.state)
        if arrival.state_bytes > self.options.state_bytes_max:
            self._forget(rest.client)
            why = f"the session of {rest.client} is larger than {self.options.state_bytes_max} bytes"
            self.send(peer, Opened(rest.client, rest.move, why, retry=False))
        elif rest.last:
            self._arrive(rest.client, arrival)

    def _fill(self, client: str, arrival: Guest, rest: Rest) -> None:
        """From here on all is this broker's to deliver, but for what the client has had."""
        arrival.filling = True
        self.copies.expect(client, rest.seen)
        if self.copies.runs is None:
            arrival.held = [each for each in arrival.held if each[0].seq > rest.seen.get(each[0].source, 0)]
            return
        self.copies.guard.expect(client, rest.runs)
        self.aged(client, rest.ages)
        arrival.lacks = rest.lacks

    def _arrive(self, client: str, arrival: Guest) -> None:
        arrival.here = True
        self.turn.see(Kind.MOVED_IN, client=client, peer=arrival.peer)
        self.turn.effects.append(Import(client, b"".join(arrival.state)))
        left = self.left_for(client, arrival.lacks, lambda event: self.copies.is_one(event, client))
        had: dict[EventId, None] = {}
        came = {event.id for event, _ in arrival.held}  # in their order, which those that are left must not break
        for event, patterns in (*(each for each in left if each[0].id not in came), *arrival.held):
            if event.id in had or self.copies.is_one(event, client) or not self.copies.guard.give(event, client):
                continue
            had[event.id] = None
            self.turn.effects.append(Deliver(event, ((client, patterns),)))
        arrival.state, arrival.held, arrival.lacks = [], [], []
        for name, pattern in arrival.shares:  # before *Taken*, so that the old one knows whom to send what it holds
            self.shares.add(client, name, pattern, present=False)
        self.shares.hold(client)  # if it is taken back, what is for a group is for others
        self.shares.asides.begin(client, arrival.peer, arrival.move, came=True)
        self.copies.keep(client)
        self.send(arrival.peer, Taken(client, arrival.move))

    def on_told(self, peer: str, told: Told) -> bool:
        """Whether the session is a client's like any other from now on."""
        arrival = self.of.get(told.client)
        known = arrival is not None and self._is(arrival, peer, told.move)
        if known:
            self.claimed(told.client)
        if told.lacks and told.client not in self.of and self.copies.guard.is_watched(told.client):
            self._make_up(told.client, told.lacks)  # also where the client has come before this word
        return known

    def _make_up(self, client: str, lacks: list[Lack]) -> None:
        """For what came back to its old broker when it could not go along any more."""
        for event, patterns in self.left_for(client, lacks, lambda event: self.copies.is_one(event, client)):
            if self.copies.guard.give(event, client):
                self.give_late(event, (client, patterns))

    def on_withdraw(self, peer: str, withdraw: Withdraw) -> None:
        arrival = self.of.get(withdraw.client)
        if arrival is not None and self._is(arrival, peer, withdraw.move):
            self._forget(withdraw.client)

    def _is(self, arrival: Guest, peer: str, move: int) -> bool:
        return arrival.peer == peer and arrival.move == move

    # --- events

    def sift(self, event: Event, sender: str, match: Match) -> bool:
        """Whether the event is to be delivered now; if it is this broker's at all, it waits for the session."""
        arrival = self.of.get(match[0])
        if arrival is None or arrival.here:
            return True
        if arrival.filling or sender != arrival.peer:
            arrival.held.append((event, match[1]))
        return False

    # --- ends

    def claimed(self, client: str) -> None:
        """The client knows where its session is."""
        arrival = self.of.get(client)
        if arrival is not None and arrival.here:
            del self.of[client]
            self.shares.release(client)
            self.shares.asides.end(client)

    def recall(self, moves: Iterable[KeepMove]) -> None:
        """Sessions that had come in a life before, and of which nobody has said that they are ours."""
        for each in moves:
            self.of[each.client] = Guest(each.peer, each.move, math.inf, open=True, here=True)
            self.shares.hold(each.client)

    def ended(self, client: str) -> None:
        """The session has ended here, as sessions do."""
        self.of.pop(client, None)
        self.shares.asides.end(client)

    def lost(self, peer: str) -> None:
        """The neighbour is none any more, or has lost its memory. What is here stays: the client may have been told."""
        for client, arrival in list(self.of.items()):
            if arrival.peer == peer and not arrival.here:
                self._forget(client)

    def _forget(self, client: str) -> None:
        arrival = self.of.pop(client)
        self.copies.forget(client)
        self.shares.asides.end(client)
        if arrival.open:
            self.turn.note_deliveries()
            for pattern in self.routing.table.of(client_hop(client)):
                self.routing.unsubscribe(client, pattern)
            self.clients.pop(client, None)
            self.turn.see(Kind.DETACHED, client=client)
            self.turn.effects.append(Discard(client))
            self.shares.gone(client)

    # --- looking in

    def awaits(self, client: str) -> bool:
        """Whether its session is on its way here."""
        return client in self.of and not self.of[client].here

    def source(self, client: str) -> str:
        """The broker that its session has come from, and which may not know that it is here."""
        return self.of[client].peer if client in self.of else ""

    def here_from(self, peer: str) -> list[str]:
        return [client for client, arrival in self.of.items() if arrival.here and arrival.peer == peer]

    # --- times

    def _lease(self) -> float:
        return self.turn.now + self.options.lease_s

    def deadline(self) -> float | None:
        return min((each.expires for each in self.of.values() if not each.here), default=None)

    def end_of_turn(self) -> None:
        """Give up what has not come in time, and what has grown too large to wait for."""
        for client, arrival in list(self.of.items()):
            if arrival.here and self.shares.waiting(client) > self.options.held_events_max:
                self.shares.release(client)
                self.shares.asides.clear(client)
            late = self.turn.now >= arrival.expires or len(arrival.held) > self.options.held_events_max
            if late and not arrival.here:
                self.send(arrival.peer, Opened(client, arrival.move, _TOO_LATE, retry=True))
                self._forget(client)
