"""Faults as named options: each happens, is counted, and is undone by ``heal``."""

from __future__ import annotations

import random

import pytest

from reknit.core.broker import BrokerOptions
from reknit.sim.cluster import Cluster
from reknit.sim.faults import FaultOptions, Faults
from reknit.sim.network import NetworkOptions
from reknit.trace.records import Kind


def _cluster() -> Cluster:
    options = BrokerOptions(observe=True, founded=True, gate_s_max=1000.0)
    cluster = Cluster([("b1", "b2"), ("b2", "b3")], options, NetworkOptions(), "faults")
    cluster.start_all()
    assert cluster.settle(30.0)
    return cluster


@pytest.mark.parametrize(
    ("option", "name"),
    [
        ("breaks", "break"),
        ("partitions", "partition"),
        ("asymmetric", "asymmetric"),
        ("crashes", "crash"),
        ("pauses", "pause"),
    ],
)
def test_each_fault_happens_is_counted_and_heals(option: str, name: str) -> None:
    cluster = _cluster()
    counts: dict[str, int] = {}
    faults = Faults(cluster, FaultOptions(**{option: 10.0}, span_s_max=20.0), random.Random(3), counts)
    faults.schedule(20.0)
    before = len(cluster.records)
    cluster.kernel.run(until=cluster.kernel.now + 20.0)
    assert list(counts) == [name]
    assert counts[name] > 1
    assert any(record.kind is Kind.LINK_DOWN for record in cluster.records[before:])
    faults.heal()
    assert cluster.settle(120.0), cluster.restlessness()


def test_after_healing_nothing_more_happens() -> None:
    cluster = _cluster()
    counts: dict[str, int] = {}
    faults = Faults(cluster, FaultOptions(breaks=60.0, crashes=60.0), random.Random(3), counts)
    faults.schedule(10.0)
    faults.heal()
    cluster.kernel.run(until=cluster.kernel.now + 20.0)
    assert counts == {}


def _reaches(cluster: Cluster, one: str, other: str) -> bool:
    return not cluster.network._cut(one, other)


def test_the_end_of_a_cut_heals_no_other() -> None:
    cluster = _cluster()
    faults = Faults(cluster, FaultOptions(partitions=1.0), random.Random(3), {})
    spans = iter((1.0, 2.0, 3.0))
    faults._span = lambda: next(spans)  # type: ignore[method-assign]
    faults._cut(("b1", "b2"), ("b2", "b1"))
    faults._cut(("b2", "b3"))
    faults._cut(("b1", "b2"))
    pairs = (("b1", "b2"), ("b2", "b1"), ("b2", "b3"), ("b3", "b2"))
    start, seen = cluster.kernel.now, []
    for passed in (0.5, 1.5, 2.5, 3.5):
        cluster.kernel.run(until=start + passed)
        seen.append([_reaches(cluster, *pair) for pair in pairs])
    assert seen == [
        [False, False, False, True],
        [False, True, False, True],
        [False, True, True, True],
        [True, True, True, True],
    ]


def test_a_cut_that_ends_after_all_was_healed_leaves_the_next_round_alone() -> None:
    cluster = _cluster()
    first = Faults(cluster, FaultOptions(), random.Random(3), {})
    first._cut(("b1", "b2"))
    first.heal()
    cluster.network.cut("b1", "b2")
    cluster.kernel.run(until=cluster.kernel.now + 10.0)
    assert not _reaches(cluster, "b1", "b2")


def test_without_options_nothing_happens() -> None:
    cluster = _cluster()
    waiting = len(cluster.kernel)
    Faults(cluster, FaultOptions(), random.Random(3), {}).schedule(60.0)
    assert len(cluster.kernel) == waiting
