"""Brokers and peers in one virtual time, with gateways between them.

Both worlds have their own clock, and take turns in small steps; whatever crosses does so between two steps.

Owns: the gateways, and the steps. Must not know: what is right.
"""

from __future__ import annotations

from collections.abc import Sequence

from reknit.community.io import Deliver
from reknit.community.options import PeerOptions
from reknit.core.broker import BrokerOptions
from reknit.core.io import Attach, Publish, Subscribe
from reknit.gateway.broker import MemberBroker
from reknit.gateway.gateway import Gateway, GatewayOptions
from reknit.model.event import Event
from reknit.sim.assembly import Assembly
from reknit.sim.cluster import Cluster
from reknit.sim.network import NetworkOptions
from reknit.trace.records import Kind, Record

__all__ = ["Junction"]

STEP_S = 0.01


class Junction:
    """``gateways``: by broker, of which topics it is a member. ``between``: the network of peers, if it is another."""

    def __init__(
        self,
        edges: Sequence[tuple[str, str]],
        gateways: dict[str, tuple[str, ...]],
        brokers: BrokerOptions,
        peers: PeerOptions,
        network: NetworkOptions,
        seed: str,
        assembly: type[Assembly] = Assembly,
        between: NetworkOptions | None = None,
    ) -> None:
        self.cluster = Cluster(edges, brokers, network, seed)
        self.cluster.kind = MemberBroker
        self.assembly = assembly(peers, between or network, seed)
        self._parents = peers.parents
        self.assembly.delivered = self._from_peers
        self.gateways: dict[str, Gateway] = {}
        self._topics = gateways
        self._aside: dict[str, list[Event]] = {}
        self.cluster.start_all()
        for name in gateways:
            self.open(name)

    @staticmethod
    def address(broker: str) -> str:
        """Of the peer beside it."""
        return f"at {broker}"

    # --- lives

    def open(self, name: str) -> None:
        """The gateway of a broker that lives begins."""
        broker = self.cluster.nodes[name].broker
        assert isinstance(broker, MemberBroker)
        options = GatewayOptions(self._topics[name], parents=self._parents)
        gateway = self.gateways[name] = Gateway(name, options, self.assembly.kernel.now)
        self._aside[name] = []
        broker.enter(gateway.client, self._aside[name])
        self.cluster.give(name, Attach(gateway.client))
        self.cluster.give(name, Subscribe(gateway.client, gateway.patterns()))
        known = self.assembly.alive()
        self.assembly.start(self.address(name), tuple(known[:1]))
        for join in gateway.joins():
            self.assembly.give(self.address(name), join)

    def crash(self, name: str) -> None:
        """A broker, and its gateway with it."""
        self.cluster.crash(name)
        self.assembly.crash(self.address(name))
        self.gateways.pop(name, None)

    # --- time

    def run(self, span_s: float) -> None:
        for _ in range(round(span_s / STEP_S)):
            self.cluster.kernel.run(until=self.cluster.kernel.now + STEP_S)
            self.assembly.run(STEP_S)
            for name, gateway in self.gateways.items():
                self._cross(name, gateway)

    def calm(self) -> None:
        self.assembly.records.append(Record(self.assembly.kernel.now, "", Kind.CALM))

    def records(self) -> list[Record]:
        """Of both worlds, in the order of time."""
        return sorted([*self.cluster.records, *self.assembly.records], key=lambda record: record.time)

    def _cross(self, name: str, gateway: Gateway) -> None:
        now = self.assembly.kernel.now
        aside = self._aside[name]
        events, aside[:] = list(aside), []
        for event in events:
            for given in gateway.take_from_brokers(event, now):
                self.assembly.give(self.address(name), given)
        if gateway.deadline() <= now:
            self._publish(name, gateway, gateway.due(now))

    def _from_peers(self, address: str, deliver: Deliver) -> None:
        name = address.removeprefix(self.address(""))
        gateway = self.gateways.get(name) if address == self.address(name) else None
        if gateway is not None:
            self._publish(name, gateway, gateway.take_from_peers(deliver.event, self.assembly.kernel.now))

    def _publish(self, name: str, gateway: Gateway, events: list[Event]) -> None:
        if events:
            self.cluster.give(name, Publish(gateway.client, events))
