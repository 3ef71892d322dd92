"""How events travel on a ring: up to the owner of their topic's key, and from there down the topic's tree.

    at                input                     what follows
    ----------------  ------------------------  -----------------------------------------------------------------
    any broker        *up*, and it is the root  down: to its own clients, and to each next hop of the tree
                      ... but not sure of that  it waits: it has just become the root, does not know who is before
                                                it, or knows no way to somebody who wants the topic
                      *up*, and it is not       on to the next hop
                      *down*                    to its own clients, and to each next hop; what has come round waits,
                                                and goes up anew
    who has sent one  the next hop is gone      what was not settled there goes up anew, from here

A relay remembers nothing of an event: it may come twice, and goes on twice. Whoever delivers it sees to that
(``order``). But it lets no event overtake one of the same source and topic that waits here: whoever has come to want
the topic a moment ago would not wait for that one.

Owns: what waits for a way. Must not know: how a way is found, which events clients want.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from reknit.core.links.custody import Custody
from reknit.core.links.returning import Returned
from reknit.core.ring.member import Member
from reknit.core.ring.order import Load
from reknit.core.ring.peers import Peers
from reknit.core.turn import Turn
from reknit.model.event import Event, EventId, event_bytes
from reknit.model.ring import ring_id, within
from reknit.trace.records import Kind
from reknit.wire.messages import Down, Up
from reknit.wire.ring import PATH_IDS_MAX, Spot

__all__ = ["Carriage", "Plane"]

RETRY_S = 0.25
"""How often what waits for a way looks for one."""

MESSAGE_BYTES = 512 * 1024
"""Events that go the same way travel in messages of about this size."""


@dataclass(frozen=True, slots=True)
class Plane:
    """A version of the control plane, and this broker's part of it."""

    version: int
    member: Member


@dataclass(slots=True)
class _Pack:
    """Events that leave for the same broker."""

    spot: Spot
    loads: list[Load] = field(default_factory=list)


_Packs: TypeAlias = dict[str, _Pack]


class Carriage:
    def __init__(
        self,
        turn: Turn,
        peers: Peers,
        plane_of: Callable[[int], Plane | None],
        deliver: Callable[[Load], None],
        waiting_max: int,
    ) -> None:
        """``plane_of``: the one by which events of a version are routed here; None where that is not known yet."""
        self.turn, self.peers, self.plane_of, self.deliver = turn, peers, plane_of, deliver
        self.waiting_max = waiting_max
        self.dropped = 0  # for want of room
        self._waiting: dict[EventId, tuple[int, Load]] = {}  # each with its version
        self._lines: dict[tuple[str, str], None] = {}  # their sources and topics
        self._retry_at: float | None = None

    # --- in

    def publish(self, version: int, loads: Sequence[Load]) -> None:
        self._up(version, [], loads)

    def take(self, peer: str, message: Up | Down, custody: Custody) -> None:
        loads = _loads(message, [custody])
        plane = self.plane_of(message.version)
        if isinstance(message, Up):
            self._up(message.version, message.path, loads)
        elif plane is None or plane.version != message.version:
            self._up(message.version, [], loads)  # by another tree, to which it has to come by its root
        else:
            self._down(plane, message.path, loads, peer)

    def come_back(self, version: int, returned: Iterable[Returned]) -> None:
        """What the next hop has not settled, and will not."""
        for messages, custodies in returned:
            self.turn.custodies.extend(custodies)  # in place of the frame that held them
            for message in messages:
                if isinstance(message, Up | Down):
                    self._up(version, [], _loads(message, custodies))
            self.peers.flush()  # events that were in different frames must not come to wait for each other

    # --- up

    def _up(self, version: int, path: Sequence[int], loads: Sequence[Load]) -> None:
        """What has come round looks for a way anew, after a while."""
        plane, packs = self.plane_of(version), _Packs()
        for load in loads:
            key = ring_id(load.event.topic)
            if plane is None or plane.member.me[0] in path or len(path) >= PATH_IDS_MAX or self._is_behind(load):
                self._wait(version, load)
            elif plane.member.serves(key) and not plane.member.trees.is_torn(load.event.topic):
                self._down(plane, [], [load], "")
            elif (spot := _next(plane.member, key, path)) is None:
                self._wait(version, load)
            else:
                packs.setdefault(spot[1], _Pack(spot)).loads.append(load)
        if plane is not None:
            passed = [*path, plane.member.me[0]]
            for pack in packs.values():
                self._send(plane.version, pack, lambda some: Up(plane.version, passed, *_unload(some)))

    # --- down

    def _down(self, plane: Plane, path: Sequence[int], loads: Sequence[Load], sender: str) -> None:
        member, packs = plane.member, _Packs()
        me = member.me[0]
        if me in path or len(path) >= PATH_IDS_MAX:
            for load in loads:  # it has come round, in a tree that is being repaired, and not to all who want it
                self._wait(plane.version, load)
            return
        for load in loads:
            self.deliver(load)
            if member.trees.is_torn(load.event.topic):
                self._wait(plane.version, load)  # and goes up anew then, for those that it does not reach now
            for child in member.trees.children(load.event.topic):
                spot = member.spot(child)
                if spot[1] == sender:
                    self._wait(
                        plane.version, load
                    )  # each holds the other for the way to somebody, and none leads there
                else:
                    packs.setdefault(spot[1], _Pack(spot)).loads.append(load)
        for pack in packs.values():
            self._send(plane.version, pack, lambda some: Down(plane.version, [*path, me], *_unload(some)))

    # --- out

    def _send(self, version: int, pack: _Pack, message: Callable[[list[Load]], Up | Down]) -> None:
        _, name, address = pack.spot
        if (link := self.peers.link(name, address)) is None:
            for load in pack.loads:
                self._wait(version, load)
            return
        some: list[Load] = []
        size = 0
        for load in pack.loads:
            more = event_bytes(load.event)
            if not link.takes(load.event, more, size):
                continue
            if some and size + more > MESSAGE_BYTES:
                link.send_steered(message(some), _custodies(some), size)
                some, size = [], 0
            some.append(load)
            size += more
            if self.turn.observing:
                self.turn.forwarded(load.event, name)
        if some:
            link.send_steered(message(some), _custodies(some), size)

    # --- what waits for a way

    def _wait(self, version: int, load: Load) -> None:
        if (known := self._waiting.get(load.event.id)) is not None:
            version, load = known[0], known[1].with_copy(load)
            self._waiting[load.event.id] = (version, load)
            return
        if len(self._waiting) >= self.waiting_max:
            self.dropped += 1
            self.turn.see(Kind.DROPPED, event=load.event, detail="waiting for a way on the ring, and too many wait")
            return
        load.hold()
        self._waiting[load.event.id] = (version, load)
        self._lines[load.event.source, load.event.topic] = None
        if self._retry_at is None:
            self._retry_at = self.turn.now + RETRY_S

    def _is_behind(self, load: Load) -> bool:
        """One of its line waits here."""
        return bool(self._lines) and (load.event.source, load.event.topic) in self._lines

    def deadline(self) -> float | None:
        return self._retry_at

    def due(self) -> None:
        if self._retry_at is None or self.turn.now < self._retry_at:
            return
        waiting, self._waiting, self._lines, self._retry_at = self._waiting, {}, {}, None
        for version, load in sorted(waiting.values(), key=lambda each: each[1].event.seq):
            load.let_go(self.turn)
            self._up(version, [], [load])
            self.peers.flush()

    @property
    def at_rest(self) -> bool:
        return not self._waiting


def _next(member: Member, key: int, path: Sequence[int]) -> Spot | None:
    """None where there is none for sure: who has been sent this may be its root, and not know it yet.

    Who holds this one for the root does not know the one before it, which is nearer; so that one is next.
    """
    chord = member.chord
    if not chord.joined or (path and chord.before is None) or chord.owns(key):
        return None
    return chord.before if path and within(key, path[-1], member.me[0]) else chord.way_to(key)


def _loads(message: Up | Down, custodies: Sequence[Custody]) -> list[Load]:
    pairs = zip(message.events, message.befores, strict=True)
    return [Load(event, before, custodies) for event, before in pairs]


def _unload(loads: Sequence[Load]) -> tuple[list[Event], list[int]]:
    return [load.event for load in loads], [load.before for load in loads]


def _custodies(loads: Sequence[Load]) -> list[Custody]:
    """Each once, in their order."""
    return list({id(custody): custody for load in loads for custody in load.custodies}.values())
