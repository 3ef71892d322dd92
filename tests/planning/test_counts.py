from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reknit.planning.counts import Counts, Means, Plain, compiled_is_there, make_account
from reknit.planning.notification import Problem
from tests.planning.instances import problems, some_problem

QUICK: list[Means] = ["arrays", "compiled"] if compiled_is_there() else ["arrays"]


@pytest.mark.parametrize("means", QUICK)
@settings(deadline=None)
@given(problem=problems(), data=st.data())
def test_swap_by_swap_it_agrees_with_computing_all_anew(means: Means, problem: Problem, data: st.DataObject) -> None:
    size = len(problem.ring)
    places = np.array(data.draw(st.permutations(range(size))), dtype=np.int32)
    plain, quick = Plain(problem, places), make_account(problem, places, means)
    brokers = st.integers(0, size - 1)
    for _ in range(3):
        broker, other = data.draw(brokers), data.draw(brokers)
        gains = plain.gains(broker)
        assert quick.gains(broker) == pytest.approx(gains)
        assert quick.gain(broker, other) == pytest.approx(gains[other])
        assert quick.broker_costs() == pytest.approx(plain.broker_costs())
        plain.swap(broker, other)
        quick.swap(broker, other)
        assert quick.cost == pytest.approx(plain.cost)
        assert (quick.places == plain.places).all()


def test_a_swap_touches_only_topics_that_one_of_the_two_wants(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = some_problem(20, 12, 3, seed=1)
    counts = Counts(problem, np.arange(20, dtype=np.int32))
    touched: list[int] = []
    refresh = counts._refresh
    monkeypatch.setattr(counts, "_refresh", lambda topics: (touched.extend(topics.tolist()), refresh(topics)))
    counts.swap(3, 8)
    assert touched == np.flatnonzero(problem.wants[:, 3] != problem.wants[:, 8]).tolist()
    assert 0 < len(touched) < 12


def test_where_round_trips_differ_and_nothing_is_compiled_everything_is_computed_anew() -> None:
    problem = replace(some_problem(6, 3, 1, seed=1), trips=np.ones((6, 6)))
    assert isinstance(make_account(problem, np.arange(6, dtype=np.int32), "arrays"), Plain)
    with pytest.raises(ValueError, match="round trips differ"):
        Counts(problem, np.arange(6, dtype=np.int32))
