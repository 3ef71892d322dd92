from __future__ import annotations

import numpy as np
import pytest

from reknit.planning.change import change_cost, moved
from reknit.planning.counts import make_account
from reknit.planning.greedy import dynatops_greedy, ssbr_greedy
from reknit.planning.notification import cost
from reknit.planning.search import Bounds, better_search
from tests.planning.instances import some_problem

BOUNDS = Bounds(trials_max=300)


@pytest.mark.parametrize("seed", range(3))
def test_it_saves_more_than_greedy_and_what_it_says(seed: int) -> None:
    problem, places = some_problem(60, 20, 4, seed), np.arange(60, dtype=np.int32)
    greedy = make_account(problem, places)
    ssbr_greedy(greedy)
    found = better_search(make_account(problem, places), np.random.default_rng(seed), BOUNDS, priced=False)
    assert found.cost < greedy.cost
    assert cost(problem, found.places) == pytest.approx(found.cost)


@pytest.mark.parametrize("seed", range(3))
def test_with_the_price_of_a_change_it_is_worth_at_least_as_much(seed: int) -> None:
    problem, places = some_problem(60, 20, 4, seed, events=200.0), np.arange(60, dtype=np.int32)
    greedy = dynatops_greedy(make_account(problem, places))
    found = better_search(make_account(problem, places), np.random.default_rng(seed), BOUNDS)
    assert found.utility > greedy.utility > 0
    price = change_cost(60, 20, moved(places, found.places))
    assert found.utility == pytest.approx(cost(problem, places) - cost(problem, found.places) - price)


@pytest.mark.long
def test_the_same_seed_gives_the_same_plan_by_any_means() -> None:
    problem, places = some_problem(30, 10, 3, seed=5), np.arange(30, dtype=np.int32)
    found = [
        better_search(make_account(problem, places, means), np.random.default_rng(1), Bounds(trials_max=100))
        for means in ("plain", "arrays", None)
    ]
    assert all((each.places == found[0].places).all() for each in found)


def test_one_broker_stays_where_it_is() -> None:
    problem = some_problem(1, 2, 1, seed=1)
    found = better_search(make_account(problem, np.array([0], dtype=np.int32)), np.random.default_rng(1), BOUNDS)
    assert found.places.tolist() == [0]


def test_bounds_below_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="from 0 on"):
        Bounds(trials_max=-1)
