"""Random swaps in a crowd, and what is counted for one."""

from __future__ import annotations

import random

from reknit.core.routing.strategies import RoutingName
from reknit.lab.crowd import Crowd
from reknit.lab.population import draw_population
from reknit.lab.swapping import TABLES, Swapped, run_swaps

TWELVE_AND_LEAVING = 14


def swapped(routing: RoutingName, period_s: float = 0.5) -> Swapped:
    population = draw_population(10, 5, 50, random.Random(3))
    return run_swaps(Crowd(population, routing, "3"), 4, period_s, random.Random(3))


def test_twelve_messages_the_farewells_of_a_link_and_the_tables() -> None:
    found = swapped("subscription-forwarding")
    tables = found.messages - TWELVE_AND_LEAVING
    assert 0 < tables < 10
    assert all(size > 0 for size in found.bytes.values())
    assert found.bytes["lockAck"] * 3 == found.bytes["swap"] * 2
    assert found.bytes["open"] * 2 == found.bytes["lockAck"]


def test_patterns_travel_only_where_brokers_do_not_know_them() -> None:
    forwarding, complete = swapped("subscription-forwarding"), swapped("global-table")
    assert forwarding.bytes[TABLES] > 20 * complete.bytes[TABLES]
    for kind, size in forwarding.bytes.items():
        assert kind == TABLES or size == complete.bytes[kind]


def test_all_that_links_carry_is_more_than_what_the_three_say() -> None:
    found = swapped("global-table")
    assert found.link_bytes > sum(found.bytes.values()) - found.bytes[TABLES]
    assert 0.01 < found.seconds < 0.2


def test_the_same_seed_gives_the_same_swaps() -> None:
    assert swapped("global-table") == swapped("global-table")


def test_more_events_are_steered_where_more_are_published() -> None:
    assert swapped("global-table", 0.01).steering_bytes > swapped("global-table", 0.5).steering_bytes
