"""Shapes are trees, and a cycle is found and named."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reknit.core.overlay.shapes import SHAPES, find_cycle, names, shape_edges


@given(st.sampled_from(sorted(SHAPES)), st.integers(1, 30), st.integers())
def test_every_shape_is_a_tree_and_the_seed_decides_it(shape: str, count: int, seed: int) -> None:
    brokers = names(count)
    edges = shape_edges(shape, brokers, random.Random(seed))
    assert edges == shape_edges(shape, brokers, random.Random(seed))
    assert len(edges) == count - 1
    assert find_cycle(edges) is None
    assert {end for edge in edges for end in edge} == (set(brokers) if count > 1 else set())


def test_a_line_and_a_star() -> None:
    chance = random.Random(0)
    assert shape_edges("line", names(4), chance) == [("b1", "b2"), ("b2", "b3"), ("b3", "b4")]
    assert shape_edges("star", names(4), chance) == [("b1", "b2"), ("b1", "b3"), ("b1", "b4")]


@pytest.mark.parametrize(
    ("edges", "cycle"),
    [
        ([("a", "b"), ("b", "c"), ("c", "a")], ["c", "b", "a", "c"]),
        ([("a", "a")], ["a", "a"]),
        ([("a", "b"), ("c", "d"), ("b", "a")], ["b", "a", "b"]),
    ],
)
def test_a_cycle_is_a_walk_that_ends_where_it_began(edges: list[tuple[str, str]], cycle: list[str]) -> None:
    assert find_cycle(edges) == cycle


edge_lists = st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdef")), max_size=8)


@given(edge_lists)
def test_there_is_a_cycle_exactly_if_a_link_joins_what_is_joined(edges: list[tuple[str, str]]) -> None:
    part = {name: name for name in "abcdef"}
    closes = False
    for a, b in edges:
        closes = closes or part[a] == part[b]
        old, new = part[a], part[b]
        part = {name: new if root == old else root for name, root in part.items()}
    assert (find_cycle(edges) is not None) == closes
