"""A drain in a whole network: all sessions arrive, the tree is one less, and a crash at any moment costs no more."""

from __future__ import annotations

import pytest

from reknit.core.broker import BrokerOptions
from reknit.core.routing.strategies import RoutingName
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.sim.checkers.delivery import Tally, check_delivery
from reknit.sim.checkers.order import check_order
from reknit.sim.checkers.sessions import check_sessions
from reknit.sim.checkers.tables import check_tables
from reknit.sim.checkers.tree import check_tree
from reknit.sim.cluster import Cluster
from reknit.sim.network import NetworkOptions
from reknit.trace.records import Kind

A = Pattern.parse("a/#")


def _network(routing: RoutingName = "subscription-forwarding") -> Cluster:
    options = BrokerOptions(routing=routing, observe=True, founded=True)
    cluster = Cluster([("b1", "b2"), ("b2", "b3")], options, NetworkOptions(), "drain")
    cluster.clients.take_s_max = 0.02
    cluster.start_all()
    for broker in cluster.nodes:
        for number in range(3):
            cluster.attach(broker, f"{broker}-c{number}", [A])
    assert cluster.settle(20.0)
    return cluster


def _publish_for(cluster: Cluster, seconds: float) -> None:
    """Every client that is served publishes all the time."""
    clients = [f"{broker}-c{number}" for broker in cluster.nodes for number in range(3)]
    count = int(seconds / 0.004)
    for at in range(count):
        cluster.kernel.after(at * seconds / count, _publish, cluster, clients[at % len(clients)])


def _publish(cluster: Cluster, client: str) -> None:
    for broker in cluster.nodes:
        if cluster.is_alive(broker) and cluster.clients.is_served(broker, client):
            cluster.publish(broker, client, Event("a/b"))


def _judge(cluster: Cluster, routing: RoutingName = "subscription-forwarding") -> Tally:
    tally = Tally()
    found = [
        *check_delivery(cluster.records, tally),
        *check_order(cluster.records),
        *check_tree(cluster.records),
        *check_sessions(cluster.records),
        *check_tables(cluster.records, routing, False),
    ]
    assert [str(each) for each in found] == []
    return tally


@pytest.mark.parametrize("routing", ["subscription-forwarding", "global-table", "flooding"])
def test_all_sessions_arrive_and_the_broker_is_gone(routing: RoutingName) -> None:
    cluster = _network(routing)
    _publish_for(cluster, 0.4)
    cluster.kernel.run(until=cluster.kernel.now + 0.1)
    request = cluster.drain("b3")
    assert cluster.settle(20.0)
    assert cluster.replies[request] == ""
    assert cluster.nodes["b3"].gone
    assert cluster.nodes["b3"].heir == "b2"
    assert cluster.nodes["b2"].broker is not None
    assert cluster.nodes["b2"].broker.table()["clients"] == [f"{b}-c{n}" for b in ("b2", "b3") for n in range(3)]
    assert sum(record.kind is Kind.MOVED_OUT for record in cluster.records) == 3
    _publish_for(cluster, 0.1)
    assert cluster.settle(20.0)
    assert _judge(cluster, routing).owed > 500


def _moments() -> list[float]:
    """When any broker handles an input, from the command to the end of a quiet drain."""
    cluster = _network()
    times: dict[float, None] = {}
    handle = cluster._handle
    cluster._handle = lambda node, given: (times.update({cluster.kernel.now: None}), handle(node, given))  # type: ignore[method-assign]
    start = cluster.kernel.now
    cluster.drain("b3")
    while not cluster.nodes["b3"].gone:
        cluster.kernel.run(until=cluster.kernel.now + 0.001)
    return [at - start for at in times]


MOMENTS = _moments()


@pytest.mark.parametrize("victim", ["b2", "b3"])
@pytest.mark.parametrize("moment", range(len(MOMENTS)))
def test_a_crash_at_any_message_leaves_a_network_in_which_nobody_is_stuck(victim: str, moment: int) -> None:
    cluster = _network()
    _publish_for(cluster, 0.5)
    cluster.drain("b3")
    cluster.kernel.run(until=cluster.kernel.now + MOMENTS[moment] + 1e-6)
    cluster.crash(victim)
    cluster.kernel.run(until=cluster.kernel.now + 1.0)
    cluster.start(victim)
    assert cluster.settle(60.0), cluster.restlessness()
    _publish_for(cluster, 0.1)
    assert cluster.settle(20.0), cluster.restlessness()
    _judge(cluster)
    if victim == "b2":  # b3 goes on with what it has, and ends
        assert cluster.nodes["b3"].gone


def test_sessions_that_b2_had_not_taken_when_it_died_lose_nothing() -> None:
    """b2 dies when it has opened the sessions, and before it has any of them whole."""
    cluster = _network()
    _publish_for(cluster, 0.5)
    cluster.drain("b3")
    kinds = (Kind.MOVING, Kind.MOVED_IN)
    while not any(record.kind in kinds for record in cluster.records):
        cluster.kernel.run(until=cluster.kernel.now + 0.001)
    assert not any(record.kind is Kind.MOVED_IN for record in cluster.records)
    cluster.crash("b2")
    cluster.kernel.run(until=cluster.kernel.now + 0.5)
    cluster.start("b2")
    assert cluster.settle(60.0), cluster.restlessness()
    assert cluster.nodes["b3"].gone
    took: dict[str, list[tuple[str, int]]] = {}
    for record in cluster.records:
        if record.kind is Kind.TAKEN and record.event is not None:
            took.setdefault(record.client, []).append(record.event.id)
    moved = [took[f"b3-c{number}"] for number in range(3)]
    assert moved[0] == moved[1] == moved[2]
    _judge(cluster)
