"""Delays by round trips: the quick account beside the plain one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reknit.planning.counts import Plain, compiled_is_there, make_account
from reknit.planning.greedy import dynatops_greedy, ssbr_greedy
from reknit.planning.notification import Problem
from tests.planning.instances import problems, some_problem

pytestmark = pytest.mark.skipif(not compiled_is_there(), reason="numba, of the extra `plan`, is not installed")


def _apart(problem: Problem, seed: int) -> Problem:
    """Round trips of any length; there and back need not take equally long."""
    size = len(problem.ring)
    return replace(problem, trips=np.random.default_rng(seed).integers(0, 50, (size, size)).astype(np.float64))


@settings(max_examples=60, deadline=None)
@given(problems(), st.integers(0, 9), st.data())
def test_costs_and_gains_are_those_of_the_plain_computation(problem: Problem, seed: int, data: st.DataObject) -> None:
    from reknit.planning.distant import Distant

    apart, size = _apart(problem, seed), len(problem.ring)
    places = np.array(data.draw(st.permutations(range(size))), dtype=np.int32)
    quick, plain = make_account(apart, places), make_account(apart, places, "plain")
    assert (type(quick), type(plain)) == (Distant, Plain)
    for _ in range(3):
        assert np.isclose(quick.cost, plain.cost)
        assert np.allclose(quick.broker_costs(), plain.broker_costs())
        broker, other = (data.draw(st.integers(0, size - 1)) for _ in range(2))
        assert np.allclose(quick.gains(broker), plain.gains(broker))
        quick.swap(broker, other)
        plain.swap(broker, other)


def test_it_goes_the_same_way_as_the_plain_one_does() -> None:
    problem, places = _apart(some_problem(24, 12, 4, seed=2), 3), np.arange(24, dtype=np.int32)
    quick, plain = ssbr_greedy(make_account(problem, places)), ssbr_greedy(make_account(problem, places, "plain"))
    assert [(each.broker, each.other) for each in quick] == [(each.broker, each.other) for each in plain] != []
    assert [each.cost for each in quick] == pytest.approx([each.cost for each in plain])


def test_a_plan_that_knows_round_trips_is_better_by_them_than_one_that_takes_all_hops_for_equal() -> None:
    """Brokers along a line: near ones should be beside each other in the trees."""
    spots = np.random.default_rng(5).uniform(0, 60, 40)
    equal = some_problem(40, 20, 6, seed=4, events=1000.0)
    apart, places = replace(equal, trips=np.abs(spots[:, None] - spots[None, :])), np.arange(40, dtype=np.int32)
    known = dynatops_greedy(make_account(apart, places))
    guessed = make_account(apart, dynatops_greedy(make_account(equal, places)).places)
    assert known.cost < 0.95 * guessed.cost


def test_without_round_trips_it_is_not_asked() -> None:
    from reknit.planning.distant import Distant

    with pytest.raises(ValueError, match="a quicker account"):
        Distant(some_problem(4, 2, 1, seed=1), np.arange(4, dtype=np.int32))
