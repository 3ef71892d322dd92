"""A plan pays, ends, is the same for the same input, and survives its file."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from reknit.model.pattern import Pattern
from reknit.planning.files import write_plan
from reknit.planning.gains import Flow, cost
from reknit.planning.plan import Evidence, Rules, make_plan, trees_of
from reknit.planning.tree import Swap, swapped
from tests.planning.test_gains import random_flows, random_tree

EVIDENCE = Evidence(events=20, flows=2, seconds=10.0)
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
        assert step.gain * rules.horizon > step.messages
        assert degree < rules.degree_max
    assert plan.after == list(tree.links)
    assert [list(links) for links in trees_of(plan)][:: len(plan.steps) or 1] in (
        [plan.before],
        [plan.before, plan.after],
    )
    assert plan.cost_after == cost(tree, flows)
    shuffled = rng.sample(flows, len(flows))
    assert write_plan(make_plan(tuple(reversed(plan.before)), shuffled, EVIDENCE, rules)) == write_plan(plan)


def test_ends_that_talk_are_brought_together() -> None:
    plan = make_plan(LINE, FLOWS, EVIDENCE, Rules())
    assert (plan.cost_before, plan.cost_after) == (305, 105)
    assert ("a", "d") in [tuple(each) for each in plan.after]
    assert (plan.messages, plan.locked) == (14 * len(plan.steps), 3 * len(plan.steps))
    flooded = make_plan(LINE, FLOWS, EVIDENCE, Rules(routing="flooding"))
    assert flooded.messages == 12 * len(flooded.steps)
    assert set(plan.brokers) <= {"a", "b", "c", "d"}


def test_a_plan_stops_where_it_is_told_to() -> None:
    assert len(make_plan(LINE, FLOWS, EVIDENCE, Rules(steps_max=1)).steps) == 1
    nothing = make_plan(LINE, FLOWS, EVIDENCE, Rules(horizon=0.01))
    assert (nothing.steps, nothing.before == nothing.after) == ([], True)


TALKERS = [Flow(("a", "c"), 30)]
MANY = [Pattern.parse(f"t/{number}", "") for number in range(64 * 30)]


def test_a_broker_with_much_behind_it_does_not_move_for_little() -> None:
    """Its table would travel: thirty messages more than without one. The one opposite has nothing, and moves."""
    assert [step.mover for step in make_plan(LINE[:2], TALKERS, EVIDENCE, Rules()).steps] == ["a"]
    plan = make_plan(LINE[:2], TALKERS, EVIDENCE, Rules(), wanted={"a": MANY})
    assert [step.mover for step in plan.steps] == ["c"]
    assert plan.evidence.subscriptions == len(MANY)
    assert make_plan(LINE[:2], TALKERS, EVIDENCE, Rules(), wanted={"a": MANY, "c": MANY}).steps == []
    patient = make_plan(LINE[:2], TALKERS, EVIDENCE, Rules(horizon=2.0), wanted={"a": MANY, "c": MANY})
    assert [(step.mover, step.messages) for step in patient.steps] == [("a", 12 + 30 + 1)]


def test_where_events_are_small_a_table_has_to_be_worth_its_bytes() -> None:
    few = dict.fromkeys("ac", MANY[:64])
    small, large = (Evidence(30, 1, 10.0, event_bytes=size) for size in (10, 1000))
    assert make_plan(LINE[:2], TALKERS, small, Rules(), wanted=few).steps == []
    (step,) = make_plan(LINE[:2], TALKERS, large, Rules(), wanted=few).steps
    assert 10 * step.gain < step.bytes < 1000 * step.gain
