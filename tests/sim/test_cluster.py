"""A whole network in one process: lives, pauses, memory from one life to the next, and calm."""

from __future__ import annotations

import pytest

from reknit.core.broker import BrokerOptions
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.sim.cluster import Cluster, Runaway
from reknit.sim.network import NetworkOptions
from reknit.trace.records import Kind

A = Pattern.parse("a")


def _line(count: int = 3) -> Cluster:
    edges = [(f"b{number}", f"b{number + 1}") for number in range(1, count)]
    cluster = Cluster(edges, BrokerOptions(observe=True, founded=True), NetworkOptions(), "cluster")
    cluster.start_all()
    assert cluster.settle(30.0)
    return cluster


def _delivered(cluster: Cluster) -> list[tuple[str, str]]:
    return [(record.node, record.client) for record in cluster.records if record.kind is Kind.DELIVERED]


def test_an_event_crosses_the_network() -> None:
    cluster = _line()
    cluster.attach("b3", "cay", [A])
    assert cluster.settle(30.0)
    cluster.publish("b1", "pam", Event("a"))
    assert not cluster.is_calm()
    assert cluster.settle(30.0)
    assert _delivered(cluster) == [("b3", "cay")]
    assert [record.kind for record in cluster.records][-1] is Kind.CALM


def test_a_crash_loses_everything_but_the_neighbours() -> None:
    cluster = _line()
    cluster.attach("b2", "ben", [A])
    cluster.crash("b2")
    assert not cluster.is_alive("b2")
    assert not cluster.settle(3.0)
    assert "b2 is down" in cluster.restlessness()
    cluster.start("b2")
    assert cluster.settle(30.0)
    broker = cluster.nodes["b2"].broker
    assert broker is not None
    assert sorted(broker.table()["neighbours"]) == ["b1", "b3"]
    assert broker.table()["clients"] == []
    assert broker.source != "b2.1"
    assert [record.node for record in cluster.records if record.kind is Kind.CRASHED] == ["b2"]


def test_a_paused_broker_handles_nothing_and_then_all_of_it() -> None:
    cluster = _line(2)
    cluster.attach("b2", "ben", [A])
    assert cluster.settle(30.0)
    cluster.pause("b2")
    cluster.publish("b1", "pam", Event("a"), Event("a"))
    cluster.kernel.run(until=cluster.kernel.now + 1.0)
    assert _delivered(cluster) == []
    assert "b2 is paused" in cluster.restlessness()
    cluster.resume("b2")
    assert _delivered(cluster) == [("b2", "ben")] * 2


def test_links_that_are_added_and_removed_are_remembered_by_the_next_life() -> None:
    cluster = _line(2)
    cluster.add_node("b3")
    cluster.start("b3")
    added = cluster.add_link("b3", "b1")
    assert cluster.settle(30.0)
    removed = cluster.remove_link("b1", "b2")
    assert cluster.settle(30.0)
    assert cluster.replies == {added: "", removed: ""}
    cluster.crash("b1")
    cluster.start("b1")
    assert cluster.settle(30.0)
    assert list(cluster.nodes["b1"].links) == ["b3"]
    broker = cluster.nodes["b1"].broker
    assert broker is not None
    assert list(broker.table()["neighbours"]) == ["b3"]


def test_a_reaction_sees_each_delivery() -> None:
    cluster = _line(2)
    seen: list[tuple[str, str, str]] = []
    cluster.clients.took = lambda broker, client, event: seen.append((broker, client, event.topic))
    cluster.attach("b1", "ann", [A])
    cluster.attach("b2", "ben", [A])
    cluster.detach("b1", "ann")
    assert cluster.settle(30.0)
    cluster.publish("b1", "pam", Event("a"))
    assert cluster.settle(30.0)
    assert seen == [("b2", "ben", "a")]
    cluster.unsubscribe("b2", "ben", A)
    cluster.publish("b2", "pam", Event("a"))
    cluster.subscribe("b2", "ben", A)
    cluster.publish("b2", "pam", Event("a"))
    assert seen == [("b2", "ben", "a")] * 2


def test_a_run_without_end_is_ended() -> None:
    cluster = _line(2)
    cluster.steps_max = cluster.steps + 50
    with pytest.raises(Runaway, match="there is no end"):
        cluster.kernel.run(until=1_000.0)  # heartbeats alone are more
