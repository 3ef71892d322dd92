"""From a wish to moves: bad ones are refused with the reason and the nearest command, which is itself a good one."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reknit.cli._changes.plans import plan_link, plan_swap, plan_undo
from reknit.cli._changes.view import View
from reknit.cli._problem import BadInput, Failed
from reknit.core.overlay.shapes import Edge, adjacency, names, shape_edges
from reknit.core.overlay.swap import Step

LINE: list[Edge] = [("b1", "b2"), ("b2", "b3"), ("b3", "b4"), ("b4", "b5")]


def view_of(edges: list[Edge], silent: dict[str, str] | None = None) -> View:
    found = {name: {"neighbours": {other: {} for other in others}} for name, others in adjacency(edges).items()}
    return View({name: said for name, said in found.items() if name not in (silent or {})}, silent or {})


def refused(edges: list[Edge], words: list[str]) -> str:
    with pytest.raises(BadInput) as error:
        plan(edges, words)
    return str(error.value)


def plan(edges: list[Edge], words: list[str]) -> object:
    """What ``reknit WORDS`` would do."""
    if words[0] == "swap":
        return plan_swap(view_of(edges), Step(*words[1:]))
    _, _, a, b, _, c, d = words
    return plan_link(view_of(edges), (a, b), (c, d), "swap")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("swap b1 b2 b9", "there is no broker 'b9' in this network; known: b1, b2, b3, b4, b5"),
        ("swap b1 b2 b33", "there is no broker 'b33' in this network; known: b1, b2, b3, b4, b5; did you mean b3?"),
        ("swap b1 b2 b1", "a swap needs three different brokers; try: reknit swap b1 b2 b3"),
        (
            "swap b1 b2 b4",
            "b4 is no neighbour of b2, which is linked with b1, b3; try: reknit link replace b1 b2 --with",
        ),
        ("swap b1 b4 b3", "b1 is no neighbour of b4, which is linked with b3, b5; try: reknit swap b1 b2 b3"),
        ("swap b2 b1 b3", "b2 and b3 are linked already"),
        ("link replace b1 b2 --with b2 b5", "would be split; try: reknit link replace b2 b3 --with b2 b5"),
        ("link replace b1 b3 --with b1 b4", "b1 is linked with b2; try: reknit link replace b1 b2 --with b1 b4"),
        ("link replace b1 b2 --with b1 b1", "b1 cannot be linked with itself"),
        ("link replace b1 b2 --with b1 nn", "there is no broker 'nn'"),
        ("link replace b1 b2 --with b4 b5", "b4 and b5 are linked already"),
    ],
)
def test_what_is_refused_says_why_and_what_would_do(words: str, line: str) -> None:
    assert line in refused(LINE, words.split())


@given(st.integers(0, 2**32), st.integers(3, 12))
def test_the_nearest_command_is_a_good_one(seed: int, count: int) -> None:
    rng = random.Random(seed)
    edges = shape_edges("random", names(count), rng)
    a, b, c, d = (rng.choice(names(count)) for _ in range(4))
    for words in (["swap", a, b, c], ["link", "replace", a, b, "--with", c, d]):
        try:
            plan(edges, words)
        except BadInput as error:
            if found := re.search(r"reknit (.+)$", str(error)):
                plan(edges, found[1].split())


def test_another_tree_is_to_be_joined_first() -> None:
    line = refused([*LINE, ("x1", "x2")], ["link", "replace", "b1", "b2", "--with", "b1", "x1"])
    assert line.endswith("the old tree would be split; try: reknit link add b1 x1")


def test_a_link_slides_as_one_change_of_several_moves() -> None:
    found = plan_link(view_of(LINE), ("b2", "b3"), ("b1", "b5"), "swap")
    assert [move.title for move in found.moves] == ["swap b3 b2 b1", "swap b1 b3 b4", "swap b1 b4 b5"]
    assert [move.at for move in found.moves] == ["b3", "b1", "b1"]
    assert found.links == (("b3", "b2"), ("b1", "b5"))
    assert found.brokers == ["b1", "b2", "b3", "b4", "b5"]
    assert {move.body["of"] for move in found.moves} == {found.of}
    assert found.of.startswith("replace.")
    assert plan_swap(view_of(LINE), Step("b1", "b2", "b3")).of == ""


def test_a_strategy_that_is_none_is_named() -> None:
    with pytest.raises(BadInput, match="there is no strategy 'magic'; there are: swap"):
        plan_link(view_of(LINE), ("b1", "b2"), ("b1", "b3"), "magic")


def test_an_undo_goes_back_the_same_way_and_is_refused_where_that_is_gone() -> None:
    done = [Step("b1", "b2", "b3"), Step("b1", "b3", "b4")]
    tree: list[Edge] = [("b1", "b4"), *LINE[1:]]
    undo = plan_undo(view_of(tree), "change undo x", done)
    assert [move.step for move in undo.moves] == [Step("b1", "b4", "b3"), Step("b1", "b3", "b2")]
    with pytest.raises(BadInput, match="change undo x: b1 and b3 are linked already"):
        plan_undo(view_of([("b1", "b3"), *LINE[1:]]), "change undo x", done)


def test_a_broker_that_does_not_answer_is_a_failure_and_a_door_that_is_not_known_is_asked_for() -> None:
    with pytest.raises(Failed, match="b2 is deaf"):
        plan_swap(view_of(LINE, {"b2": "b2 is deaf"}), Step("b1", "b2", "b3"))
    only = View({"b2": {"neighbours": {"b1": {}, "b3": {}}}}, {})
    with pytest.raises(BadInput, match="the operators' door of b1 is not known; give its --admin"):
        plan_swap(only, Step("b1", "b2", "b3"))
