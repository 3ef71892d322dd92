"""Three brokers in a row, and what hangs on them: the smallest network in which a link can be swapped."""

from __future__ import annotations

from reknit.core.broker import BrokerOptions
from reknit.core.overlay.options import OverlayOptions
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.sim.cluster import Cluster
from reknit.sim.network import NetworkOptions
from reknit.trace.records import Kind, Record

__all__ = ["Triple", "edges"]


def edges(cluster: Cluster) -> list[tuple[str, str]]:
    pairs = {
        (min(name, peer), max(name, peer))
        for name, node in cluster.nodes.items()
        if node.broker is not None
        for peer in node.broker.links.of
    }
    return sorted(pairs)


class Triple(Cluster):
    """a - b - c, and x behind a, y behind b, z behind c; a client at each who wants everything under its own name."""

    def __init__(
        self, seed: str = "triple", latency_s_max: float = 0.02, causal: bool = True, **options: object
    ) -> None:
        overlay = OverlayOptions(causal=causal)
        settings = BrokerOptions(observe=True, founded=True, overlay=overlay, **options)  # type: ignore[arg-type]
        links = [("a", "b"), ("b", "c"), ("a", "x"), ("b", "y"), ("c", "z")]
        super().__init__(links, settings, NetworkOptions(latency_s_max=latency_s_max), seed)
        self.start_all()
        assert self.settle(30.0)
        for name in "abcxyz":
            self.attach(name, f"at-{name}", [Pattern.parse(f"{name}/#"), Pattern.parse("all/#")])
        assert self.settle(30.0)
        self.since = len(self.records)

    def say(self, broker: str, *topics: str) -> None:
        self.publish(broker, f"at-{broker}", *(Event(topic) for topic in topics))

    def later(self, delay: float, broker: str, *topics: str) -> None:
        self.kernel.after(delay, self.say, broker, *topics)

    def seen(self, kind: Kind) -> list[Record]:
        return [record for record in self.records[self.since :] if record.kind is kind]

    def heard(self, client: str) -> list[str]:
        """The topics that a client has got, in their order."""
        found = [record.event for record in self.seen(Kind.DELIVERED) if record.client == client]
        return [event.topic for event in found if event is not None]
