"""A broker that is struck crashes, is paused or is cut off, and that is over after a while; each is seen."""

from __future__ import annotations

import random

from reknit.core.options import BrokerOptions
from reknit.sim.cluster import Cluster
from reknit.sim.network import NetworkOptions
from reknit.sim.strikes import Strikes
from reknit.trace.records import Kind

LINE = [("b1", "b2"), ("b2", "b3"), ("b3", "b4")]


def _cluster() -> Cluster:
    cluster = Cluster(LINE, BrokerOptions(observe=True, founded=True, gate_s_max=1000.0), NetworkOptions(), "strikes")
    cluster.start_all()
    assert cluster.settle(30.0)
    return cluster


def _strikes(crashing: bool) -> dict[Kind, int]:
    seen: dict[Kind, int] = {}
    for seed in range(20):
        cluster, counts, back = _cluster(), dict[str, int](), list[str]()
        strikes = Strikes(cluster, random.Random(seed), counts)
        strikes.crashing = crashing
        strikes.back = lambda back=back: back.append("")  # type: ignore[misc]
        before = len(cluster.records)
        strikes.strike("b2", ("b1",))
        [kind] = {record.kind for record in cluster.records[before:]}
        assert list(counts.values()) == [1]
        assert cluster.is_alive("b2") == (kind is not Kind.CRASHED)
        assert cluster.nodes["b2"].paused == (kind is Kind.PAUSED)
        cluster.kernel.run(until=cluster.kernel.now + 20.0)
        assert cluster.is_alive("b2")
        assert not cluster.nodes["b2"].paused
        assert bool(back) == (kind is Kind.CRASHED)
        assert cluster.settle(60.0)
        cuts = [(record.node, record.peer) for record in cluster.records if record.kind is Kind.CUT]
        assert cuts == ([("b2", "b1"), ("b1", "b2")] if kind is Kind.CUT else [])
        seen[kind] = seen.get(kind, 0) + 1
    return seen


def test_all_three_happen() -> None:
    assert set(_strikes(crashing=True)) == {Kind.CRASHED, Kind.PAUSED, Kind.CUT}


def test_where_no_broker_may_crash_none_does() -> None:
    assert set(_strikes(crashing=False)) == {Kind.PAUSED, Kind.CUT}


def test_who_is_dead_is_not_struck() -> None:
    cluster, counts = _cluster(), dict[str, int]()
    cluster.crash("b2")
    Strikes(cluster, random.Random(1), counts).strike("b2")
    assert counts == {}
