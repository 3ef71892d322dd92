"""The check sees: each planted bug is found within 1,000 seeds, and without one nothing is found."""

from __future__ import annotations

import random

import pytest

from reknit.sim.schedule import run_seed
from tests.sim.planted import PLANTED

SEEDS_MAX = 1_000


def test_there_are_at_least_twenty() -> None:
    assert len(PLANTED) >= 20


@pytest.mark.parametrize("name", sorted(PLANTED))
def test_a_planted_bug_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    PLANTED[name](monkeypatch)
    for seed in range(SEEDS_MAX):
        try:
            if run_seed(seed).violations:
                return
        except (AssertionError, KeyError, RuntimeError):
            return  # the bug broke the protocol's own assertions: found as well
    pytest.fail(f"{name} was not found in {SEEDS_MAX} schedules")


def test_without_a_bug_nothing_is_found() -> None:
    start = random.Random(2026).randrange(10_000, 100_000)
    for seed in range(start, start + 60):
        violations = run_seed(seed).violations
        assert not violations, f"reknit check --seed {seed}: {violations[0]}"
