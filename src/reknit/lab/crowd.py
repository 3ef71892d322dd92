"""A population on real brokers, in the simulator: its clients publish, and its links are listened to.

Each link has a latency of its own, which it keeps. What arrives over links is counted by kind, in the bytes in which it
was sent. Whether a copy of an event was of any use is read from the trace: it was, if the broker that it came to had
somebody to give it to.

Owns: setting up, publishing, listening. Must not know: what is changed meanwhile, or what an experiment is after.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

from reknit.core.io import Input, Received
from reknit.core.routing.strategies import RoutingName
from reknit.lab.population import Population, draw_cell, event_of, latencies, pattern_of
from reknit.lab.scenarios import NotSettled, quiet_options
from reknit.model.event import EventId
from reknit.sim.cluster import Cluster
from reknit.sim.network import NetworkOptions
from reknit.trace.records import Kind, Record
from reknit.wire.codec import encode
from reknit.wire.messages import Data, Frame, Steered

__all__ = ["Crowd", "Heard", "Needless", "needless_copies"]

COMING_S = 0.2
"""Between two clients that come: what one wants has been told to nearly all before the next comes."""
COMING_MAX = 256
"""Subscriptions that come at once: all brokers meet them while what was read of them is still at hand."""
SETTLE_S_MAX = 600.0
STEP_S = 0.001

_READER: msgspec.msgpack.Decoder[Frame] = msgspec.msgpack.Decoder(Frame)
"""Without the checks, which the broker makes that the frame is for: they would take longer than all else here."""


@dataclass(slots=True)
class Heard:
    """What has arrived over links, by the kind of the message."""

    messages: Counter[str] = field(default_factory=Counter)
    sizes: Counter[str] = field(default_factory=Counter)
    """In bytes."""

    def hear(self, frame: bytes) -> None:
        """Of events that are steered, what that takes besides the events."""
        data = _READER.decode(frame)
        if isinstance(data, Data):
            for message in data.messages:
                kind = type(message).__name__
                self.messages[kind] += 1
                self.sizes[kind] += len(encode(message))
                if isinstance(message, Steered):
                    self.sizes[kind] -= sum(len(encode(event)) for event in message.events)

    def clear(self) -> None:
        self.messages.clear()
        self.sizes.clear()


class Crowd:
    def __init__(self, population: Population, routing: RoutingName, seed: str) -> None:
        self.population = population
        self.cluster = Cluster(population.edges, quiet_options(routing), NetworkOptions(), seed)
        self.cluster.network.latency_of = latencies(seed)
        self.cluster.clients.moved = self._moved
        self.rng = random.Random(f"{seed}/crowd")
        self.heard = Heard()
        self.homes = dict(population.homes)
        self.published = 0
        self._publishing = False
        self.cluster.start_all()
        for client in self.homes:
            self._come(client)
        self.settle()
        self.cluster.network.give = self._overhear

    def _come(self, client: str) -> None:
        kinds = self.population.kinds
        patterns = [pattern_of(kind, kinds) for kind in self.population.wants[client]]
        self.cluster.attach(self.homes[client], client, patterns[:COMING_MAX])
        self.run(COMING_S)
        for start in range(COMING_MAX, len(patterns), COMING_MAX):
            self.cluster.subscribe(self.homes[client], client, *patterns[start : start + COMING_MAX])
            self.run(COMING_S)

    def _moved(self, client: str, _: str, broker: str) -> None:
        self.homes[client] = broker

    def _overhear(self, node: str, given: Input) -> None:
        if isinstance(given, Received):
            self.heard.hear(given.frame)
        self.cluster.give(node, given)

    # --- time

    @property
    def now(self) -> float:
        return self.cluster.kernel.now

    def run(self, span_s: float) -> None:
        self.cluster.kernel.run(until=self.now + span_s)

    def await_reply(self, request: int) -> None:
        """Until the operator hears of it. An error is one of the experiment."""
        limit = self.now + SETTLE_S_MAX
        while request not in self.cluster.replies and self.now < limit:
            self.run(STEP_S)
        if error := self.cluster.replies.get(request, "there was no reply"):
            raise NotSettled(error)

    def settle(self) -> None:
        if not self.cluster.settle(SETTLE_S_MAX):
            raise NotSettled(self.cluster.restlessness())
        self.settle_books()

    def settle_books(self) -> None:
        """What was counted and seen so far belongs to the past."""
        self.cluster.records.clear()
        self.heard.clear()

    # --- publications

    def publish_every(self, period_s: float) -> None:
        """Each client publishes once in a period, from some moment of the first one on."""
        self._publishing = True
        for client in self.homes:
            self.cluster.kernel.after(self.rng.uniform(0, period_s), self._publish, client, period_s)

    def publish_no_more(self) -> None:
        self._publishing = False

    def _publish(self, client: str, period_s: float) -> None:
        if not self._publishing:
            return
        self.cluster.kernel.after(period_s, self._publish, client, period_s)
        broker = self.homes[client]
        if self.cluster.clients.is_served(broker, client):
            self.published += 1
            event = event_of(draw_cell(self.population.kinds, self.rng))
            self.cluster.publish(broker, client, event)


@dataclass(frozen=True, slots=True)
class Needless:
    copies: int
    bytes: int


def needless_copies(records: Iterable[Record]) -> Needless:
    """Copies of events that came to a broker which had nobody to give them to, or had had one before."""
    came: Counter[tuple[EventId, str]] = Counter()
    used: dict[tuple[EventId, str], None] = {}
    sizes: dict[EventId, int] = {}
    for record in records:
        if record.event is None:
            continue
        if record.kind is Kind.FORWARDED:
            came[record.event.id, record.peer] += 1
            used[record.event.id, record.node] = None
            sizes[record.event.id] = len(encode(record.event))
        elif record.kind is Kind.DELIVERED:
            used[record.event.id, record.node] = None
    extra = [(event, count - ((event, node) in used)) for (event, node), count in came.items()]
    return Needless(sum(count for _, count in extra), sum(sizes[event] * count for event, count in extra))
