"""Steady traffic is followed until nothing is to be gained; traffic that swings makes nobody dizzy."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reknit.core.overlay.shapes import names, shape_edges
from reknit.planning.adapt import Adapter, Patience
from reknit.planning.gains import Flow, cost
from reknit.planning.plan import Evidence
from reknit.planning.tree import Link, Tree

EVIDENCE = Evidence(events=0, flows=0, seconds=60.0)
EVENTS = 400
BROKERS = 8

Load = Callable[[int, random.Random], list[Flow]]
"""What a window carries, by its number."""


def pairs(rng: random.Random, far: list[tuple[str, ...]]) -> list[Flow]:
    """Events of some friends, drawn anew each time; a tenth of them of anybody."""
    known = names(BROKERS)
    drawn = [rng.choice(far) if rng.random() < 0.9 else tuple(sorted(rng.sample(known, 2))) for _ in range(EVENTS)]
    return [Flow(brokers, count) for brokers, count in sorted(Counter(drawn).items())]


def some_friends(rng: random.Random) -> list[tuple[str, ...]]:
    known = rng.sample(names(BROKERS), BROKERS)
    return [tuple(sorted(known[place : place + 2])) for place in range(0, BROKERS, 2)]


class Run:
    """An adapter at a tree, with all that it did."""

    def __init__(self, seed: int, patience: Patience | None = None) -> None:
        self.rng = random.Random(seed)
        self.adapter = Adapter(patience=patience or Patience())
        self.links: list[Link] = [*Tree(shape_edges("random", names(BROKERS), self.rng)).links]
        self.trees = [tuple(self.links)]
        self.changed: list[int] = []
        self.costs: list[int] = []
        self.idle: list[int] = []

    def go(self, windows: int, load: Load) -> None:
        first = Tree(self.trees[0])
        for number in range(windows):
            flows = load(number, self.rng)
            self.costs.append(cost(Tree(self.links), flows))
            self.idle.append(cost(first, flows))
            if (plan := self.adapter.see(self.links, flows, EVIDENCE).plan) is not None:
                assert plan.before == self.links
                self.costs[-1] += plan.messages
                self.links = list(plan.after)
                self.trees.append(tuple(self.links))
                self.changed.append(number)


@given(st.integers(0, 2**32))
@settings(max_examples=25, deadline=None)
def test_steady_traffic_is_followed_and_then_nothing_happens_any_more(seed: int) -> None:
    run = Run(seed)
    far = some_friends(run.rng)
    run.go(60, lambda number, rng: pairs(rng, far))
    assert len(run.changed) <= 8
    assert all(number < 45 for number in run.changed)
    assert sum(run.costs) <= sum(run.idle)
    late = sum(run.costs[-10:]) / sum(run.idle[-10:])
    assert not run.changed or late <= 0.95


@pytest.mark.parametrize("swing", [1, 2, 3, 4, 5, 7, 12])
@pytest.mark.parametrize("seed", range(6))
def test_a_workload_that_swings_makes_no_tree_swing(swing: int, seed: int) -> None:
    """At most one change in each period, and no link is ever taken up again that was given up."""
    run = Run(seed)
    sides = [some_friends(run.rng), some_friends(run.rng)]
    run.go(90, lambda number, rng: pairs(rng, sides[number // swing % 2]))
    rest = run.adapter.patience.rest
    assert all(later - earlier > rest for earlier, later in zip(run.changed, run.changed[1:], strict=False))
    assert len(set(run.trees)) == len(run.trees)
    gone: set[Link] = set()
    for before, after in zip(run.trees, run.trees[1:], strict=False):
        assert not gone & set(after)
        gone |= set(before) - set(after)
    assert sum(run.costs) <= 1.1 * sum(run.idle)


def test_one_window_is_not_enough_and_a_pause_begins_anew() -> None:
    line = [("a", "b"), ("b", "c")]
    talk, silence = [Flow(("a", "c"), 100)], [Flow(("a", "b"), 100)]
    adapter = Adapter()
    assert adapter.see(line, talk, EVIDENCE).plan is None
    assert adapter.see(line, silence, EVIDENCE).plan is None
    adapter = Adapter()
    first, second = (adapter.see(line, talk, EVIDENCE) for _ in range(2))
    assert (first.plan, "will it be in the next window" in first.why) == (None, True)
    assert second.plan is not None
    assert [(step.mover, step.middle, step.goal) for step in second.plan.steps] == [("a", "b", "c")]
    resting = adapter.see(second.plan.after, talk, EVIDENCE)
    assert resting.why == "at rest after a change, for 3 more windows"


def test_what_it_remembers_can_be_written_and_read() -> None:
    run = Run(3)
    sides = [some_friends(run.rng), some_friends(run.rng)]
    run.go(20, lambda number, rng: pairs(rng, sides[number // 5 % 2]))
    again = Adapter()
    again.recall(run.adapter.written())
    assert run.changed
    assert again == run.adapter


def test_it_decides_nothing_from_few_events_or_for_little() -> None:
    line = [("a", "b"), ("b", "c")]
    adapter = Adapter()
    for _ in range(3):
        assert "too few events" in adapter.see(line, [Flow(("a", "c"), 29)], EVIDENCE).why
    adapter = Adapter()
    mixed = [Flow(("a", "c"), 105), Flow(("a", "b"), 100), Flow(("b", "c"), 800)]
    for _ in range(3):
        assert adapter.see(line, mixed, EVIDENCE).why == "nothing is worth what it takes"


def test_a_tree_that_somebody_else_has_changed_is_looked_at_anew() -> None:
    talk = [Flow(("a", "d"), 100)]
    adapter = Adapter()
    assert adapter.see([("a", "b"), ("b", "c"), ("c", "d")], talk, EVIDENCE).plan is None
    other = adapter.see([("a", "c"), ("b", "c"), ("c", "d")], talk, EVIDENCE)
    assert (other.plan, "will it be in the next window" in other.why) == (None, True)
