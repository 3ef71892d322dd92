"""One session leaves for another broker of the ring; any broker, at any time.

Both brokers get every event by their own ways in the topics' trees, so that no link splits what is whose. What splits
it is numbers: each source numbers its events, and of each topic the old broker knows the last one that its client was
given. For each session:

    state      input                          what follows
    ---------  -----------------------------  ------------------------------------------------------------------
    at home    it is to go                    *Offer*, with what it wants; served as ever; to *offered*
    offered    *Opened*: the trees lead there *Lasts*; the shell is asked for the state; to *switched*
    switched   an event                       kept aside, and passed on (*Passed*)
               the state                      *Rest*
               *Taken*, and what its client   gone: *Told*, and the client is sent there; to *in the shade*
               has published is settled
    both       no answer in time; a refusal;  *Withdraw*; what was kept aside is delivered; to *at home*
               a change of what it wants; the
               client's goodbye; the other
               broker is lost, or there is no
               room on the way there
    in the     an event                       passed on: it may have left its root before the trees led there; where
    shade                                     there is no room for it, it waits for that, and others behind it
               for ``grace_s``, and nothing   its topics are let go; *Passed*, the last
               waits

An event that is passed on is not settled here before it is there. So whatever its publisher sends once it has settled
comes later than that, and what it sends before says what it has to wait for. And as its client publishes there only
what comes behind all that it has published here, its own events are in order, too.

Owns: the sessions that leave, and their shades. Must not know: why one leaves, or what a state says.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from reknit.core.homes.homes import Home
from reknit.core.io import Deliver, Export, Match, Redirect, Reply, Thaw
from reknit.core.links.custody import Custody
from reknit.core.overlay.events import OverlayEvent
from reknit.core.overlay.overlay import Overlay
from reknit.core.ring.order import Load
from reknit.core.ring.station import Station
from reknit.core.routing.base import chunks
from reknit.core.routing.rendezvous import Rendezvous
from reknit.core.routing.table import client as client_hop
from reknit.core.sessions.copies import Copies
from reknit.core.sessions.departures import Departures
from reknit.core.sessions.options import SessionOptions
from reknit.core.shares.shares import Shares
from reknit.core.turn import Turn, earliest
from reknit.model.event import Event, event_bytes
from reknit.model.pattern import Pattern
from reknit.trace.records import Kind
from reknit.wire.messages import Message, Offer, Opened, Rest, Taken, Told, Withdraw
from reknit.wire.placement import LASTS_MAX, LastLine, Lasts, Passed
from reknit.wire.ring import Spot

__all__ = ["Leaving"]

OUTCOMES_MAX = 4096
"""Moves of which it is remembered how they have ended."""


@dataclass(slots=True)
class _Move:
    number: int
    spot: Spot
    give_up_at: float
    request: int | None
    door: str = ""
    relay: str = ""
    switched: bool = False
    crowded: bool = False
    """There was no room for an event that is to be passed on."""
    taken: bool = False
    parts: deque[bytes] = field(default_factory=deque)
    """Of its state, still to be sent."""
    aside: list[tuple[Event, tuple[Pattern, ...]]] = field(default_factory=list)
    published: list[Custody] = field(default_factory=list)
    """What was published here when its client was not heard any more."""


@dataclass(slots=True)
class _Shade:
    number: int
    spot: Spot
    topics: tuple[str, ...]
    until: float
    late: deque[Load] = field(default_factory=deque)
    """What there was no room for."""


class Leaving(Departures):
    def __init__(
        self,
        turn: Turn,
        overlay: Overlay,
        routing: Rendezvous,
        shares: Shares,
        clients: dict[str, None],
        copies: Copies,
        options: SessionOptions,
        rng: random.Random,
        station: Station,
        published: Callable[[], list[Custody]],
    ) -> None:
        """``published``: says what was published here and has not settled."""
        super().__init__(turn, overlay, routing, shares, clients, self._say_to, copies, options, rng)
        self.topics = routing
        self.station = station
        self.published = published
        self.moved = 0
        self.not_passed = 0  # events for sessions that have gone, for want of room
        self.last_place = ("", "")  # where the last one has gone: the broker, and its door
        self.refused: Callable[[str, str], None] = lambda peer, why: None  # is told who will not take one, and why
        self.lasts: Callable[[str, Collection[str]], list[LastLine]] = lambda client, topics: []
        """Asked what a client has had."""
        self.gone: Callable[[str, Home], None] = lambda client, home: None  # is told who has gone, and where
        self.is_coming: Callable[[str], bool] = lambda client: False  # asked who has not wholly arrived here
        self.ended_move: Callable[[str, str], None] = lambda client, error: None  # is told of whom it came to nothing
        self._going: dict[str, _Move] = {}  # by client
        self._shades: dict[str, _Shade] = {}  # by client
        self._crowded: dict[str, None] = {}  # clients in the shade for whose events there is no room
        self._shaded: dict[str, dict[str, None]] = {}  # by topic: clients in the shade
        self._outcomes: dict[tuple[str, int], bool] = {}  # by client and move: has it gone?

    def _say_to(self, peer: str, message: Message) -> None:
        """Where there is a link, not to make one: who is lost is not looked for."""
        self.station.peers.say(peer, "", message)

    # --- one session

    def go(self, client: str, spot: Spot, request: int | None = None) -> str:
        """It is to move there. Why not, if it cannot."""
        why = self._obstacle(client, spot)
        if not why:
            move = self._going[client] = _Move(
                self.rng.getrandbits(48), spot, self.turn.now + self.options.move_s_max, request
            )
            parts = list(chunks(self.routing.table.of(client_hop(client)))) or [[]]
            for number, patterns in enumerate(parts):
                self._say(move, Offer(client, move.number, number, patterns, number + 1 == len(parts)))
        return why

    def _obstacle(self, client: str, spot: Spot) -> str:
        if client not in self.clients:
            return f"{self.turn.node} has no session of {client}"
        if spot[1] == self.turn.node:
            return f"{client} is at {self.turn.node} already"
        if client in self._going:
            return f"{client} is on its way to {self._going[client].spot[1]}"
        if self.is_coming(client):
            return f"{client} has only just come"
        if self.shares.of(client):
            return f"{client} is a member of a group, and on a ring such a session does not move"
        topics = {each.topic for each in self.routing.table.of(client_hop(client))}
        if not all(self.is_sure_of(topic) for topic in topics):
            return f"what {client} wants has not settled yet"
        return ""

    def is_sure_of(self, topic: str) -> bool:
        """Whether all events of this topic come here, and what comes before what is known."""
        return self.station.shows(topic) and self.station.order.is_sure_of(topic)

    def _say(self, to: _Move, message: Message) -> None:
        self.station.peers.say(to.spot[1], to.spot[2], message)

    def on_opened(self, peer: str, opened: Opened) -> None:
        move = self._move(peer, opened)
        if move is None:
            return
        if opened.refused:
            self._stay(opened.client, f"{peer}: {opened.refused}")
            if not opened.retry:
                self.refused(peer, opened.refused)
        elif not move.switched:
            move.switched, move.door, move.relay = True, opened.door, opened.relay
            move.give_up_at = self.turn.now + self.options.move_s_max
            topics = {each.topic for each in self.routing.table.of(client_hop(opened.client))}
            lines = self.lasts(opened.client, topics)
            for start in range(0, len(lines), LASTS_MAX):
                self._say(move, Lasts(opened.client, move.number, lines[start : start + LASTS_MAX]))
            self.turn.effects.append(Export(opened.client))

    def exported(self, client: str, state: bytes) -> None:
        move = self._going.get(client)
        if move is None or not move.switched or move.parts:
            return
        self.turn.see(Kind.MOVING, client=client, peer=move.spot[1])
        size = self.options.part_bytes
        move.parts = deque(state[start : start + size] for start in range(0, max(len(state), 1), size))
        move.published = self.published()
        self._send_some(client, move)

    def _send_some(self, client: str, move: _Move) -> None:
        """As many parts as there is room for beside events."""
        link = self.station.peers.link(move.spot[1], move.spot[2])
        room = 0 if link is None else self.options.parts_bytes_max - link.outbox_bytes
        while move.parts and room > 0:
            part = move.parts.popleft()
            room -= len(part)
            self._say(move, Rest(client, move.number, part, last=not move.parts))
            move.give_up_at = self.turn.now + self.options.move_s_max

    def on_taken(self, peer: str, taken: Taken) -> None:
        move = self._move(peer, taken)
        if move is not None and move.switched:
            move.taken = True
        elif move is None:
            self._say_again(peer, taken)

    def _say_again(self, peer: str, taken: Taken) -> None:
        """The other broker has not heard how it has ended. A life before is over, and so is what it had."""
        gone = self._outcomes.get((taken.client, taken.move), taken.client not in self.clients)
        answer = Told(taken.client, taken.move) if gone else Withdraw(taken.client, taken.move)
        self._say_to(peer, answer)

    def _move(self, peer: str, answer: Opened | Taken) -> _Move | None:
        """The move that this is an answer to, unless it has been taken back."""
        move = self._going.get(answer.client)
        return move if move is not None and move.spot[1] == peer and move.number == answer.move else None

    def _gone(self, client: str, move: _Move) -> None:  # type: ignore[override]
        peer = move.spot[1]
        del self._going[client]
        self.moved += 1
        self._remember(client, move, True)
        self.turn.see(Kind.MOVED_OUT, client=client, peer=peer)
        self._say(move, Told(client, move.number))
        self.turn.effects.append(Redirect(client, peer, move.door))
        self.last_place = (peer, move.door)
        patterns = self.routing.table.of(client_hop(client))
        self._shade(client, move, tuple(dict.fromkeys(each.topic for each in patterns)))
        for pattern in patterns:
            self.routing.unsubscribe(client, pattern)
        del self.clients[client]
        self.copies.forget(client)
        self.gone(client, Home(peer, move.relay))
        self.turn.see(Kind.DETACHED, client=client)
        if move.request is not None:
            self.turn.effects.append(Reply(move.request))

    def _remember(self, client: str, move: _Move, gone: bool) -> None:
        self._outcomes[client, move.number] = gone
        if len(self._outcomes) > OUTCOMES_MAX:
            del self._outcomes[next(iter(self._outcomes))]

    # --- one that stays

    def take_back(self, client: str) -> None:
        self._stay(client, f"{client} has asked for something else")

    def _stay(self, client: str, why: str) -> None:
        move = self._going.get(client)
        if move is None:
            return
        self._end_move(client, why)
        if move.switched:
            self.turn.effects.append(Thaw(client))
        for event, patterns in move.aside:
            self.turn.effects.append(Deliver(event, ((client, patterns),)))

    def _end_move(self, client: str, why: str) -> None:
        move = self._going.pop(client)
        self._remember(client, move, False)
        self._say_to(move.spot[1], Withdraw(client, move.number))
        self.ended_move(client, why)
        if move.request is not None:
            self.turn.effects.append(Reply(move.request, why))

    def ended(self, client: str) -> None:
        if client in self._going:
            self._end_move(client, f"the session of {client} has ended")

    def begins(self, client: str) -> None:
        """Its client has a session here again: what comes is for that one."""
        self._lift(client)

    def stay_from(self, peer: str, why: str) -> None:
        """All that are on their way there."""
        for client in [client for client, move in self._going.items() if move.spot[1] == peer]:
            self._stay(client, why)

    def lost(self, peer: str) -> None:
        """It is gone, or in a life that knows nothing."""
        self.stay_from(peer, f"{peer} is out of reach")
        for client in [client for client, shade in self._shades.items() if shade.spot[1] == peer]:
            self._lift(client)

    # --- the shade

    def _shade(self, client: str, move: _Move, topics: tuple[str, ...]) -> None:
        self._lift(client)
        until = self.turn.now + self.station.options.grace_s
        self._shades[client] = _Shade(move.number, move.spot, topics, until)
        for topic in topics:
            self._shaded.setdefault(topic, {})[client] = None
            self.topics.hold(topic)

    def _lift(self, client: str) -> None:
        if (shade := self._shades.pop(client, None)) is None:
            return
        self._crowded.pop(client, None)
        self.not_passed += len(shade.late)
        for load in shade.late:
            load.let_go(self.turn)
        self._say_to(shade.spot[1], Passed(client, shade.number, [], [], last=True))
        for topic in shade.topics:
            del self._shaded[topic][client]
            if not self._shaded[topic]:
                del self._shaded[topic]
            self.topics.let_go(topic)

    # --- events

    def sift_load(self, load: Load, matches: tuple[Match, ...]) -> tuple[Match, ...]:
        """The matches that are to be delivered here; for others it is kept aside, and passed on."""
        for client in self._shaded.get(load.event.topic, ()):
            self._pass_late(client, self._shades[client], load)
        if not self._going:
            return matches
        return tuple(each for each in matches if self._is_here(load, each))

    def _is_here(self, load: Load, match: Match) -> bool:
        move = self._going.get(match[0])
        if move is None or not move.switched:
            return True
        move.aside.append((load.event, match[1]))
        if not self._pass_on(match[0], move.number, move.spot, load):
            move.crowded = True  # it is not lost: it is aside
        return False

    def _pass_late(self, client: str, shade: _Shade, load: Load) -> None:
        """Behind what there was no room for."""
        if not shade.late and self._pass_on(client, shade.number, shade.spot, load):
            return
        if len(shade.late) < self.options.held_events_max:
            load.hold()
            shade.late.append(load)
            self._crowded[client] = None
        else:
            self.not_passed += 1

    def _pass_on(self, client: str, number: int, spot: Spot, load: Load) -> bool:
        """Whether there was room for it."""
        link, size = self.station.peers.link(spot[1], spot[2]), event_bytes(load.event)
        if link is None or link.outbox_bytes + size > link.options.outbox_bytes_max:
            return False
        link.send_steered(Passed(client, number, [load.event], [load.before]), list(load.custodies), size)
        return True

    # --- times

    def deadline(self) -> float | None:
        moves = [move.give_up_at for move in self._going.values()]
        waiting = (shade.until for shade in self._shades.values() if shade.until > self.turn.now)
        return earliest(*moves, next(waiting, None))  # they are in the order of their times

    def end_of_turn(self) -> Iterator[OverlayEvent]:
        for client, move in list(self._going.items()):
            if move.parts:
                self._send_some(client, move)
            if move.crowded:
                self._stay(client, f"there is no room on the way to {move.spot[1]}")
            elif self.turn.now >= move.give_up_at or len(move.aside) > self.options.held_events_max:
                self._stay(client, f"{move.spot[1]} has not taken {client} in time")
            elif move.taken and not any(custody.pending for custody in move.published):
                self._gone(client, move)
        for client in list(self._crowded):
            self._go_on_passing(client, self._shades[client])
        over = list(takewhile(lambda each: self.turn.now >= each[1].until, self._shades.items()))
        for client in [client for client, shade in over if not shade.late]:
            self._lift(client)
        yield from ()

    def _go_on_passing(self, client: str, shade: _Shade) -> None:
        while shade.late and self._pass_on(client, shade.number, shade.spot, shade.late[0]):
            shade.late.popleft().let_go(self.turn)
        if not shade.late:
            del self._crowded[client]

    # --- looking in

    def moves(self, client: str) -> bool:
        return client in self._going

    def under_way(self) -> Collection[str]:
        return self._going

    @property
    def busy(self) -> bool:
        return bool(self._going or self._shades)

    @property
    def at_rest(self) -> bool:
        return not self.busy

    def progress(self) -> dict[str, Any]:
        return {"state": "none", "error": "", "moved": self.moved, "under_way": len(self._going)}
