"""What is counted from the ways of events is what the plain equations say of the same events."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest

from reknit.model.ring import ring_id
from reknit.planning.notification import Problem, cost
from reknit.planning.notified import Journey, Notified, _way_up, notified
from reknit.planning.ring import Ring

NAMES = [f"b{number}" for number in range(9)]
IDS = {name: ring_id(name) for name in NAMES}
RING = Ring(list(IDS.values()))
AT = {RING.ids.index(number): name for name, number in IDS.items()}
PLACES = {name: place for place, name in AT.items()}


def journey(topic: str, start: str, wanting: list[str]) -> Journey:
    """As brokers would carry it: up to the root, then down a tree."""
    up = _way_up(RING, PLACES[start], ring_id(topic))
    ways = [RING.route(up[-1], PLACES[name]) for name in wanting]
    down = dict.fromkeys(hop for way in ways for hop in pairwise(way))
    hops = [(AT[one], AT[other]) for one, other in (*pairwise(up), *down)]
    return Journey(topic, start, hops, wanting)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("weight", [0.0, 1.0, 2.5])
def test_it_is_the_cost_of_the_equations(seed: int, weight: float) -> None:
    rng = random.Random(seed)
    topics = {f"t/{number}": sorted(rng.sample(NAMES, rng.randint(1, 4))) for number in range(4)}
    drawn = [rng.choice(list(topics)) for _ in range(30)]
    found = notified(IDS, [journey(topic, rng.choice(NAMES), topics[topic]) for topic in drawn], weight)
    wants = np.array([[name in wanting for name in NAMES] for wanting in topics.values()])
    events = np.array([float(drawn.count(topic)) for topic in topics])
    problem = Problem(RING, tuple(ring_id(topic) for topic in topics), wants, events, weight)
    assert found.events == 30
    assert found.cost == pytest.approx(cost(problem, [PLACES[name] for name in NAMES]))


def test_what_nobody_wants_costs_nothing_and_a_selector_makes_no_relay() -> None:
    assert notified(IDS, [Journey("t/1", "b1")], 1.0) == Notified(1, 0.0)
    assert notified(IDS, [Journey("t/1", "gone")], 1.0) == Notified(1, 0.0)
    both, one = journey("t/1", "b1", ["b2", "b3"]), journey("t/1", "b1", ["b2", "b3"])
    one.delivered = ["b2"]
    assert notified(IDS, [both, one], 1.0).cost == 2 * notified(IDS, [both], 1.0).cost
