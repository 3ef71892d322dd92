"""A plan of the ring: circles that each bring what they say, lead from one mapping to the other, and pay."""

from __future__ import annotations

import random

import numpy as np
import pytest

from reknit.model.ring import ring_id
from reknit.planning.change import change_cost
from reknit.planning.files import write_plan
from reknit.planning.notification import Problem, cost
from reknit.planning.ring import Ring
from reknit.planning.ring_plan import Need, RingEvidence, RingRules, circles, make_ring_plan, places_of

NAMES = [f"b{number}" for number in range(12)]
IDS = {name: ring_id(name) for name in NAMES}
EVIDENCE = RingEvidence(events=1.0, topics=8, wants=32, seconds=60.0)
RULES = RingRules(trials=200, seed=3)


def needs(seed: int, events: float = 1000.0) -> list[Need]:
    rng = random.Random(seed)
    return [Need(f"t{topic}", events * (topic + 1), tuple(sorted(rng.sample(NAMES[:-1], 4)))) for topic in range(8)]


def plainly(wanted: list[Need], places: dict[str, int]) -> float:
    """The plain equations."""
    wants = np.array([[name in need.brokers for name in NAMES] for need in wanted])
    ring = Ring(list(IDS.values()))
    events = np.array([need.events for need in wanted])
    problem = Problem(ring, tuple(ring_id(need.topic) for need in wanted), wants, events)
    return cost(problem, [ring.ids.index(places[name]) for name in NAMES])


@pytest.mark.parametrize("seed", range(5))
def test_each_circle_brings_what_it_says(seed: int) -> None:
    wanted = needs(seed)
    plan = make_ring_plan(IDS, wanted, RULES, EVIDENCE)
    assert plan.steps
    assert plan.cost_before == pytest.approx(plainly(wanted, IDS))
    before = plan.cost_before
    for number, step in enumerate(plan.steps, 1):
        places = places_of(IDS, [each.brokers for each in plan.steps[:number]])
        assert step.cost_after == pytest.approx(plainly(wanted, places))
        assert step.gain == pytest.approx(before - step.cost_after)
        assert step.messages == round(change_cost(len(NAMES), len(wanted), len(step.brokers)))
        before = step.cost_after
    assert plan.after == places
    assert sorted(plan.after.values()) == sorted(IDS.values())
    assert plan.brokers == sorted(name for name in NAMES if plan.after[name] != IDS[name])
    assert plan.cost_before - plan.cost_after > plan.messages
    assert (plan.locked, plan.roots > 0) == (len(NAMES) * len(plan.steps), True)


def test_the_same_input_gives_the_same_bytes_and_what_does_not_pay_is_left_alone() -> None:
    wanted = needs(1)
    one = make_ring_plan(IDS, wanted, RULES, EVIDENCE)
    backwards = dict(reversed(IDS.items()))
    assert write_plan(make_ring_plan(backwards, wanted[::-1], RULES, EVIDENCE)) == write_plan(one)
    little = needs(1, events=0.5)
    assert make_ring_plan(IDS, little, RULES, EVIDENCE).steps == []
    for_long = make_ring_plan(IDS, little, RingRules(horizon=2000.0, trials=200, seed=3), EVIDENCE)
    assert [step.brokers for step in for_long.steps] == [step.brokers for step in one.steps]
    greedy = make_ring_plan(IDS, wanted, RingRules(search="greedy"), EVIDENCE)
    assert one.cost_after <= greedy.cost_after < greedy.cost_before


def test_a_permutation_falls_into_circles() -> None:
    home, goal = np.arange(6, dtype=np.int32), np.array([1, 2, 0, 3, 5, 4], dtype=np.int32)
    assert circles(home, goal) == [[0, 1, 2], [4, 5]]
    places = places_of({"a": 1, "b": 2, "c": 3}, [["a", "b", "c"]])
    assert places == {"a": 2, "b": 3, "c": 1}
    assert places_of(places, [["c", "b", "a"]]) == {"a": 1, "b": 2, "c": 3}
