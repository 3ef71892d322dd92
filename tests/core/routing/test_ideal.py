"""The plain computation of all tables, against a plainer one: for each entry, look behind the neighbour."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reknit.core.overlay.shapes import find_path, names, shape_edges
from reknit.core.routing.announcements import without_covered
from reknit.core.routing.ideal import NoForest, ideal_tables
from reknit.core.routing.strategies import RoutingName
from reknit.model.pattern import Pattern
from tests.core.routing.strategies import patterns

wishes = st.lists(st.lists(patterns, max_size=3, unique=True), min_size=6, max_size=6)


def _behind(edges: list[tuple[str, str]], name: str, neighbour: str) -> list[str]:
    return [each for each in names(6) if neighbour in find_path(edges, name, each)[1:2]]


@pytest.mark.parametrize("routing", ["subscription-forwarding", "global-table"])
@given(seed=st.integers(0, 10**6), wanted=wishes)
def test_an_entry_for_each_pattern_that_somebody_behind_the_neighbour_wants(
    routing: RoutingName, seed: int, wanted: list[list[Pattern]]
) -> None:
    edges = shape_edges("random", names(6), random.Random(seed))
    by_broker = dict(zip(names(6), wanted, strict=True))
    tables = ideal_tables(edges, by_broker, routing)
    for name in names(6):
        expected = {
            (neighbour, pattern)
            for neighbour in names(6)
            for other in _behind(edges, name, neighbour)
            for pattern in by_broker[other]
        }
        assert tables[name] == expected


@given(seed=st.integers(0, 10**6), wanted=wishes)
def test_with_covering_only_what_nothing_else_behind_the_neighbour_covers(
    seed: int, wanted: list[list[Pattern]]
) -> None:
    edges = shape_edges("random", names(6), random.Random(seed))
    by_broker = dict(zip(names(6), wanted, strict=True))
    full = ideal_tables(edges, by_broker, "subscription-forwarding")
    covered = ideal_tables(edges, by_broker, "subscription-forwarding", covering=True)
    for name in names(6):
        for neighbour in {neighbour for neighbour, _ in full[name]}:
            all_of_it = [pattern for each, pattern in full[name] if each == neighbour]
            assert {pattern for each, pattern in covered[name] if each == neighbour} == set(without_covered(all_of_it))


def test_flooding_has_no_tables() -> None:
    assert ideal_tables([("a", "b")], {"a": [Pattern.parse("x")]}, "flooding") == {"a": set(), "b": set()}


def test_a_lone_broker_has_an_empty_table() -> None:
    assert ideal_tables([], {"a": [Pattern.parse("x")]}, "subscription-forwarding") == {"a": set()}


def test_a_long_line_needs_no_deep_recursion() -> None:
    edges = shape_edges("line", names(3_000), random.Random(0))
    tables = ideal_tables(edges, {"b1": [Pattern.parse("x")]}, "subscription-forwarding")
    assert tables["b3000"] == {("b2999", Pattern.parse("x"))}


@pytest.mark.parametrize("edges", [["ab", "bc", "ca"], ["xy", "ab", "bc", "cd", "db"]])
def test_links_that_form_a_cycle_have_no_ideal_tables(edges: list[str]) -> None:
    with pytest.raises(NoForest, match="form a cycle"):
        ideal_tables([(one, other) for one, other in edges], {"a": [Pattern.parse("x")]}, "subscription-forwarding")
