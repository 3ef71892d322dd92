"""DYNATOPS, section 5: what notifying costs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from reknit.planning.notification import (
    NoConfiguration,
    Problem,
    broker_costs,
    check_places,
    cost,
    relays_and_delay,
)
from reknit.planning.ring import Ring
from tests.planning.instances import problems

RING = Ring(range(8), 3)
HALVES = np.array([[True] * 4 + [False] * 4, [False] * 4 + [True] * 4])
"""Four brokers want t1, the others t2."""

FIGURE_2 = Problem(RING, (1, 4), HALVES, np.array([1.0, 1.0]))


def test_figure_2_after_the_change_no_relay_and_one_hop() -> None:
    """ "For t1, the unrelated relays becomes 0 and the maximum hop becomes 1 after reconfiguration." """
    places = [1, 2, 3, 5, 4, 6, 0, 7]
    assert relays_and_delay(FIGURE_2, places, 0) == (0, 3.0)
    assert max(len(RING.route(1, place)) - 1 for place in places[:4]) == 1
    assert relays_and_delay(FIGURE_2, places, 1) == (0, 1.0 + 1.0 + 2.0)
    assert cost(FIGURE_2, places) == 7.0


def test_figure_2_before_the_change_three_relays_and_three_hops() -> None:
    """ "event notification in t1 takes 3 unrelated relays ..., and 3 maximum hops"."""
    places = [0, 4, 6, 7, 1, 2, 3, 5]
    relays, _ = relays_and_delay(FIGURE_2, places, 0)
    assert relays == 2  # 3 and 5; 1 is the root, which relays nothing to itself
    assert relays_and_delay(replace(FIGURE_2, root_counts=True), places, 0)[0] == 3
    assert max(len(RING.route(1, place)) - 1 for place in places[:4]) == 3


def test_delays_are_half_of_the_round_trips_along_the_way() -> None:
    trips = np.arange(64, dtype=np.float64).reshape(8, 8)
    problem = replace(FIGURE_2, trips=trips + trips.T)
    places = [1, 2, 3, 5, 4, 6, 0, 7]
    assert relays_and_delay(problem, places, 0)[1] == sum((trips + trips.T)[0, other] / 2 for other in (1, 2, 3))


@given(problems())
def test_brokers_costs_add_up_to_the_cost(problem: Problem) -> None:
    """Eq. 12."""
    places = np.arange(len(problem.ring), dtype=np.int32)
    assert broker_costs(problem, places).sum() == pytest.approx(cost(problem, places))


@pytest.mark.parametrize(
    ("places", "why"),
    [
        ([0, 1, 2, 3, 4, 5, 6, 6], "brokers 6 and 7 are both to be at place 6"),
        ([0, 1, 2, 3, 4, 5, 6, 8], "broker 7 is to be at place 8, of 8"),
        ([0, 1, 2], "3 brokers have a place, of 8"),
    ],
)
def test_a_plan_that_maps_two_brokers_to_one_place_is_refused(places: list[int], why: str) -> None:
    with pytest.raises(NoConfiguration, match=why):
        check_places(places, RING)


def test_problems_that_do_not_fit_are_refused() -> None:
    with pytest.raises(NoConfiguration, match="7 brokers and 8 places"):
        replace(FIGURE_2, wants=HALVES[:, :7])
    with pytest.raises(NoConfiguration, match="2 topics are wanted, 1 have a key"):
        replace(FIGURE_2, keys=(1,))
    with pytest.raises(NoConfiguration, match="from 0 on"):
        replace(FIGURE_2, events=np.array([1.0, -1.0]))
    with pytest.raises(NoConfiguration, match="the weight of delays"):
        replace(FIGURE_2, delay_weight=float("nan"))
    with pytest.raises(NoConfiguration, match="round trips"):
        replace(FIGURE_2, trips=np.zeros((2, 2)))
