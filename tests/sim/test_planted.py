"""The check sees: each planted bug is found within 1,000 schedules, by a checker; and without one nothing is found."""

from __future__ import annotations

import random

import pytest

from reknit.sim.schedule import Focus, run_seed
from tests.sim.planted import FOCUS, NEAR, ONLY, PLANTED

SEEDS_MAX = 1_000
LONG = (
    "ask-only-those-whom-the-algorithm-names",
    "count-what-waits-for-the-gate-as-seen",
    "effects-do-not-wait-for-their-causes",
    "forget-heartbeats-that-a-neighbour-has-forgotten",
    "forget-what-members-of-a-life-before-were-to-get",
    "serve-a-session-that-has-not-arrived",
    "the-goal-takes-the-movers-events-before-the-old-way-is-closed",
    "the-mover-takes-the-goals-events-before-the-old-way-is-closed",
    "two-swaps-at-once",
)
"""Those that take many schedules, or long ones."""


def test_there_are_at_least_twenty() -> None:
    assert len(PLANTED) >= 20
    assert [name for name in LONG if name not in PLANTED] == []


def test_each_checker_finds_a_bug_that_no_other_finds() -> None:
    assert sorted(set(ONLY.values())) == [
        "bounds",
        "delivery",
        "homes",
        "liveness",
        "order",
        "recovery",
        "sessions",
        "shares",
        "tables",
        "tree",
        "whole",
        "wishes",
    ]
    assert [name for name in ONLY if name not in PLANTED] == []


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long) if name in LONG else name for name in sorted(PLANTED)]
)
def test_a_planted_bug_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    PLANTED[name](monkeypatch)
    focus = FOCUS.get(name, "all")
    first = NEAR.get(name, 0)
    for seed in range(first, first + SEEDS_MAX):
        found = _found(seed, focus)
        if found:
            assert name not in ONLY or list(found) == [ONLY[name]]
            monkeypatch.undo()
            assert not _found(seed, focus), "it is no bug of ours that was found"
            return
    pytest.fail(f"{name} was not found in {SEEDS_MAX} schedules")


def _found(seed: int, focus: Focus) -> dict[str, None]:
    """The checkers that find something; a broker that fails is found by nobody, and seen all the same."""
    return dict.fromkeys(each.checker for each in run_seed(seed, focus).violations)


def test_without_a_bug_nothing_is_found() -> None:
    start = random.Random(2026).randrange(10_000, 100_000)
    for seed in range(start, start + 60):
        violations = run_seed(seed).violations
        assert not violations, f"reknit check --seed {seed}: {violations[0]}"
