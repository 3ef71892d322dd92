"""Subscriptions that come while a link is swapped: they wait for the tables that travel, and for nothing before."""

from __future__ import annotations

import pytest

from reknit.core.options import BrokerOptions
from reknit.core.routing.strategies import RoutingName
from reknit.model.pattern import Pattern
from reknit.sim.cluster import Cluster
from reknit.sim.network import NetworkOptions

HOP_S = 0.1
STEP_S = HOP_S / 10
EDGES = [("x", "a"), ("a", "b"), ("b", "y"), ("b", "c"), ("c", "z")]
P = Pattern.parse("t")

ALL = pytest.mark.parametrize(
    ("routing", "covering"),
    [("subscription-forwarding", False), ("subscription-forwarding", True), ("global-table", False)],
)


def world(routing: RoutingName, covering: bool) -> Cluster:
    """x behind the mover, y behind the middle, z behind the goal; every hop takes as long."""
    cluster = Cluster(EDGES, BrokerOptions(routing=routing, covering=covering, founded=True), NetworkOptions(), "1")
    cluster.network.latency_of = lambda one, other: HOP_S
    cluster.start_all()
    assert cluster.settle(30.0)
    return cluster


def knows(cluster: Cluster, name: str) -> bool:
    broker = cluster.nodes[name].broker
    assert broker is not None
    return P in broker.routing.table.patterns()


def run_until(cluster: Cluster, name: str, known: bool) -> float:
    """How long it takes until this broker knows of the pattern, or not any more."""
    begun = cluster.kernel.now
    while knows(cluster, name) is not known:
        cluster.kernel.run(until=cluster.kernel.now + STEP_S)
        assert cluster.kernel.now < begun + 30.0
    return cluster.kernel.now - begun


@ALL
@pytest.mark.parametrize("at", ["x", "y", "z"])
def test_until_the_tables_travel_a_subscription_goes_its_way_as_ever(
    routing: RoutingName, covering: bool, at: str
) -> None:
    for other in sorted({"x", "y", "z"} - {at}):
        calm = world(routing, covering)
        calm.attach(at, "k", [P])
        usual = run_until(calm, other, known=True)
        for hops in range(6):  # two locks, the new link, and half of the way of lockAck
            cluster = world(routing, covering)
            cluster.swap("a", "b", "c")
            cluster.kernel.run(until=cluster.kernel.now + hops * HOP_S)
            cluster.attach(at, "k", [P])
            assert run_until(cluster, other, known=True) == pytest.approx(usual, abs=STEP_S), (other, hops)


@ALL
@pytest.mark.parametrize("at", ["x", "y", "z"])
def test_at_whatever_moment_it_comes_or_goes_all_know_it_in_the_end(
    routing: RoutingName, covering: bool, at: str
) -> None:
    for half in range(8, 24):  # before and after that there is nothing to wait for
        for before in (False, True):
            cluster = world(routing, covering)
            cluster.attach(at, "k", [P] if before else [])
            assert cluster.settle(30.0)
            request = cluster.swap("a", "b", "c")
            cluster.kernel.run(until=cluster.kernel.now + half * HOP_S / 2)
            (cluster.unsubscribe if before else cluster.subscribe)(at, "k", P)
            assert cluster.settle(30.0)
            assert cluster.replies[request] == ""
            assert [knows(cluster, name) for name in "abcxyz"] == [not before] * 6, (half, before)
