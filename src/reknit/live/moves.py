"""Sessions that move, between the core, the door and the sockets.

Owns: which effects of the core are about a move, and what each makes the door and a client's socket do. Must not know:
how a session is packed, or which broker takes it. What the door has for the core, states that are ready, packets of a
client that was not heard for a while, and whether members of groups are there and have room, is given at the end of the
turn, behind all that the turn was about.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from reknit.core.io import (
    Admit,
    Command,
    Discard,
    Effect,
    Ended,
    Export,
    Exported,
    Import,
    Redirect,
    Refer,
    Reserve,
    Thaw,
)

if TYPE_CHECKING:
    from reknit.core.broker import Broker
    from reknit.live.mqtt_server import ClientProtocol
    from reknit.mqtt.door import Door

__all__ = ["Moves"]


class Moves:
    def __init__(self, door: Door, clients: dict[int, ClientProtocol]) -> None:
        """``clients``: by connection."""
        self.ended = asyncio.Event()
        """Set when this broker has left the network for good."""
        self._door = door
        self._clients = clients
        self._arrived: list[Command] = []  # what the core has to hear of sessions that are here
        self._thawed: list[tuple[int, bytes]] = []
        self.pending = False  # asked at the end of each turn: is there anything to ``give``?

    def perform(self, effect: Effect, now: float) -> None:
        match effect:
            case Export(client):
                self._door.moves.export(client, now)
                self.pending = True
            case Thaw(client):
                self._thaw(client, now)
            case Redirect(client, _, door):
                self._door.redirect(client, door, now)
            case Reserve(client):
                self._door.moves.reserve(client)
            case Admit(client):
                self._door.moves.forget(client)
            case Import(client, state):
                self._arrived += self._door.arrive(client, state, now)
                self.pending = True
            case Discard(client, taken_over):
                self._door.discard(client, now, taken_over=taken_over)
            case Refer(broker, door):
                self._door.moves.refer(door if broker else None)
            case Ended():
                self.ended.set()

    def _thaw(self, client: str, now: float) -> None:
        if (thawed := self._door.moves.thaw(client, now)) is not None:
            self._thawed.append(thawed)
            self.pending = True

    def give(self, broker: Broker, perform: Callable[[Iterable[Effect], float], None], now: float) -> None:
        """Give the core what is there for it, one after the other, and perform what it answers."""
        for given in self._take(now):
            perform(broker.handle(given, now), now)

    def _take(self, now: float) -> Iterator[Exported | Command]:
        yield from self._door.moods.take()
        arrived, self._arrived = self._arrived, []
        yield from arrived
        thawed, self._thawed = self._thawed, []
        for conn, data in thawed:
            yield from self._door.received(conn, data, now)
            self._hear(conn, True)
        for client, state in self._door.moves.ready(now):
            yield Exported(client, state)
        for conn in self._door.moves.overfull():
            self._hear(conn, False)
        self.pending = self._door.moves.leaving or bool(self._thawed)

    def _hear(self, conn: int, ready: bool) -> None:
        if (protocol := self._clients.get(conn)) is not None:
            protocol.hear(ready)
