"""Worlds: trees that stay trees, and the same for every strategy."""

from __future__ import annotations

import random

import pytest

from reknit.core.overlay.shapes import DEGREE_MAX, adjacency, find_cycle
from reknit.lab.replacement import chance, diameter
from reknit.lab.worlds import (
    CHARACTERS,
    EVENT_CHARACTERS,
    SHAPES,
    bits_of,
    characters_of,
    draw_publications,
    draw_world,
    event_of,
    pattern_of,
    replaced,
)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(5))
def test_each_replacement_leaves_a_tree_in_which_nobody_has_too_many_neighbours(shape: str, seed: int) -> None:
    world = draw_world(shape, 30, 0.2, 10, chance(seed))
    edges = world.edges
    assert [each.at_s for each in world.replacements] == pytest.approx([3.0 + 0.3 * number for number in range(14)])
    for each in world.replacements:
        assert set(each.path) <= set(adjacency(edges))
        assert any({each.head[0], each.tail[-1]} == set(edge) for edge in edges)
        edges = replaced(edges, each)
        assert len(edges) == 29
        assert find_cycle(edges) is None
        assert max(map(len, adjacency(edges).values())) <= DEGREE_MAX


def test_subscribers_have_at_most_so_many_patterns() -> None:
    world = draw_world("random", 100, 0.2, 10, chance(1))
    counts = [len(characters_of(bits)) for bits in world.wants.values()]
    assert len(counts) == 20
    assert min(counts) >= 1
    assert max(counts) <= 10


def test_long_trees_are_longer_than_bushy_ones() -> None:
    spans = [diameter(draw_world(shape, 100, 0.2, 1, chance(2)).edges) for shape in ("bushy", "random", "long")]
    assert spans == sorted(spans)


def test_the_same_names_give_the_same_world() -> None:
    one, other = (draw_world("random", 20, 0.5, 3, chance("x", 1)) for _ in range(2))
    assert one == other


def test_a_pattern_matches_the_events_that_contain_its_character() -> None:
    event = event_of(bits_of([3, 95]))
    assert [character for character in range(CHARACTERS) if pattern_of(character).matches(event)] == [3, 95]


def test_each_broker_publishes_at_its_rate() -> None:
    published = list(draw_publications(["a", "b"], 50.0, 1.0, 11.0, chance(3)))
    assert len(published) == pytest.approx(1_000, rel=0.15)
    assert all(1.0 <= at < 11.0 for at, _, _ in published)
    assert all(1 <= len(characters_of(bits)) <= EVENT_CHARACTERS for _, _, bits in published)


def test_what_is_published_is_drawn_as_one_character_after_the_other() -> None:
    """What was measured before stays what it was."""
    plain = random.Random("plain")
    at, expected = 0.0, []
    while (at := at + plain.expovariate(6.0)) < 30.0:
        expected.append(
            (at, plain.choice("abc"), bits_of(plain.randrange(CHARACTERS) for _ in range(EVENT_CHARACTERS)))
        )
    assert list(draw_publications("abc", 2.0, 0.0, 30.0, random.Random("plain"))) == expected
    assert len(expected) > 100
