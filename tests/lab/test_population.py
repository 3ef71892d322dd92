"""The crowd of SWAP's default scenario: who is where, what is wanted, how large it is on the wire."""

from __future__ import annotations

import random

import pytest

from reknit.lab.population import KINDS, draw_cell, draw_population, event_of, latencies, pattern_of
from reknit.wire.codec import encode


def test_clients_live_on_half_of_the_brokers_and_want_different_things() -> None:
    population = draw_population(100, 10, KINDS, random.Random(1))
    assert len(population.edges) == 99
    assert len(population.homes) == 100
    assert 35 < len(set(population.homes.values())) <= 50
    assert all(len(set(wants)) == 10 for wants in population.wants.values())


def test_trees_are_the_same_whatever_is_wanted_on_them() -> None:
    few, many = (draw_population(30, count, KINDS, random.Random(7)) for count in (1, 50))
    assert (few.edges, few.homes) == (many.edges, many.homes)


@pytest.mark.parametrize("kinds", [100, 1000, 4000])
def test_a_subscription_matches_its_share_of_events(kinds: int) -> None:
    rng = random.Random(1)
    pattern = pattern_of(kinds // 2, kinds)
    matching = sum(pattern.matches(event_of(cell)) for cell in range(kinds))
    assert matching == max(1, kinds // 1000)
    assert max(draw_cell(kinds, rng) for _ in range(1000)) < kinds + matching


def test_sizes_are_those_of_the_paper() -> None:
    assert len(encode(event_of(1234))) == pytest.approx(760, abs=10)
    assert len(encode(pattern_of(1234, KINDS))) == pytest.approx(770, abs=10)


def test_a_link_keeps_its_latency_in_both_directions() -> None:
    one, other = latencies("1"), latencies("2")
    assert one("a", "b") == one("b", "a") == one("a", "b")
    assert 0.001 <= one("a", "b") <= 0.005
    assert one("a", "b") != one("a", "c")
    assert one("a", "b") != other("a", "b")
