"""Faults that fall on a chosen message of a swap, an add or a drain."""

from __future__ import annotations

import random
from collections.abc import Iterable

import msgspec
import pytest

from reknit.core.options import BrokerOptions
from reknit.sim.cluster import Cluster
from reknit.sim.coverage import changes
from reknit.sim.network import NetworkOptions
from reknit.sim.plans import TARGETED_S, draw
from reknit.sim.schedule import run
from reknit.sim.targets import AFTERWARDS, BROKERS_MIN, Targets
from reknit.trace.records import Kind

LINE = [("b1", "b2"), ("b2", "b3"), ("b3", "b4"), ("b4", "b5"), ("b5", "b6")]


class _Shot:
    def __init__(self, seed: int, crashing: bool, edges: Iterable[tuple[str, str]] = LINE) -> None:
        options = BrokerOptions(observe=True, founded=True, gate_s_max=1000.0)
        self.cluster = Cluster(edges, options, NetworkOptions(), "targets")
        self.cluster.start_all()
        assert self.cluster.settle(30.0)
        self.counts: dict[str, int] = {}
        self.new: list[str] = []
        self.targets = Targets(self.cluster, random.Random(seed), self.counts, self.new.extend)
        self.targets.schedule(TARGETED_S, crashing, lambda: None)
        self.cluster.kernel.run(until=self.cluster.kernel.now + TARGETED_S)
        self.targets.stop()

    def found(self) -> list[str]:
        return [name for name in changes(self.cluster.records) if not name.startswith("step of")]


def test_faults_fall_into_swaps_adds_and_drains() -> None:
    struck: set[str] = set()
    for seed in range(40):
        shot = _Shot(seed, crashing=True)
        struck |= {name.partition(":")[0] for name in shot.found()}
    assert struck >= {f"{fault} in a {kind}" for fault in ("crash", "pause", "cut") for kind in ("swap", "drain")}
    assert any(name.endswith("in an add") for name in struck)
    assert any(name.endswith("in a return") for name in struck)


def test_where_no_broker_may_crash_none_does() -> None:
    seen: set[str] = set()
    for seed in range(12):
        shot = _Shot(seed, crashing=False)
        assert not any(record.kind is Kind.CRASHED for record in shot.cluster.records)
        seen |= set(shot.counts)
    assert seen == {"pause", "partition"}


def test_new_brokers_get_clients_and_a_network_that_is_too_small_grows() -> None:
    for seed in range(12):
        shot = _Shot(seed, crashing=False, edges=LINE[:1])
        assert shot.new
        assert set(shot.new) <= set(shot.cluster.nodes)
        assert sum(not node.gone for node in shot.cluster.nodes.values()) >= BROKERS_MIN


def test_when_the_round_is_over_nothing_is_struck() -> None:
    shot = _Shot(3, crashing=True)
    before, records = dict(shot.counts), len(shot.cluster.records)
    shot.cluster.swap("b1", "b2", "b3")
    shot.cluster.kernel.run(until=shot.cluster.kernel.now + 20.0)
    assert shot.counts == before
    later = shot.cluster.records[records:]
    assert not any(record.kind in (Kind.CRASHED, Kind.PAUSED, Kind.CUT) for record in later)


@pytest.mark.parametrize("kind", sorted(AFTERWARDS))
def test_what_is_waited_for_after_a_fault_is_of_the_same_change(kind: str) -> None:
    kinds = {each.partition(": ")[0] for each in AFTERWARDS[kind]}
    assert kinds == ({"swap", "return"} if kind == "swap" else {kind})


def test_a_schedule_has_such_a_round_behind_all_others_and_begins_as_without_it() -> None:
    plan = draw(4, "crashes")
    assert plan.targets
    outcome, without = run(plan), run(msgspec.structs.replace(plan, targets=0))
    calms = [at for at, record in enumerate(without.records) if record.kind is Kind.CALM]
    before = calms[plan.rounds + plan.aims]  # the first is that of the start
    assert outcome.records[: before + 1] == without.records[: before + 1]
    assert len(outcome.records) > len(without.records)
    assert not outcome.violations


def test_few_schedules_reach_faults_of_every_kind_of_change() -> None:
    found: set[str] = set()
    for seed in range(40):
        found |= set(changes(run(draw(seed, "crashes")).records))
    struck = {kind: [name for name in found if f"in {kind}: " in name] for kind in ("a swap", "an add", "a drain")}
    struck = {kind: [name for name in names if not name.startswith("step")] for kind, names in struck.items()}
    assert len(struck["a swap"]) >= 20, sorted(struck["a swap"])
    assert len(struck["a drain"]) >= 10, sorted(struck["a drain"])
    assert len(struck["an add"]) >= 3, sorted(struck["an add"])
