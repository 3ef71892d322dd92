"""Brokers of a crowd that leave, and what is counted for one."""

from __future__ import annotations

import random

import pytest

from reknit.core.overlay.shapes import adjacency
from reknit.core.routing.strategies import RoutingName
from reknit.lab.crowd import Crowd
from reknit.lab.draining import Drained, find_leavers, run_drains, with_subscriptions
from reknit.lab.population import draw_population, pattern_of
from reknit.wire.codec import encode

POPULATION = draw_population(10, 2, 1000, random.Random(5))


def drained(subscriptions: int, routing: RoutingName = "subscription-forwarding") -> Drained:
    leavers = find_leavers(POPULATION, 2, random.Random(1))
    crowd = Crowd(with_subscriptions(POPULATION, leavers, subscriptions, random.Random(2)), routing, "5")
    found = run_drains(crowd, leavers, 0.5)
    assert all(crowd.cluster.nodes[name].gone for name in leavers)
    assert not set(crowd.homes.values()) & set(leavers)
    return found


def test_leavers_are_leaves_with_clients() -> None:
    leavers = find_leavers(POPULATION, 100, random.Random(1))
    neighbours = adjacency(POPULATION.edges)
    assert leavers
    assert all(len(neighbours[name]) == 1 and name in POPULATION.homes.values() for name in leavers)


def test_only_their_clients_get_other_subscriptions() -> None:
    [leaver] = find_leavers(POPULATION, 1, random.Random(1))
    changed = with_subscriptions(POPULATION, [leaver], 7, random.Random(1))
    for client, home in POPULATION.homes.items():
        if home == leaver:
            assert len(set(changed.wants[client])) == 7
        else:
            assert changed.wants[client] == POPULATION.wants[client]


def test_an_offer_names_each_pattern_of_each_client_once() -> None:
    none, many = drained(0), drained(20)
    assert none.bytes["subscriptions"] == 0
    size = len(encode(pattern_of(500, 1000)))
    named = (many.bytes["offers"] - none.bytes["offers"]) / many.clients
    assert named == pytest.approx(20 * size, rel=0.02)
    assert many.bytes["moves"] == pytest.approx(none.bytes["moves"], rel=0.1)


def test_routing_says_a_pattern_to_the_leaving_broker_and_takes_one_back() -> None:
    """So a subscription crosses the link three times, the offer included, but for what others want as well."""
    many = drained(20)
    assert many.bytes["offers"] < many.bytes["subscriptions"] <= 2 * many.bytes["offers"]


def test_where_all_know_all_everybody_has_to_hear_of_it() -> None:
    assert drained(5, "global-table").bytes["subscriptions"] > 4 * drained(5).bytes["subscriptions"]
