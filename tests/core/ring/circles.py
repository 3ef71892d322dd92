"""Small rings of whole brokers in virtual time, through the real codec."""

from __future__ import annotations

from typing import Any

from reknit.core.options import BrokerOptions
from reknit.core.ring.options import RingOptions
from reknit.core.ring_broker import RingBroker
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.sim.cluster import Cluster
from reknit.sim.network import NetworkOptions
from reknit.trace.records import Kind
from reknit.wire.planes import Place

__all__ = ["Ring", "grown"]


class Ring(Cluster):
    def __init__(self, seed: str = "1", **options: Any) -> None:
        settings = BrokerOptions(routing="rendezvous", observe=True, ring=RingOptions(**options))
        super().__init__([], settings, NetworkOptions(), seed)

    def come(self, name: str, *contacts: str) -> None:
        self.add_node(name)
        self.nodes[name].neighbours = {each: each for each in contacts}
        self.start(name)

    def run(self, seconds: float) -> None:
        self.kernel.run(until=self.kernel.now + seconds)

    def broker(self, name: str) -> RingBroker:
        broker = self.nodes[name].broker
        assert isinstance(broker, RingBroker)
        return broker

    def wants(self, broker: str, client: str, *topics: str) -> None:
        self.attach(broker, client, [Pattern.parse(topic) for topic in topics])

    def says(self, broker: str, topic: str, payload: str, **attributes: Any) -> None:
        self.publish(broker, "someone", Event(topic, payload.encode(), attributes))

    def turned(self, *movers: str) -> list[Place]:
        """Where all are to be: each of the movers at the place of the next, the others where they are."""
        spots = {name: self.broker(name).ring.me for name in self.nodes if self.is_alive(name)}
        goals = dict(zip(movers, [spots[name][0] for name in movers[1:] + movers[:1]], strict=True))
        return [((goals.get(name, number), name, at), number) for number, name, at in spots.values()]

    def versions(self) -> set[int]:
        return {self.broker(name).ring.counts for name in self.nodes if self.is_alive(name)}

    def had(self, client: str) -> list[str]:
        """The payloads that were delivered to it, in their order."""
        return [
            record.event.payload.decode()
            for record in self.records
            if record.kind is Kind.DELIVERED and record.client == client and record.event is not None
        ]

    def count(self, kind: Kind) -> int:
        return sum(record.kind is kind for record in self.records)


def grown(count: int, **options: Any) -> Ring:
    """Brokers b1 and on, which know each other well."""
    ring = Ring(**options)
    for number in range(1, count + 1):
        ring.come(f"b{number}", *(["b1"] if number > 1 else []))
    ring.run(15.0)
    return ring
