"""What is counted of a system, on instances that can be counted by hand."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from reknit.lab.demand import Change
from reknit.lab.dynatops import Constant, OnRing, TopicConnected, change_messages, simulate
from reknit.lab.policies import Following, settle
from reknit.lab.ways import Slope, Ways, ring_ways
from reknit.planning.change import change_cost
from tests.planning.instances import some_problem


class Told:
    """One step: user 1 comes to want topic 0, then two events of it, of users 0 and 1."""

    users, topics, spots = 2, 1, np.array([[0.0, 0.0], [0.0, 3.0]])

    def begin(self) -> list[Change]:
        return [Change(0, ()), Change(1, ())]

    def steps(self) -> Iterator[tuple[Iterator[Change], np.ndarray, np.ndarray]]:
        yield iter([Change(1, (0,))]), np.array([0, 0], np.int32), np.array([0, 1], np.int32)


def line() -> Ways:
    """0 - 1 - 2, with the root at 0."""
    slope = Slope.down_to(np.array([0], np.int32), np.array([[0, 0, 1]], np.int32))
    return Ways(slope, slope)


def test_messages_and_delays_of_one_step() -> None:
    demand, policy = Told(), Following(3, 1, lambda user: [0, 2][user])
    settle(policy, demand.begin())
    found = simulate(demand, policy, Constant(line()), 1.0)
    assert (found.changes, found.management, found.handovers) == (1, 4, 0)
    assert (found.events, found.messages, found.deliveries) == (2, (0 + 2) + (2 + 2), 2)
    assert found.delay == (0 + 2) + (2 + 2)


def test_the_way_between_user_and_broker_counts_where_it_is_known() -> None:
    demand, policy = Told(), Following(3, 1, lambda user: [0, 2][user])
    settle(policy, demand.begin())
    found = simulate(demand, policy, Constant(line()), 1.0, legs=np.zeros((3, 2)))
    far = 3.0 * 2.0 / 2  # three degrees, two milliseconds of round trip each, one way
    assert found.delay == (0 + 2 + far) + (far + 2 + 2 + far)


def test_brokers_that_would_save_much_change_places_and_others_do_not() -> None:
    """Many events of topics that two brokers at bad places want."""
    problem = some_problem(20, 30, 4, 3)
    for events, changes in ((1e6, True), (1e-3, False)):
        network = OnRing(20, 30, free_h=2.0)
        before = network.places.copy()
        assert network.adapt(problem.wants, np.full(30, events), 1.0) == 0.0  # T_free is not over
        messages = network.adapt(problem.wants, np.full(30, events), 1.0)
        assert (messages > 0) == changes == bool((network.places != before).any())


def test_a_change_of_places_costs_less_than_its_bound() -> None:
    """Eq. 7 is an upper bound, with the constant 1; words that all brokers get and answer are six for each."""
    problem, places = some_problem(32, 40, 5, 1), np.arange(32, dtype=np.int32)
    ways, swapped = ring_ways(problem.ring, problem.keys), places.copy()
    assert change_messages(problem.ring, ways, problem.wants, places, places) == 0
    swapped[[3, 17]] = [17, 3]
    found = change_messages(problem.ring, ways, problem.wants, places, swapped)
    differ = np.count_nonzero(problem.wants[:, 3] != problem.wants[:, 17])
    assert 6 * 32 + 2 * 2 + 2 * 25 + 2 < found < 5 * 32 + change_cost(32, 40, 2)
    assert differ > 0
    alike = problem.wants.copy()
    alike[:, 17] = alike[:, 3]
    assert change_messages(problem.ring, ways, alike, places, swapped) < found


def test_links_of_a_connected_overlay_change_when_topics_do() -> None:
    wants = np.zeros((2, 4), np.bool_)
    wants[0, :2] = True
    network = TopicConnected(wants, np.random.default_rng(1))
    later = wants.copy()
    later[1, 2:] = True
    assert network.follow(wants) == 0
    assert network.follow(later) >= 1
    messages, up, down = network.carry(later, np.array([1], np.int32), np.array([2], np.int32))
    assert (messages, up.tolist(), down[1, 3]) == (1, [0.0], 1)
