"""Schedules of brokers on a ring: clean as they are, and each planted bug is found by its checker."""

from __future__ import annotations

import random
from functools import cache

import msgspec
import pytest

from reknit.sim.circle import draw_circle, run_circle_seed
from reknit.trace.records import Kind
from tests.sim.planted_in_rings import PLANTED

SEEDS_MAX = 20


def test_the_seed_decides_everything() -> None:
    assert draw_circle(4) == draw_circle(4) != draw_circle(5)
    one, other = run_circle_seed(13), run_circle_seed(13)
    assert msgspec.msgpack.encode(one.records) == msgspec.msgpack.encode(other.records)
    assert one.tally.owed > 0


@cache
def _is_clean(seed: int) -> bool:
    """Asked once for all bugs that show in the same schedule."""
    return not run_circle_seed(seed).violations


@pytest.mark.parametrize("name", sorted(PLANTED))
def test_a_planted_bug_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bug, checker, near = PLANTED[name]
    bug(monkeypatch)
    for seed in range(near, near + SEEDS_MAX):
        if checker in {each.checker for each in run_circle_seed(seed).violations}:
            monkeypatch.undo()
            assert _is_clean(seed), "it is no bug of ours that was found"
            return
    pytest.fail(f"{name} was not found in {SEEDS_MAX} schedules")


def test_without_a_bug_nothing_is_found_and_much_has_happened() -> None:
    start = random.Random(2027).randrange(10_000, 100_000)
    kinds: dict[Kind, None] = {}
    for seed in range(start, start + 4):
        outcome = run_circle_seed(seed)
        assert not outcome.violations, f"reknit check --focus ring --seed {seed}: {outcome.violations[0]}"
        kinds.update(dict.fromkeys(record.kind for record in outcome.records))
    assert {Kind.ROUTE_ADDED, Kind.ROUTE_REMOVED, Kind.PLACED, Kind.SETTLED, Kind.CALM} <= kinds.keys()
