"""Faults that fall on a chosen message of a replacement."""

from __future__ import annotations

import random

import msgspec
import pytest

from reknit.core.options import BrokerOptions
from reknit.sim.aims import Aims, kinds_for
from reknit.sim.cluster import Cluster
from reknit.sim.coverage import changes, crash_points
from reknit.sim.network import NetworkOptions
from reknit.sim.plans import Plan, draw
from reknit.sim.schedule import run
from reknit.trace.records import Kind

LINE = [("b1", "b2"), ("b2", "b3"), ("b3", "b4"), ("b4", "b5"), ("b5", "b6")]


def _plan(**fields: object) -> Plan:
    plan = draw(0, "crashes")
    return msgspec.structs.replace(plan, routing="subscription-forwarding", covering=False, **fields)


def _shot(seed: int, crashing: bool) -> tuple[Cluster, dict[str, int]]:
    cluster = Cluster(LINE, BrokerOptions(observe=True, founded=True, gate_s_max=1000.0), NetworkOptions(), "aims")
    cluster.start_all()
    assert cluster.settle(30.0)
    counts: dict[str, int] = {}
    aims = Aims(cluster, random.Random(seed), counts)
    crashes = 4.0 if crashing else 0.0
    faults = msgspec.structs.replace(draw(0, "crashes").faults, crashes=crashes)
    aims.schedule(_plan(faults=faults), lambda: None)
    cluster.kernel.run(until=cluster.kernel.now + 6.0)
    aims.stop()
    return cluster, counts


def test_the_victim_crashes_when_it_has_handled_the_message_and_comes_back() -> None:
    struck = 0
    for seed in range(20):
        cluster, counts = _shot(seed, crashing=True)
        assert sum(counts.values()) <= 1
        if counts.get("crash"):
            struck += 1
            found = changes(cluster.records)
            assert len([name for name in found if name.startswith("crash in")]) == 1
    assert struck >= 5


def test_where_no_broker_may_crash_none_does() -> None:
    seen: set[str] = set()
    for seed in range(12):
        cluster, counts = _shot(seed, crashing=False)
        assert not any(record.kind is Kind.CRASHED for record in cluster.records)
        seen |= set(counts)
    assert seen == {"pause", "partition"}


@pytest.mark.parametrize(
    ("routing", "covering", "notified", "kinds"),
    [
        ("subscription-forwarding", False, False, ["strawman", "deferred", "path", "path-batched"]),
        ("subscription-forwarding", False, True, ["strawman", "notified deferred", "path", "path-batched"]),
        ("subscription-forwarding", True, False, ["strawman", "deferred"]),
        ("global-table", False, True, ["strawman"]),
    ],
)
def test_only_what_routing_can_follow_is_drawn(routing: str, covering: bool, notified: bool, kinds: list[str]) -> None:
    plan = msgspec.structs.replace(draw(0, "crashes"), routing=routing, covering=covering, notified=notified)
    assert kinds_for(plan) == kinds


def test_a_schedule_ends_with_such_rounds_and_begins_as_without_them() -> None:
    plan = draw(4, "crashes")
    assert plan.aims
    outcome, without = run(plan), run(msgspec.structs.replace(plan, aims=0))
    calms = [at for at, record in enumerate(without.records) if record.kind is Kind.CALM]
    before = calms[plan.rounds]  # the first is that of the start
    assert outcome.records[: before + 1] == without.records[: before + 1]
    assert len(outcome.records) > len(without.records)
    assert not outcome.violations


def test_few_schedules_reach_crash_points_of_every_strategy() -> None:
    found: set[str] = set()
    for seed in range(30):
        found |= set(changes(run(draw(seed, "crashes")).records))
    points = {
        kind: [step for step in crash_points(kind) if f"crash in a {kind}: after {step}" in found]
        for kind in ("path", "path-batched", "deferred", "strawman")
    }
    assert all(points.values()), points
    assert sum(map(len, points.values())) >= 15, points
