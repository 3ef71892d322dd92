"""Many peers in virtual time: the very objects that run on sockets, over simulated datagrams.

Owns: peers by their addresses, their lives and alarms, what they have seen. Must not know: what a peer's words mean,
or what is right.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from math import inf

from reknit.community.io import Deliver, Due, Effect, Input, Join, Leave, Meet, Observe, Publish, Received, Send
from reknit.community.options import PeerOptions
from reknit.community.peer import Peer
from reknit.model.event import Event
from reknit.sim.datagrams import Datagrams
from reknit.sim.kernel import Kernel
from reknit.sim.network import NetworkOptions
from reknit.trace.records import Kind, Record

__all__ = ["Assembly", "Runaway"]


class Runaway(Exception):
    """The peers do not come to rest: they have handled more than they ever should have to."""


@dataclass(slots=True)
class _Place:
    """An address, and who lives there."""

    peer: Peer | None = None
    life: int = 0
    alarm_at: float = inf


class Assembly:
    """``delivered(peer, effect)`` is told of each delivery. ``steps_max``: inputs that all peers handle together."""

    def __init__(self, options: PeerOptions, network: NetworkOptions, seed: str, steps_max: float = inf) -> None:
        self.options = options
        self.kernel = Kernel()
        self.rng = random.Random(f"{seed}/peers")
        self.network = Datagrams(self.kernel, network, random.Random(f"{seed}/network"), self._arrive)
        self.places: dict[str, _Place] = {}
        self.records: list[Record] = []
        self.delivered: Callable[[str, Deliver], None] | None = None
        self.steps = 0
        self.steps_max = steps_max

    # --- lives

    def start(self, address: str, contacts: tuple[str, ...] = (), options: PeerOptions | None = None) -> Peer:
        """A peer begins a life at this address."""
        place = self.places.setdefault(address, _Place())
        place.life += 1
        place.alarm_at = inf
        chosen = self.options if options is None else options
        place.peer = Peer(address, chosen, self.rng, place.life, self.kernel.now)
        self.give(address, Meet(contacts))
        return place.peer

    def crash(self, address: str) -> None:
        place = self.places[address]
        if place.peer is not None:
            place.peer = None
            self.records.append(Record(self.kernel.now, address, Kind.CRASHED))

    def peer(self, address: str) -> Peer:
        peer = self.places[address].peer
        if peer is None:
            raise KeyError(f"nobody lives at {address}")
        return peer

    def alive(self) -> list[str]:
        return [address for address, place in self.places.items() if place.peer is not None]

    # --- what users do

    def join(self, address: str, topic: str, contacts: tuple[str, ...] = ()) -> None:
        self.give(address, Join(topic, contacts=contacts))

    def leave(self, address: str, topic: str) -> None:
        self.give(address, Leave(topic))

    def publish(self, address: str, topic: str, payload: bytes = b"") -> Event:
        event = Event(topic, payload)
        self.give(address, Publish(event))
        return event

    def run(self, span_s: float) -> None:
        self.kernel.run(until=self.kernel.now + span_s)

    # --- inside

    def give(self, address: str, given: Input) -> None:
        place = self.places.get(address)
        if place is None or place.peer is None:
            return
        self.steps += 1
        if self.steps > self.steps_max:
            raise Runaway(f"{self.steps_max:g} inputs were handled, and there is no end of it")
        peer = place.peer
        effects = peer.handle(given, self.kernel.now)
        if effects:
            self._perform(address, effects)
        at = peer.deadline()
        if at is not None and at != place.alarm_at:
            place.alarm_at = at
            self.kernel.at(at, self._ring, address, at, place.life)

    def _arrive(self, address: str, sender: str, frame: bytes) -> None:
        self.give(address, Received(sender, frame))

    def _ring(self, address: str, at: float, life: int) -> None:
        place = self.places[address]
        if place.alarm_at == at and place.life == life:
            place.alarm_at = inf
            self.give(address, Due())

    def _perform(self, address: str, effects: list[Effect]) -> None:
        send = self.network.send
        for effect in effects:
            if isinstance(effect, Send):
                send(address, effect.to, effect.frame)
            elif isinstance(effect, Observe):
                self.records.append(effect.record)
            elif self.delivered is not None:
                self.delivered(address, effect)
