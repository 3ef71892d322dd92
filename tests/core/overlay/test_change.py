"""The reconfiguration path, and a broker's place on it."""

from __future__ import annotations

import pytest

from reknit.core.overlay.change import Place, fault, inverse, make_change
from reknit.wire.messages import Change

FIGURE_3 = make_change("1", "path", list("AEFC"), list("DGB"))


def _place(name: str, change: Change = FIGURE_3) -> Place:
    place = Place.find(change, name)
    assert place is not None
    return place


def test_the_path_of_figure_3() -> None:
    """PATH, section 4.2: "the head path is (A, E, F), the new link is (C, D), the tail path is (G, B)"."""
    assert FIGURE_3.path == list("AEFCDGB")
    assert [name for name in FIGURE_3.path if _place(name).in_head] == list("AEF")
    assert [name for name in FIGURE_3.path if _place(name).is_near] == ["C"]
    assert [name for name in FIGURE_3.path if _place(name).is_far] == ["D"]
    assert [name for name in FIGURE_3.path if _place(name).is_first] == ["A"]
    assert [name for name in FIGURE_3.path if _place(name).is_last] == ["B"]
    assert Place.find(FIGURE_3, "X") is None


def test_the_ends_of_the_links() -> None:
    assert [(_place(name).old_peer, _place(name).new_peer) for name in "ACDBE"] == [
        ("B", ""),
        ("", "D"),
        ("", "C"),
        ("A", ""),
        ("", ""),
    ]
    assert [(_place(name).before, _place(name).behind) for name in "AEB"] == [("B", "E"), ("A", "F"), ("G", "A")]


def test_an_empty_head_and_an_empty_tail() -> None:
    """Section 4.2: empty if the end-points of the removed and of the inserted link "coincide"."""
    no_head, no_tail = make_change("1", "path", ["A"], ["D", "B"]), make_change("1", "path", ["A", "C"], ["B"])
    assert (_place("A", no_head).is_first, _place("A", no_head).is_near, _place("A", no_head).in_head) == (
        True,
        True,
        False,
    )
    assert (_place("B", no_tail).is_last, _place("B", no_tail).is_far) == (True, True)


@pytest.mark.parametrize(
    ("head", "tail", "why"),
    [
        ("", "DB", "the path needs both ends of the new link"),
        ("A", "", "the path needs both ends of the new link"),
        ("AB", "AD", "the path leads over A twice: A - B - A - D"),
        ("A", "B", "the link between A and B would be replaced by itself"),
        ("AEFC", "DGB", ""),
        ("A", "DB", ""),
        ("AC", "B", ""),
    ],
)
def test_what_is_no_path(head: str, tail: str, why: str) -> None:
    assert fault(head, tail) == why


def test_undoing_walks_from_the_new_link_to_the_old_one() -> None:
    undo = inverse(FIGURE_3, "2")
    assert (undo.path, undo.near) == (list("CFEABGD"), 3)
    assert inverse(undo, "1") == FIGURE_3
