"""DYNATOPS, Algorithms 3 and 4."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from reknit.planning.change import change_cost, moved
from reknit.planning.counts import Plain, make_account
from reknit.planning.greedy import best_of, dynatops_greedy, ssbr_greedy
from reknit.planning.notification import Problem, cost
from tests.planning.instances import problems, some_problem


@settings(deadline=None, max_examples=40)
@given(problems(8))
def test_each_step_is_the_best_swap_of_the_dearest_broker(problem: Problem) -> None:
    """ "In each iteration our greedy algorithm finds the broker with the highest broker cost under configuration X"."""
    places = np.arange(len(problem.ring), dtype=np.int32)
    oracle = Plain(problem, places)
    account = make_account(problem, places, "arrays")
    for step in ssbr_greedy(account):
        assert step.broker == int(np.argmax(oracle.broker_costs()))
        assert oracle.gains(step.broker).max() == pytest.approx(oracle.gain(step.broker, step.other))
        before = oracle.cost
        oracle.swap(step.broker, step.other)
        assert oracle.cost == pytest.approx(step.cost)
        assert oracle.cost < before
    assert oracle.gains(int(np.argmax(oracle.broker_costs()))).max() <= 1e-6


def test_of_all_on_the_way_the_one_is_chosen_whose_benefit_exceeds_its_cost_most() -> None:
    problem, places = some_problem(40, 10, 2, seed=3, events=400.0), np.arange(40, dtype=np.int32)
    way = ssbr_greedy(make_account(problem, places, "arrays"))
    found = dynatops_greedy(make_account(problem, places, "arrays"))
    before, now = cost(problem, places), places.copy()
    utilities = [0.0]
    for step in way:
        now[[step.broker, step.other]] = now[[step.other, step.broker]]
        utilities.append(before - cost(problem, now) - change_cost(40, 10, moved(places, now)))
    assert found.utility == pytest.approx(max(utilities))
    assert utilities.index(max(utilities)) == found.swaps > 0
    assert cost(problem, found.places) == pytest.approx(found.cost)


def test_where_nothing_is_gained_nothing_is_changed() -> None:
    problem, places = some_problem(40, 10, 2, seed=3, events=0.5), np.arange(40, dtype=np.int32)
    way = ssbr_greedy(make_account(problem, places, "arrays"))
    found = best_of(places, cost(problem, places), way, 10)
    assert way
    assert (found.places == places).all()
    assert (found.swaps, found.utility) == (0, 0.0)
