"""Why the goal hears 12 only behind 10: what follows it bears no stamp, and may answer what is still on its way."""

from __future__ import annotations

from reknit.core.options import BrokerOptions
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.sim.cluster import Cluster
from reknit.sim.network import NetworkOptions
from reknit.trace.records import Kind

EDGES = [("x", "a"), ("a", "b"), ("b", "y"), ("b", "c"), ("c", "z")]


def latency(one: str, other: str) -> float:
    """The middle and the goal are far from each other."""
    return 0.5 if {one, other} == {"b", "c"} else 0.02


def test_an_answer_behind_the_last_close_of_the_mover_comes_after_its_cause() -> None:
    cluster = Cluster(EDGES, BrokerOptions(founded=True, observe=True), NetworkOptions(), "1")
    cluster.network.latency_of = latency
    cluster.start_all()
    cluster.attach("x", "at x", [Pattern.parse("cause")])
    cluster.attach("y", "at y")
    cluster.attach("z", "at z", [Pattern.parse("cause"), Pattern.parse("effect")])
    assert cluster.settle(30.0)

    def answer(node: str, client: str, event: Event) -> None:
        if client == "at x":
            cluster.publish(node, client, Event("effect"))

    cluster.clients.took = answer
    request = cluster.swap("a", "b", "c")
    while not any(
        record.kind is Kind.CHANGE and record.detail == "swap: swap at the goal" for record in cluster.records
    ):
        cluster.kernel.run(until=cluster.kernel.now + 0.001)
    cluster.kernel.run(until=cluster.kernel.now + 0.01)  # it goes by the middle just before close(ab)
    cluster.publish("y", "at y", Event("cause"))
    assert cluster.settle(30.0)
    assert cluster.replies[request] == ""
    came = [record for record in cluster.records if record.kind is Kind.DELIVERED and record.client == "at z"]
    assert [record.event.topic for record in came if record.event is not None] == ["cause", "effect"]
    moved = next(record.time for record in cluster.records if record.detail == "swap: end at the mover")
    answered = next(record.time for record in cluster.records if record.kind is Kind.PUBLISHED and record.node == "x")
    assert moved < answered < came[0].time
