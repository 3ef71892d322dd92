"""The least that an event must travel."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from reknit.core.overlay.shapes import adjacency, find_path, names, shape_edges
from reknit.lab.subtree import subtree_links


def test_a_line_and_a_star() -> None:
    line = adjacency([("a", "b"), ("b", "c"), ("c", "d")])
    assert subtree_links(line, "b", ["d"]) == 2
    assert subtree_links(line, "b", ["a", "c", "d"]) == 3
    assert subtree_links(line, "b", ["b"]) == 0
    star = adjacency([("hub", "a"), ("hub", "b"), ("hub", "c")])
    assert subtree_links(star, "a", ["b", "c"]) == 3


@given(st.integers(2, 20), st.integers(), st.data())
def test_it_is_the_union_of_the_paths(count: int, seed: int, data: st.DataObject) -> None:
    brokers = names(count)
    edges = shape_edges("random", brokers, random.Random(seed))
    start = data.draw(st.sampled_from(brokers))
    wanted = data.draw(st.lists(st.sampled_from(brokers), unique=True))
    on_paths = {start}.union(*(find_path(edges, start, each) for each in wanted))
    assert subtree_links(adjacency(edges), start, wanted) == len(on_paths) - 1
