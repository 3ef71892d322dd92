"""Schedules of peers: clean as they are, and each planted bug is found by the checker that is there for it."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from zlib import crc32

import pytest

from reknit.community.peer import Peer
from reknit.sim.campaign import Report, run_campaign
from reknit.sim.gathering import GatheringPlan, draw_gathering, run_gathering_seed
from reknit.wire.peers import Gossip
from tests.sim.planted_in_peers import PLANTED

SEEDS_MAX = 10
TOGETHER = (101, 103, 107, 109)
"""Some that are quick."""


def test_the_seed_decides_everything() -> None:
    assert draw_gathering(4) == draw_gathering(4) != draw_gathering(5)
    one, other = run_gathering_seed(1), run_gathering_seed(1)
    assert one.records == other.records
    assert one.owed > 0


def test_some_are_crowds_for_which_the_theory_of_views_is() -> None:
    plans = [draw_gathering(seed) for seed in range(600)]
    crowds = [plan for plan in plans if plan.peers >= 20]
    assert 30 <= len(crowds) <= 70
    assert all(len(plan.topics) <= 2 and plan.beside is None for plan in crowds)
    assert len({plan.topic.membership for plan in crowds}) == 3


@cache
def _is_clean(seed: int) -> bool:
    """Asked once for all bugs that show in the same schedule."""
    return not run_gathering_seed(seed).violations


@pytest.mark.parametrize("name", sorted(PLANTED))
def test_a_planted_bug_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bug, checker, near = PLANTED[name]
    bug(monkeypatch)
    for seed in range(near, near + SEEDS_MAX):
        if checker in {each.checker for each in run_gathering_seed(seed).violations}:
            monkeypatch.undo()
            assert _is_clean(seed), "it is no bug of ours that was found"
            return
    pytest.fail(f"{name} was not found in {SEEDS_MAX} schedules")


def test_what_no_schedule_shows_by_itself_many_do_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """One event in sixteen is lost on its way to all but its publisher: each member misses two or three of forty."""
    original = Peer._take_gossip

    def take(self: Peer, sender: str, gossip: Gossip, vouched: bool = False) -> None:
        if crc32(f"{gossip.event.id}".encode()) % 16:
            original(self, sender, gossip, vouched)

    assert not _campaign().short()
    monkeypatch.setattr(Peer, "_take_gossip", take)
    assert "deliveries in calm" in _campaign().short()[0]


def _campaign() -> Report:
    report = Report()
    for result in run_campaign(TOGETHER, processes=1, focus="communities"):
        report.add(result)
    assert not report.violations
    return report


def _first(wanted: Callable[[GatheringPlan], bool]) -> int:
    start = random.Random(2027).randrange(10_000, 100_000)
    return next(seed for seed in range(start, start + 1000) if wanted(draw_gathering(seed)))


CLEAN: dict[str, Callable[[GatheringPlan], bool]] = {
    "scamp": lambda plan: plan.topic.membership == "scamp" and plan.crashes > 0,
    "semi-structured": lambda plan: plan.topic.membership == "semi-structured" and plan.peers < 10,
    "structured": lambda plan: plan.topic.membership == "structured" and plan.rounds == 2,
    "several parents": lambda plan: bool(plan.parents) and plan.several > 0,
    "a crowd": lambda plan: plan.peers >= 20 and plan.topic.membership == "scamp",
    "gateways that crash": lambda plan: plan.beside is not None and plan.beside.crashes > 0,
}
"""One schedule of each kind that is drawn."""


@pytest.mark.parametrize("kind", CLEAN)
def test_without_a_bug_nothing_is_found(kind: str) -> None:
    seed = _first(CLEAN[kind])
    violations = run_gathering_seed(seed).violations
    assert not violations, f"reknit check --focus communities --seed {seed}: {violations[0]}"


def test_who_is_lost_is_not_sent_to_those_who_came_through_it() -> None:
    """Its contact died at once; two came through it, and one of them was named to it: three who know of nobody else."""
    assert _is_clean(3000459)
