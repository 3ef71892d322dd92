"""Draining a broker: its sessions move to its only neighbour, and it leaves (SWAP's RemoveBroker).

In the paper the clients take part: they hold, and say *close* on the old path. An MQTT client does not, so this broker
acts for them. For each session:

    state      input                          what follows
    ---------  -----------------------------  ------------------------------------------------------------------
    at home    its turn, and the link is up   *Offer*, with what it wants; served as ever; to *offered*
    offered    *Opened*                       the first, empty part of the rest; the shell is asked for the state;
                                              from here on events are kept aside for it; to *switched*
    switched   the state                      the rest of the rest
               *Taken*                        gone: *Told*, and the client is sent there
    both       no answer in time; a refusal;  *Withdraw*; what was kept aside is delivered; to *at home*
               a change of what it wants;
               the client's goodbye

*Opened* splits what comes from the neighbour: before it ours, behind it theirs. The empty part splits what goes to it
in the same way, and both are one moment of this turn. So an event has one owner, also one that goes from one of our
clients to another, or that answers another event; each moves at its own time, and no client waits for the others. The
entry of the session stays in our table until *Taken*: whatever the neighbour owns comes here too, and is kept aside.
So the neighbour may die at any moment up to then, and the session is whole here; after it, it is the neighbour's own.
With a store so may this broker: what is kept aside is in the store as any queue is (see ``asides``), and the next life,
which has the session and does not know who has taken it, begins with *Withdraw*.

When no session is left, and the neighbour has settled all that it was sent, the link is left, in patience: a neighbour
that is down must hear of it, or it would wait for this broker in its next life.

Owns: the drain of this broker. Must not know: what a state says, or how a client is told.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from reknit.core.io import Deliver, Ended, Export, KeepMove, Match, Redirect, Refer, Reply, Thaw
from reknit.core.overlay.events import OverlayEvent
from reknit.core.overlay.overlay import Overlay
from reknit.core.routing.base import Routing, chunks
from reknit.core.routing.table import client as client_hop
from reknit.core.sessions.copies import Copies
from reknit.core.sessions.options import SessionOptions
from reknit.core.shares.shares import Shares
from reknit.core.turn import Turn
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.trace.records import DRAINED, Kind
from reknit.wire.messages import Draining, Message, Offer, Opened, Rest, Taken, Told, Welcome, Withdraw

__all__ = ["Departures"]


class _Phase(Enum):
    WAITING = "waiting"  # for the change of a link to come to its end
    ASKING = "asking"  # the neighbour has not answered yet
    MOVING = "moving"
    LEAVING = "leaving"  # no session is left
    GONE = "gone"


_EARLY = (_Phase.WAITING, _Phase.ASKING, _Phase.MOVING)
"""It may still be given up."""


@dataclass(slots=True)
class _Drain:
    request: int
    peer: str
    of: str
    give_up_at: float
    """If it still waits then."""
    door: str = ""
    phase: _Phase = _Phase.WAITING
    resume_at: float = 0.0  # no session is offered before
    moved: int = 0
    stuck: dict[str, str] = field(default_factory=dict)
    """Clients whose sessions the other broker does not take, and why; all others move all the same."""
    refers: bool = False
    """Whether new clients are sent to the other broker."""


@dataclass(slots=True)
class _Move:
    number: int
    give_up_at: float
    switched: bool = False
    parts: deque[bytes] = field(default_factory=deque)
    """Of its state, still to be sent."""
    aside: list[tuple[Event, tuple[Pattern, ...]]] = field(default_factory=list)


class Departures:
    def __init__(
        self,
        turn: Turn,
        overlay: Overlay,
        routing: Routing,
        shares: Shares,
        clients: dict[str, None],
        send: Callable[[str, Message], None],
        copies: Copies,
        options: SessionOptions,
        rng: random.Random,
    ) -> None:
        self.turn = turn
        self.overlay = overlay
        self.routing = routing
        self.shares = shares
        self.clients = clients
        self.send = send
        self.copies = copies
        self.options = options
        self.rng = rng
        self.drain: _Drain | None = None
        self.leaving: Callable[[str], None] = lambda _: None  # is told whose session is about to be given away
        self.is_early: Callable[[str], bool] = lambda _: False  # asked whether it should stay a little longer
        self.last_words: Callable[[], None] = lambda: None  # says what has to be settled before this broker leaves
        self.failed = ""  # why the last drain came to nothing
        self.again = False  # a former life was drained
        self._moves: dict[str, _Move] = {}  # by client
        self._given: dict[str, KeepMove] = {}  # by client: of a life before, and its new broker has not heard of it
        self._count = 0
        overlay.reopen = self._lost

    # --- the drain

    def begin(self, request: int, obstacle: str, of: str) -> None:
        """``obstacle``: what stands in the way, as far as others know. ``of``: see ``Drain``."""
        if refused := self._refusal() or obstacle:
            self.turn.effects.append(Reply(request, refused))
            return
        [peer] = self.overlay.neighbours()
        self.failed = ""
        self.drain = _Drain(request, peer, of, self.turn.now + self.overlay.options.join_s_max)
        self.turn.see(Kind.CHANGE, peer=peer, detail="drain: start at the leaver")
        self._ask_if_calm(self.drain)

    def _ask_if_calm(self, drain: _Drain) -> None:
        """A swap that has made this broker a leaf may have its last words to say; no change begins meanwhile."""
        self.overlay.close(f"{self.turn.node} is being drained")
        if not self._changing():
            drain.phase = _Phase.ASKING
            self.send(drain.peer, Draining(True, drain.of))
        elif self.turn.now >= drain.give_up_at:
            self._give_up(f"a link of {self.turn.node} is being changed; try again when that is done")

    def _changing(self) -> bool:
        overlay = self.overlay
        return bool(overlay.search.reserved or overlay.unsettled() or not overlay.at_rest)

    def _refusal(self) -> str:
        me, neighbours = self.turn.node, sorted(self.overlay.neighbours())
        if self.overlay.closed:
            return self.overlay.closed
        if awaits := self.overlay.links.former.awaits(self.turn.now, self.overlay.options.join_s_max):
            return f"{me} {awaits}"
        if not neighbours:
            return f"{me} has no neighbour that could take its clients: the last broker cannot be drained"
        return f"{me} is no leaf: it is linked with {', '.join(neighbours)}" if len(neighbours) > 1 else ""

    def _give_up(self, why: str) -> None:
        """The broker stays; what has moved has moved."""
        drain = self.drain
        assert drain is not None
        for client in list(self._moves):
            self.take_back(client)
        self._refer(drain, False)
        if drain.phase is not _Phase.WAITING:
            self.send(drain.peer, Draining(False))
        self.turn.see(Kind.CHANGE, peer=drain.peer, detail="drain: undone at the leaver")
        self.turn.effects.append(Reply(drain.request, why))
        self.failed, self.drain, self.again = why, None, False
        self.overlay.close("")

    def _lost(self, peer: str) -> None:
        """The broker that was to take the sessions is lost; who is left needs this one's links."""
        if self.drain is not None and self.drain.peer == peer and self.drain.phase in _EARLY:
            self._give_up(f"{peer}, which was to take the clients, is out of reach")

    def stop(self, request: int) -> None:
        """An operator has thought better of it."""
        drain = self.drain
        if drain is None or drain.phase not in _EARLY:
            why = f"{self.turn.node} is not being drained" if drain is None else f"{self.turn.node} is leaving already"
            self.turn.effects.append(Reply(request, why))
            return
        self._give_up("the drain was stopped")
        self.turn.effects.append(Reply(request))

    def _leave_again(self) -> None:
        """A former life had no session any more, and died before it had left."""
        peers = self.overlay.neighbours()
        self.drain = _Drain(0, peers[0] if peers else "", "", self.turn.now + self.overlay.options.join_s_max)
        self.overlay.close(f"{self.turn.node} is being drained")
        if not peers:
            self._gone(self.drain)

    def _gone(self, drain: _Drain) -> None:
        drain.phase = _Phase.GONE
        self.turn.see(Kind.CHANGE, peer=drain.peer, detail="drain: left at the leaver")
        self.turn.effects.append(Ended())

    def left(self) -> dict[str, str] | None:
        """If there is nothing left but to go: the neighbour that has not heard of it yet, for a next life to tell."""
        drain = self.drain
        if drain is None or drain.phase not in (_Phase.LEAVING, _Phase.GONE):
            return None
        link = self.overlay.links.of.get(drain.peer)
        return {drain.peer: link.address} if link is not None else {}

    def on_welcome(self, peer: str, welcome: Welcome) -> None:
        drain = self.drain
        if drain is None or drain.peer != peer or drain.phase is not _Phase.ASKING:
            return
        if welcome.refused:
            self._give_up(welcome.refused)
            return
        drain.door, drain.phase = welcome.door, _Phase.MOVING
        self._refer(drain, True)

    def _refer(self, drain: _Drain, away: bool) -> None:
        """Nobody is sent to a broker that is down."""
        if away is not drain.refers:
            drain.refers = away
            self.turn.effects.append(Refer(drain.peer, drain.door) if away else Refer("", ""))

    def renewed(self, peer: str) -> None:
        """The neighbour has lost its memory: whatever it had not taken is at home again, and it is asked anew."""
        drain = self.drain
        if drain is not None and drain.peer == peer and drain.phase in (_Phase.ASKING, _Phase.MOVING):
            for client, move in list(self._moves.items()):
                self.send(peer, Withdraw(client, move.number))  # with a store it may have what it had taken
                self._go_home(client)
            drain.phase = _Phase.ASKING
            self.send(peer, Draining(True, drain.of))

    def recall(self, moves: Iterable[KeepMove]) -> None:
        """Sessions that a life before was giving away, and that are at home again: nobody was told to go there."""
        self._given = {each.client: each for each in moves}

    def met(self, peer: str) -> None:
        """In this life for the first time: it may have a session that is at home again."""
        for each in [each for each in self._given.values() if each.peer == peer]:
            del self._given[each.client]
            self.send(peer, Withdraw(each.client, each.move))

    def unlinked(self, peer: str) -> None:
        drain = self.drain
        if drain is None or drain.peer != peer or drain.phase not in _EARLY:
            return
        if self.again and not self.clients:  # it has heard a former life say that it leaves
            self._gone(drain)
        else:
            self._give_up(f"the link to {peer} was removed meanwhile")

    # --- one session

    def _offer(self, client: str) -> None:
        drain = self.drain
        assert drain is not None
        self._count += 1
        self._moves[client] = _Move(self._count, self.turn.now + self.options.move_s_max)
        parts = list(chunks(self.routing.table.of(client_hop(client)))) or [[]]
        shares = list(chunks(self.shares.of(client)))
        parts += [[]] * (len(shares) - len(parts))
        for number, patterns in enumerate(parts):
            some = shares[number] if number < len(shares) else []
            self.send(drain.peer, Offer(client, self._count, number, patterns, number + 1 == len(parts), some))

    def on_opened(self, peer: str, opened: Opened) -> None:
        move = self._known(peer, opened)
        if move is None:
            return
        if opened.refused:
            self.take_back(opened.client)
            if not opened.retry and self.drain is not None:
                self.drain.stuck[opened.client] = opened.refused
        elif not move.switched:
            move.switched = True
            move.give_up_at = self.turn.now + self.options.move_s_max
            self.leaving(opened.client)
            self.send(peer, Rest(opened.client, move.number, b"", False, *self.copies.tells(opened.client)))
            self.turn.effects.append(Export(opened.client))
            self.shares.hold(opened.client)
            self.shares.asides.begin(opened.client, peer, move.number, came=False)

    def exported(self, client: str, state: bytes) -> None:
        move, drain = self._moves.get(client), self.drain
        if move is None or drain is None or not move.switched:
            return
        self.turn.see(Kind.MOVING, client=client, peer=drain.peer)
        size = self.options.part_bytes
        move.parts = deque(state[start : start + size] for start in range(0, max(len(state), 1), size))
        self._send_parts(drain)

    def _send_parts(self, drain: _Drain) -> None:
        """As many as there is room for beside events, of all sessions in turns, so that none waits for too long."""
        room = self.options.parts_bytes_max - self.overlay.links.of[drain.peer].outbox_bytes
        going = [client for client, move in self._moves.items() if move.parts]
        while going and room > 0:
            client = going.pop(0)
            move = self._moves[client]
            part = move.parts.popleft()
            room -= len(part)
            self.send(drain.peer, Rest(client, move.number, part, last=not move.parts))
            for each in self._moves.values():  # there is progress, if only for one
                each.give_up_at = self.turn.now + self.options.move_s_max
            if move.parts:
                going.append(client)

    def on_taken(self, peer: str, taken: Taken) -> None:
        move, drain = self._known(peer, taken), self.drain
        if move is None or drain is None or not move.switched:
            return
        client = taken.client
        del self._moves[client]
        drain.moved += 1
        self.turn.see(Kind.MOVED_OUT, client=client, peer=peer)
        _, lacks = self.copies.lacks(client, [event for event, _ in move.aside])
        self.send(peer, Told(client, move.number, lacks))
        self.turn.effects.append(Redirect(client, peer, drain.door))
        for pattern in self.routing.table.of(client_hop(client)):
            self.routing.unsubscribe(client, pattern)
        del self.clients[client]
        self.copies.forget(client)
        self.turn.see(Kind.DETACHED, client=client)
        self.shares.gone(client, peer)
        self.shares.asides.end(client)

    def _known(self, peer: str, answer: Opened | Taken) -> _Move | None:
        """The move that this is an answer to, unless it has been taken back."""
        move, drain = self._moves.get(answer.client), self.drain
        return move if move and drain and drain.peer == peer and move.number == answer.move else None

    def take_back(self, client: str) -> None:
        """The session is to stay here, at least for now."""
        move, drain = self._moves.get(client), self.drain
        if move is not None and drain is not None:
            self.send(drain.peer, Withdraw(client, move.number))
            self._go_home(client)
            drain.resume_at = self.turn.now + self.rng.uniform(self.options.again_s_min, self.options.again_s_max)

    def _go_home(self, client: str) -> None:
        move = self._moves.pop(client)
        if move.switched:
            self.turn.effects.append(Thaw(client))
        for event, patterns in move.aside:
            self.turn.effects.append(Deliver(event, ((client, patterns),)))
        self.shares.release(client)
        self.shares.asides.clear(client)

    def ended(self, client: str) -> None:
        """Its session has ended here, as sessions do: there is nothing to move any more."""
        move, drain = self._moves.pop(client, None), self.drain
        self.shares.asides.end(client)
        if drain is not None:
            drain.stuck.pop(client, None)
        if move is not None and drain is not None:
            self.send(drain.peer, Withdraw(client, move.number))

    # --- events

    def sift(self, event: Event, match: Match) -> bool:
        """Whether the event is to be delivered here; else it is kept aside."""
        move = self._moves.get(match[0])
        if move is None or not move.switched:
            return True
        move.aside.append((event, match[1]))
        self.shares.asides.put(match[0], event, match[1])
        return False

    # --- times

    def deadline(self) -> float | None:
        drain = self.drain
        if drain is not None and drain.phase is _Phase.WAITING:
            return drain.give_up_at
        if drain is None or drain.phase is not _Phase.MOVING:
            return None
        times = [move.give_up_at for move in self._moves.values()]
        if drain.resume_at > self.turn.now and len(self._moves) < len(self.clients):
            times.append(drain.resume_at)
        return min(times, default=None)

    def end_of_turn(self) -> Iterator[OverlayEvent]:
        if self.again and self.drain is None:
            self._leave_again()
        drain = self.drain
        if drain is None:
            return
        if drain.phase in _EARLY and self.overlay.neighbours() != [drain.peer]:
            self._give_up(f"{self.turn.node} is no leaf any more")
        elif drain.phase is _Phase.WAITING:
            self._ask_if_calm(drain)
        elif drain.phase is _Phase.MOVING:
            yield from self._go_on(drain)
        elif drain.phase is _Phase.LEAVING and drain.peer not in self.overlay.links.of:
            self._gone(drain)

    def _go_on(self, drain: _Drain) -> Iterator[OverlayEvent]:
        for client, move in list(self._moves.items()):
            aside = len(move.aside) + self.shares.waiting(client)
            if self.turn.now >= move.give_up_at or aside > self.options.held_events_max:
                self.take_back(client)
        link = self.overlay.links.of[drain.peer]
        self._refer(drain, link.greeted)
        self._send_parts(drain)
        if not self.clients:
            self.last_words()
            if link.idle and self.shares.done:
                drain.phase = _Phase.LEAVING
                self.turn.tell(Kind.CHANGE, peer=drain.peer, detail=DRAINED)
                self.overlay.links.changed = True  # so that a next life knows that it has to leave
                yield from self.overlay.remove(drain.peer, drain.request, patient=True)
        elif len(drain.stuck) == len(self.clients):
            self._give_up("; ".join(drain.stuck.values()))
        elif link.greeted and self.turn.now >= drain.resume_at:
            self._offer_some(drain)

    def _offer_some(self, drain: _Drain) -> None:
        if any(move.parts for move in self._moves.values()):
            return  # one after another, where they are large
        for client in self.clients:
            if len(self._moves) >= self.options.moves_max:
                break
            if client not in self._moves and client not in drain.stuck and not self.is_early(client):
                self._offer(client)

    # --- looking in

    def moves(self, client: str) -> bool:
        """Whether its session is on its way."""
        return client in self._moves

    @property
    def at_rest(self) -> bool:
        return self.drain is None or self.drain.phase is _Phase.GONE

    def progress(self) -> dict[str, Any]:
        """For operators: plain values only."""
        drain = self.drain
        if drain is None:
            return {"state": "failed" if self.failed else "none", "error": self.failed}
        moved = {"moved": drain.moved, "left": len(self.clients), "under_way": len(self._moves)}
        return {"state": drain.phase.value, "to": drain.peer, **moved, "error": ""}
