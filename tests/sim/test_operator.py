"""The operator of a schedule asks for all kinds of changes, and for sensible ones mostly."""

from __future__ import annotations

import random

import pytest

from reknit.core.broker import BrokerOptions
from reknit.sim.cluster import Cluster
from reknit.sim.network import NetworkOptions
from reknit.sim.operator import STALE, Operator

EDGES = [("b1", "b2"), ("b2", "b3"), ("b3", "b4"), ("b3", "b5")]


def _network(seed: int) -> Cluster:
    cluster = Cluster(EDGES, BrokerOptions(founded=True), NetworkOptions(), str(seed))
    cluster.start_all()
    assert cluster.settle(30.0)
    return cluster


@pytest.mark.parametrize("deed", ["swap", "replace"])
def test_most_changes_are_done_and_the_tree_has_as_many_links_as_before(deed: str) -> None:
    done = 0
    for seed in range(20):
        cluster = _network(seed)
        operator = Operator(cluster, random.Random(seed))
        getattr(operator, deed)()
        assert cluster.settle(60.0), cluster.restlessness()
        done += list(cluster.replies.values()) == [""]
        assert sum(map(len, operator.links().values())) == 2 * len(EDGES)
    assert done >= 10


def test_links_come_and_go_and_whoever_is_dead_is_left_alone() -> None:
    cluster = _network(1)
    operator = Operator(cluster, random.Random(1))
    cluster.crash("b5")
    assert "b5" not in operator.links()
    for _ in range(12):
        operator.change_link()
        cluster.kernel.run(until=cluster.kernel.now + 1.0)
    refused = [error for error in cluster.replies.values() if error]
    assert len(cluster.replies) > len(refused) > 0


def test_links_to_one_that_has_left_are_removed_and_counted() -> None:
    cluster = _network(1)
    operator, counted = Operator(cluster, random.Random(1)), dict[str, int]()
    assert operator.clear_away(counted) == 0
    cluster.crash("b1")
    cluster.nodes["b1"].gone = True
    cluster.kernel.run(until=cluster.kernel.now + 1.0)
    assert not cluster.settle(20.0)
    assert operator.clear_away(counted) == 1
    assert cluster.settle(60.0)
    assert counted == {STALE: 1}
    assert operator.links()["b2"] == ["b3"]


def test_where_nobody_lives_nothing_is_asked_for() -> None:
    cluster = _network(1)
    for name in list(cluster.nodes):
        cluster.crash(name)
    operator = Operator(cluster, random.Random(1))
    for deed in (operator.change_link, operator.swap, operator.replace):
        deed()
    assert cluster.replies == {}
