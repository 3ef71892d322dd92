"""A plan pays, ends, is the same for the same input, and survives its file."""

from __future__ import annotations

import random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reknit.planning.gains import Flow, cost
from reknit.planning.plan import BadPlan, Evidence, Rules, make_plan, read_plan, write_plan
from reknit.planning.tree import Swap, swapped
from tests.planning.test_gains import random_flows, random_tree

EVIDENCE = Evidence(events=20, flows=2, seconds=10.0, runs=["run"])
LINE = [("a", "b"), ("b", "c"), ("c", "d")]
FLOWS = [Flow(("a", "d"), 100), Flow(("b", "c"), 5)]


@given(st.integers(0, 2**32), st.integers(2, 12))
@settings(max_examples=60, deadline=None)
def test_each_step_brings_what_it_says_and_pays(seed: int, count: int) -> None:
    rng = random.Random(seed)
    tree = random_tree(rng, count)
    flows = random_flows(rng, tree)
    rules = Rules(horizon=rng.choice((0.5, 1.0, 4.0)), degree_max=rng.randint(2, 6))
    plan = make_plan(tree.links, flows, EVIDENCE, rules)
    assert plan.cost_before == cost(tree, flows)
    for step in plan.steps:
        degree = len(tree.neighbours[step.goal])
        tree = swapped(tree, Swap(step.mover, step.middle, step.goal))
        assert step.cost_after == cost(tree, flows)
        assert step.gain * rules.horizon > rules.swap_messages
        assert degree < rules.degree_max
    assert plan.after == list(tree.links)
    assert plan.cost_after == cost(tree, flows)
    shuffled = rng.sample(flows, len(flows))
    assert write_plan(make_plan(tuple(reversed(plan.before)), shuffled, EVIDENCE, rules)) == write_plan(plan)


def test_ends_that_talk_are_brought_together() -> None:
    plan = make_plan(LINE, FLOWS, EVIDENCE, Rules())
    assert (plan.cost_before, plan.cost_after) == (305, 105)
    assert ("a", "d") in [tuple(each) for each in plan.after]
    assert (plan.messages, plan.locked) == (12 * len(plan.steps), 3 * len(plan.steps))
    assert set(plan.brokers) <= {"a", "b", "c", "d"}


def test_a_plan_stops_where_it_is_told_to() -> None:
    assert len(make_plan(LINE, FLOWS, EVIDENCE, Rules(steps_max=1)).steps) == 1
    nothing = make_plan(LINE, FLOWS, EVIDENCE, Rules(horizon=0.01))
    assert (nothing.steps, nothing.before == nothing.after) == ([], True)


def test_a_plan_survives_its_file_and_what_is_none_is_refused() -> None:
    plan = make_plan(LINE, FLOWS, EVIDENCE, Rules())
    assert read_plan(write_plan(plan)) == plan
    with pytest.raises(BadPlan, match="no plan"):
        read_plan(b"{}")
    with pytest.raises(BadPlan, match="a plan of version 2"):
        read_plan(write_plan(msgspec.structs.replace(plan, version=2)))
