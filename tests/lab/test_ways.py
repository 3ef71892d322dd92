"""Messages and delays in a network with a root for each topic, held to routes that are walked hop by hop."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings

from reknit.lab.ways import Slope, Ways, ring_ways
from reknit.planning.notification import Problem, relays_and_delay
from tests.planning.instances import problems


@given(problems())
@settings(max_examples=60, deadline=None)
def test_on_a_ring_it_is_what_planning_counts(problem: Problem) -> None:
    ways, places = ring_ways(problem.ring, problem.keys), np.arange(len(problem.ring))
    plain = Problem(problem.ring, problem.keys, problem.wants, problem.events)
    relays, messages = ways.relays(problem.wants), ways.messages(problem.wants)
    delays = ways.down.delays(None)
    for topic, root in enumerate(problem.roots):
        expected = relays_and_delay(plain, places, topic)
        assert (relays[topic], delays[topic][problem.wants[topic]].sum()) == expected
        subscribers = int(problem.wants[topic].sum())
        assert messages[topic] == relays[topic] + subscribers - bool(subscribers and problem.wants[topic, root])


@given(problems())
@settings(max_examples=60, deadline=None)
def test_up_the_ring_a_key_is_looked_for(problem: Problem) -> None:
    """As brokers do it, who know the key and not its owner."""
    from reknit.model.ring import next_hop

    ring, ways = problem.ring, ring_ways(problem.ring, problem.keys)
    for topic, key in enumerate(problem.keys):
        for start in range(len(ring)):
            way = [start]
            while way[-1] != problem.roots[topic]:
                known = [ring.ids[other] for other in ring.fingers[way[-1]]]
                way.append(ring.owner(next_hop(ring.ids[way[-1]], known[0], known, key, ring.bits)))
            assert ways.up.hops[topic, start] == len(way) - 1
            assert all(ways.up.nearer[topic, one] == other for one, other in pairwise(way))


def test_delays_are_half_of_the_round_trips() -> None:
    """0 - 1 - 2, with the root at 0."""
    slope = Slope.down_to(np.array([0], np.int32), np.array([[0, 0, 1]], np.int32))
    trips = np.array([[0.0, 4.0, 9.0], [4.0, 0.0, 6.0], [9.0, 6.0, 0.0]])
    assert slope.delays(trips).tolist() == [[0.0, 2.0, 5.0]]
    assert slope.delays(None).tolist() == [[0.0, 1.0, 2.0]]
    wanted = np.array([[False, False, True]])
    ways = Ways(slope, slope)
    assert (ways.messages(wanted).tolist(), ways.relays(wanted).tolist()) == ([2], [1])
    assert ways.messages(np.zeros((1, 3), np.bool_)).tolist() == [0]
    assert ways.membership.tolist() == [[0, 2, 4]]


def test_a_way_that_never_ends_is_refused() -> None:
    with pytest.raises(ValueError, match="never comes to its root"):
        Slope.down_to(np.array([0], np.int32), np.array([[0, 2, 1]], np.int32))
