"""From a wish to moves: bad ones are refused with the reason and the nearest command, which is itself a good one."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reknit.cli._changes.plans import plan_add, plan_drain, plan_link, plan_swap, plan_undo
from reknit.cli._changes.view import View
from reknit.cli._problem import BadInput, Failed
from reknit.core.overlay.history import Deed
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
        (
            "swap b1 b2 b9",
            "there is no broker 'b9' in this network; known: b1, b2, b3, b4, b5; try: reknit swap b1 b2 b3 --dry-run",
        ),
        (
            "swap x1 b4 b3",
            "there is no broker 'x1' in this network; known: b1, b2, b3, b4, b5; try: reknit swap b5 b4 b3 --dry-run",
        ),
        ("swap b1 b5 b33", "b33' in this network; known: b1, b2, b3, b4, b5; try: reknit swap b1 b2 b3 --dry-run"),
        ("swap b1 b2 b1", "a swap needs three different brokers; try: reknit swap b1 b2 b3"),
        (
            "swap b1 b2 b4",
            "b4 is no neighbour of b2, which is linked with b1, b3; try: reknit link replace b1 b2 --with",
        ),
        ("swap b1 b4 b3", "b1 is no neighbour of b4, which is linked with b3, b5; try: reknit swap b1 b2 b3"),
        ("swap b2 b1 b3", "b2 and b3 are linked already"),
        ("link replace b1 b2 --with b2 b5", "would be split; try: reknit link replace b2 b3 --with b2 b5"),
        ("link replace b1 b2 --with b2 b3", "linked already; try: reknit link replace b1 b2 --with b1 b3"),
        ("link replace b1 b2 --with b1 b1", "with itself; try: reknit link replace b1 b2 --with b1 b3"),
        ("link replace b1 b3 --with b1 b2", "b1 is linked with b2; try: reknit link replace b1 b2 --with b1 b3"),
        ("link replace b1 b3 --with b1 b4", "b1 is linked with b2; try: reknit link replace b1 b2 --with b1 b4"),
        ("link replace b1 b2 --with b1 b1", "b1 cannot be linked with itself"),
        (
            "link replace b1 b2 --with b1 nn",
            "there is no broker 'nn' in this network; known: b1, b2, b3, b4, b5; try: rek",
        ),
        ("link replace b1 b9 --with b1 b4", "b4, b5; try: reknit link replace b1 b2 --with b1 b4 --dry-run"),
        (
            "swap b1 b2 b33",
            "there is no broker 'b33' in this network; known: b1, b2, b3, b4, b5; try: reknit swap b1 b2 b3",
        ),
        ("link replace b1 b9 --with b1 nn", "there is no broker 'b9' in this network; known: b1, b2, b3, b4, b5"),
        ("link replace b1 b2 --with b4 b5", "b4 and b5 are linked already"),
    ],
)
def test_what_is_refused_says_why_and_what_would_do(words: str, line: str) -> None:
    assert line in refused(LINE, words.split())


@given(st.integers(0, 2**32), st.integers(3, 12))
def test_there_is_always_a_nearest_command_and_it_is_a_good_one(seed: int, count: int) -> None:
    rng = random.Random(seed)
    edges = shape_edges("random", names(count), rng)
    a, b, c, d = (rng.choice([*names(count), "nobody"]) for _ in range(4))
    for words in (["swap", a, b, c], ["link", "replace", a, b, "--with", c, d]):
        try:
            plan(edges, words)
        except BadInput as error:
            *_, nearest = str(error).partition("reknit ")
            plan(edges, nearest.removesuffix(" --dry-run").split())


def test_where_there_is_nothing_to_be_swapped_nothing_is_proposed() -> None:
    assert refused([("b1", "b2")], ["swap", "b1", "b2", "b1"]).endswith("a swap needs three different brokers")


@pytest.mark.parametrize(
    ("routing", "covering", "strategy", "why"),
    [
        (
            "global-table",
            False,
            "path",
            "path needs the routing subscription-forwarding at b1; strawman works with any",
        ),
        ("flooding", False, "deferred", "deferred needs the routing subscription-forwarding at b1"),
        (
            "subscription-forwarding",
            True,
            "path-batched",
            "path-batched does not work with covering, which is on at b1",
        ),
    ],
)
def test_a_strategy_that_brokers_cannot_use_as_they_route_is_refused_before_anybody_is_asked(
    routing: str, covering: bool, strategy: str, why: str
) -> None:
    said = {
        name: {"neighbours": {other: {} for other in others}, "routing": routing, "covering": covering}
        for name, others in adjacency(LINE).items()
    }
    with pytest.raises(BadInput, match=f"link replace: {why}.*; try: reknit link replace b2 b3 --with b1 b5$"):
        plan_link(View(said, {}), ("b2", "b3"), ("b1", "b5"), strategy)
    assert plan_link(View(said, {}), ("b2", "b3"), ("b1", "b5"), "strawman").moves


def test_the_nearest_command_keeps_the_strategy() -> None:
    with pytest.raises(BadInput, match=r"; try: reknit link replace b2 b3 --with b2 b5 --strategy path$"):
        plan_link(view_of(LINE), ("b1", "b2"), ("b2", "b5"), "path")


def test_another_tree_is_to_be_joined_first() -> None:
    line = refused([*LINE, ("x1", "x2")], ["link", "replace", "b1", "b2", "--with", "b1", "x1"])
    assert line.endswith("the old tree would be split; try: reknit link add b1 x1")


def test_a_link_slides_as_one_change_of_several_moves() -> None:
    found = plan_link(view_of(LINE), ("b2", "b3"), ("b1", "b5"), "swap")
    assert [str(move) for move in found.moves] == ["swap b3 b2 b1", "swap b1 b3 b4", "swap b1 b4 b5"]
    assert found.said(done=True) == "b3 - b2 has become b1 - b5"
    assert found.brokers == ["b1", "b2", "b3", "b4", "b5"]
    assert found.of.startswith("replace.")
    assert plan_swap(view_of(LINE), Step("b1", "b2", "b3")).of == ""


@pytest.mark.parametrize("strategy", ["strawman", "deferred", "path", "path-batched"])
def test_a_link_is_replaced_at_once_by_one_move_along_the_path(strategy: str) -> None:
    found = plan_link(view_of(LINE), ("b2", "b3"), ("b5", "b1"), strategy)
    assert found.moves == (Deed("replace", ("b2", "b1", "b5", "b4", "b3"), strategy, 1),)
    assert found.said(done=False) == "b2 - b3 would become b1 - b5"
    assert (found.of, found.brokers) == ("", ["b1", "b2", "b3", "b4", "b5"])
    with pytest.raises(BadInput, match="would be split; try: reknit link replace b2 b3 --with b2 b5"):
        plan_link(view_of(LINE), ("b1", "b2"), ("b2", "b5"), strategy)


def test_a_replacement_is_undone_along_the_path_that_there_is_then() -> None:
    done = [Deed("replace", ("b2", "b1", "b5", "b4", "b3"), "path", 1)]
    there: list[Edge] = [("b1", "b2"), ("b1", "b5"), ("b3", "b4"), ("b4", "b5")]
    (move,) = plan_undo(view_of(there), "change undo x", done, {}).moves
    assert str(move) == "link replace b1 b5 --with b2 b3 --strategy path"
    assert move.brokers == ("b1", "b2", "b3", "b4", "b5")
    other: list[Edge] = [("b1", "b2"), ("b1", "b5"), ("b3", "b5"), ("b4", "b5")]
    (move,) = plan_undo(view_of(other), "change undo x", done, {}).moves
    assert move.brokers == ("b1", "b2", "b3", "b5")
    with pytest.raises(BadInput, match="change undo x: there is no link b1 - b5"):
        plan_undo(view_of(LINE), "change undo x", done, {})


def test_a_strategy_that_is_none_is_named() -> None:
    with pytest.raises(BadInput, match="no strategy 'magic'; there are: swap, strawman, deferred, path, path-batched"):
        plan_link(view_of(LINE), ("b1", "b2"), ("b1", "b3"), "magic")


def test_an_undo_goes_back_the_same_way_and_is_refused_where_that_is_gone() -> None:
    done = [Deed("swap", ("b1", "b2", "b3")), Deed("swap", ("b1", "b3", "b4"))]
    tree: list[Edge] = [("b1", "b4"), *LINE[1:]]
    undo = plan_undo(view_of(tree), "change undo x", done, {})
    assert [str(move) for move in undo.moves] == ["swap b1 b4 b3", "swap b1 b3 b2"]
    with pytest.raises(BadInput, match="change undo x: b1 and b3 are linked already"):
        plan_undo(view_of([("b1", "b3"), *LINE[1:]]), "change undo x", done, {})


def test_a_broker_in_the_middle_is_drained_when_the_links_of_the_others_are_swapped_over() -> None:
    star: list[Edge] = [("b1", "b2"), ("b1", "b3"), ("b1", "b4")]
    found = plan_drain(view_of(star), "b1", "b3")
    assert [str(move) for move in found.moves] == ["swap b2 b1 b3", "swap b4 b1 b3", "broker drain b1 --to b3"]
    assert found.of.startswith("drain.")
    assert found.said(done=False) == "b1 would leave, and its clients would be with b3"
    leaf = plan_drain(view_of(star), "b2")
    assert ([str(move) for move in leaf.moves], leaf.of) == (["broker drain b2 --to b1"], "")


def test_what_cannot_be_drained_or_added_is_refused_with_the_reason() -> None:
    with pytest.raises(BadInput, match="b4 is no neighbour of it; try: reknit broker drain b1 --to b2"):
        plan_drain(view_of(LINE), "b1", "b4")
    with pytest.raises(BadInput, match=r"the last broker of its network: .*; try: reknit broker add NAME --link b1"):
        plan_drain(View({"b1": {"neighbours": {}}}, {}), "b1")
    with pytest.raises(BadInput, match="linked with nobody, who could take its clients; try: reknit link add b1 b2"):
        plan_drain(View({"b1": {"neighbours": {}}, "b2": {"neighbours": {}}}, {}), "b2")
    taken = "there is a broker 'b3' already; choose another name; try: reknit broker add b6 --link b1"
    with pytest.raises(BadInput, match=taken):
        plan_add(view_of(LINE), "b3", "b1")
    with pytest.raises(BadInput, match=r"there is no broker 'b13'.*; try: reknit broker add b8 --link b3$"):
        plan_add(view_of(LINE), "b8", "b13")
    with pytest.raises(BadInput, match=r"there is no broker 'b13'.*; try: reknit broker drain b3 --dry-run$"):
        plan_drain(view_of(LINE), "b13")


def test_links_that_move_each_for_itself_are_counted_not_named() -> None:
    done = [Deed("swap", (name, "b1", "b3")) for name in ("b2", "b4")]
    edges = [("b2", "b3"), ("b4", "b3"), ("b1", "b3")]
    plan = plan_undo(view_of(edges), "change undo x", done, {})
    assert (plan.said(done=True), plan.said(done=False)) == ("2 links have moved", "2 links would move")


def test_a_drain_is_undone_by_a_broker_more_and_the_other_way_round() -> None:
    done = [Deed("swap", ("b3", "b9", "b2")), Deed("drain", ("b9", "b2"))]
    undo = plan_undo(view_of(LINE), "change undo x", done, {})
    assert [str(move) for move in undo.moves] == ["broker add b9 --link b2", "swap b3 b2 b9"]
    assert undo.said(done=True) == "b9 is linked with b2"
    with pytest.raises(BadInput, match="change undo x: there is a broker 'b9' again"):
        plan_undo(view_of([*LINE, ("b5", "b9")]), "change undo x", done, {})
    (move,) = plan_undo(view_of(LINE), "change undo x", [Deed("add", ("b5", "b4"))], {}).moves
    assert str(move) == "broker drain b5 --to b4"
    with pytest.raises(BadInput, match="b4 has other links by now; try: reknit broker drain b4"):
        plan_undo(view_of(LINE), "change undo x", [Deed("add", ("b4", "b3"))], {})


def test_a_change_is_not_undone_before_a_broker_of_it_that_has_left_since_is_back() -> None:
    done, left = [Deed("swap", ("b1", "b9", "b2"))], {"b9": "drain.32bcf735-2"}
    with pytest.raises(BadInput, match=r"^change undo x: b9 has left since; try: reknit change undo drain.32bcf735-2$"):
        plan_undo(view_of(LINE), "change undo x", done, left)
    back: list[Edge] = [("b2", "b9"), *LINE]
    (move,) = plan_undo(view_of(back), "change undo x", done, left).moves
    assert move == Deed("swap", ("b1", "b2", "b9"))


def test_a_broker_that_does_not_answer_is_a_failure_and_a_door_that_is_not_known_is_asked_for() -> None:
    with pytest.raises(Failed, match="b2 is deaf"):
        plan_swap(view_of(LINE, {"b2": "b2 is deaf"}), Step("b1", "b2", "b3"))
    only = View({"b2": {"neighbours": {"b1": {}, "b3": {}}}}, {})
    with pytest.raises(BadInput, match="the operators' door of b1 is not known; give its --admin"):
        plan_swap(only, Step("b1", "b2", "b3"))
