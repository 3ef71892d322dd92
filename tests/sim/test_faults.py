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


def test_without_options_nothing_happens() -> None:
    cluster = _cluster()
    waiting = len(cluster.kernel)
    Faults(cluster, FaultOptions(), random.Random(3), {}).schedule(60.0)
    assert len(cluster.kernel) == waiting
