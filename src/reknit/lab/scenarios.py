"""Networks to measure: the real core in the simulator, without faults and without idle chatter.

A network here settles before it is measured and between the phases of a measurement, so what is counted belongs to the
phase. The trace says what brokers saw; what a trace does not hold (which messages a link carried) is read from the
wire, by listening to the frames that arrive. Nothing is asked of a broker itself.

Owns: how a quiet network is set up, brought to rest and listened to. Must not know: what an experiment is after.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from reknit.core.broker import BrokerOptions
from reknit.core.io import Input, Received
from reknit.core.links.options import LinkOptions
from reknit.core.overlay.shapes import Edge, adjacency, names, shape_edges
from reknit.core.routing.strategies import RoutingName
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.sim.cluster import Cluster
from reknit.sim.network import NetworkOptions
from reknit.trace.records import Kind, Record
from reknit.wire.codec import decode
from reknit.wire.messages import Data, Known, Message, Sub, Unsub

__all__ = ["Ear", "NotSettled", "QuietNetwork", "count_kinds", "quiet_options", "tree_of"]

HEARTBEAT_S = 3_600.0
"""Longer than any measurement, so that idle links say nothing and cost no time."""

SETTLE_S_MAX = 600.0
STEP_S = 0.05
"""Between two inputs: longer than a hop takes, shorter than a wave through a large tree, so that waves do meet."""


class NotSettled(Exception):
    """The network did not come to rest, so that nothing can be said about it."""


def tree_of(shape: str, brokers: int, rng: random.Random) -> tuple[list[str], list[Edge]]:
    """The brokers and the links between them."""
    members = names(brokers)
    return members, shape_edges(shape, members, rng)


def quiet_options(routing: RoutingName, covering: bool = False) -> BrokerOptions:
    links = LinkOptions(heartbeat_s=HEARTBEAT_S, silence_s_max=2 * HEARTBEAT_S, progress_s_max=2 * HEARTBEAT_S)
    return BrokerOptions(routing=routing, covering=covering, observe=True, founded=True, links=links)


@dataclass(slots=True)
class Ear:
    """What has arrived over links about subscriptions."""

    subscription_messages: int = 0
    """One for each pattern and link: subscribed, unsubscribed or made known."""
    known: dict[tuple[str, str, Pattern], None] = field(default_factory=dict)
    """Under complete knowledge: (broker, origin, pattern), what each broker has to remember of each other."""

    def hear(self, node: str, message: Message) -> None:
        if isinstance(message, Sub | Unsub):
            self.subscription_messages += len(message.patterns)
        elif isinstance(message, Known):
            self.subscription_messages += len(message.added) + len(message.removed)
            self.known.update(((node, message.origin, pattern), None) for pattern in message.added)
            for pattern in message.removed:
                self.known.pop((node, message.origin, pattern), None)


class QuietNetwork:
    """A network at rest, to be subscribed and published to."""

    def __init__(self, edges: Iterable[Edge], options: BrokerOptions, seed: str) -> None:
        links = list(edges)
        self.neighbours = adjacency(links)
        self.cluster = Cluster(links, options, NetworkOptions(), seed)
        self.ear = Ear()
        self.cluster.network.give = self._overhear
        self.cluster.start_all()
        self.settle()

    @property
    def records(self) -> list[Record]:
        return self.cluster.records

    @property
    def link_bytes(self) -> int:
        """All bytes that links have carried so far: events, subscriptions, acknowledgements, greetings."""
        return self.cluster.network.traffic.bytes

    def subscribe(self, broker: str, client: str, *patterns: Pattern) -> None:
        self.cluster.attach(broker, client, patterns)
        self._step()

    def publish(self, broker: str, client: str, event: Event) -> None:
        self.cluster.publish(broker, client, event)
        self._step()

    def settle(self) -> None:
        if not self.cluster.settle(SETTLE_S_MAX):
            raise NotSettled(self.cluster.restlessness())

    def _step(self) -> None:
        self.cluster.kernel.run(until=self.cluster.kernel.now + STEP_S)

    def _overhear(self, node: str, given: Input) -> None:
        if isinstance(given, Received):
            frame = decode(given.frame)
            if isinstance(frame, Data):
                for message in frame.messages:
                    self.ear.hear(node, message)
        self.cluster.give(node, given)


def count_kinds(records: Iterable[Record]) -> Counter[Kind]:
    return Counter(record.kind for record in records)
