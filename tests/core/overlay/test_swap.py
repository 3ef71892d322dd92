"""Plans by swaps: each step is a swap, the chain ends in the wanted tree, and what cannot be is refused."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reknit.core.overlay.shapes import Edge, find_cycle, find_path, names, shape_edges
from reknit.core.overlay.swap import (
    NoReplacement,
    Step,
    after,
    plan_replacement,
    side_messages,
    swap_messages,
    why_no_swap,
)
from reknit.model.pattern import Pattern
from reknit.wire.messages import Side

LINE: list[Edge] = [("b1", "b2"), ("b2", "b3"), ("b3", "b4")]


def links(edges: list[Edge]) -> set[frozenset[str]]:
    return {frozenset(edge) for edge in edges}


@given(st.integers(0, 2**32), st.integers(3, 30))
def test_a_chain_of_swaps_ends_in_exactly_the_wanted_tree(seed: int, count: int) -> None:
    rng = random.Random(seed)
    brokers = names(count)
    edges = shape_edges(rng.choice(["random", "line", "star", "bushy"]), brokers, rng)
    old = rng.choice(edges)
    rest = [edge for edge in edges if edge != old]
    side = [name for name in brokers if find_path(rest, old[0], name)]
    other = [name for name in brokers if name not in side]
    new = (rng.choice(side), rng.choice(other))
    if set(new) == set(old):
        return
    tree = edges
    for step in plan_replacement(edges, old, rng.choice([new, new[::-1]])):
        assert why_no_swap(tree, step) == ""
        tree = after(tree, step)
        assert find_cycle(tree) is None
        assert len(tree) == len(edges)
    assert links(tree) == links(rest) | {frozenset(new)}


@given(st.integers(0, 2**32), st.integers(3, 20))
def test_what_is_refused_would_leave_no_tree(seed: int, count: int) -> None:
    """Any two links at all: either there is a plan, or the tree without one and with the other is none."""
    rng = random.Random(seed)
    edges = shape_edges("random", names(count), rng)
    old, new = rng.choice(edges), (rng.choice(names(count)), rng.choice(names(count)))
    try:
        plan_replacement(edges, old, new)
    except NoReplacement:
        rest = [edge for edge in edges if edge != old]
        assert set(new) == set(old) or new[0] == new[1] or find_cycle([*rest, new])


def test_the_head_slides_first_and_then_the_tail() -> None:
    assert plan_replacement(LINE, ("b2", "b3"), ("b1", "b4")) == [Step("b3", "b2", "b1"), Step("b1", "b3", "b4")]
    assert plan_replacement(LINE, ("b1", "b2"), ("b1", "b3")) == [Step("b1", "b2", "b3")]


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (("b1", "b3"), ("b1", "b4"), "there is no link b1 - b3; b1 is linked with b2"),
        (("b1", "b2"), ("b2", "b2"), "b2 cannot be linked with itself"),
        (("b1", "b2"), ("b2", "b1"), "the new link is the old one: b1 - b2"),
        (("b1", "b2"), ("b3", "b4"), "b3 and b4 are linked already"),
        (
            ("b1", "b2"),
            ("b2", "b4"),
            "b2 - b4 would close a cycle (b2 - b3 - b4 - b2), and the tree would be split",
        ),
        (("b1", "b2"), ("b1", "x"), "x is in another tree than b1 - b2, and the old tree would be split"),
    ],
)
def test_a_replacement_that_is_none(old: Edge, new: Edge, why: str) -> None:
    with pytest.raises(NoReplacement) as refused:
        plan_replacement([*LINE, ("x", "y")], old, new)
    assert str(refused.value) == why


@pytest.mark.parametrize(
    ("step", "why"),
    [
        (Step("b1", "b2", "b3"), ""),
        (Step("b1", "b2", "b1"), "a swap needs three different brokers"),
        (Step("b1", "b3", "b2"), "b1 and b2 are linked already"),
        (Step("b1", "b3", "b4"), "b1 is no neighbour of b3, which is linked with b2, b4"),
        (Step("b1", "b2", "b4"), "b4 is no neighbour of b2, which is linked with b1, b3"),
    ],
)
def test_a_swap_that_is_none(step: Step, why: str) -> None:
    assert why_no_swap(LINE, step) == why


def test_the_inverse_brings_the_tree_back() -> None:
    step = Step("b1", "b2", "b3")
    assert links(after(after(LINE, step), step.inverse)) == links(LINE)


def test_tables_travel_in_parts_and_an_empty_one_is_said_too() -> None:
    patterns = [Pattern.parse(f"t/{number}", "") for number in range(130)]
    sides = list(side_messages(("a", 1), [("", patterns)], [("x", []), ("y", [])]))
    assert [(side.mover, side.entries[0][0], len(side.entries[0][1])) for side in sides] == [
        (True, "", 64),
        (True, "", 64),
        (True, "", 2),
        (False, "x", 0),
        (False, "y", 0),
    ]
    assert all(isinstance(side, Side) for side in sides)


def test_a_swap_takes_twelve_messages_and_the_tables() -> None:
    step = Step("a", "b", "c")
    assert len(swap_messages(step, "h:1", [], [])) == 12
    assert len(swap_messages(step, "h:1", [("", [])], [("", [Pattern.parse("t", "")])])) == 14
