"""What brokers remember of one change is put together, and a change is found by the beginning of its id."""

from __future__ import annotations

from typing import Any

import pytest

from reknit.cli._changes.told import deeds_of, find, forgotten, left, tell
from reknit.cli._problem import BadInput
from reknit.core.overlay.history import Deed


def entry(name: str, part: str, **more: Any) -> dict[str, Any]:
    plain = {"id": name, "kind": "swap", "brokers": ["a", "b", "c"], "part": part, "begun": 1.0, "ended": 2.0}
    plain |= {"error": "", "of": "", "messages": 4, "bytes": 50, "undo": {"kind": "swap", "brokers": ["a", "c", "b"]}}
    return plain | more


def said(name: str, *history: dict[str, Any], under_way: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"name": name, "under_way": under_way, "waiting": [], "history": list(history)}


def test_the_mover_tells_how_it_went_and_the_others_add_what_they_have_sent() -> None:
    (told,) = tell(
        [
            said("c", entry("a.1", "goal", ended=None, undo=None, begun=1.5)),
            said("b", entry("a.1", "middle", messages=7)),
            said("a", entry("a.1", "mover", of="replace.9")),
        ]
    )
    assert (told.outcome, told.begun, told.ended, told.messages, told.bytes) == ("done", 1.0, 2.0, 15, 150)
    assert [part["broker"] for part in told.parts] == ["a", "b", "c"]
    assert told.of == "replace.9"
    assert told.deed == Deed("swap", ("a", "b", "c"))


def test_what_is_not_done_says_why_and_what_it_waits_for() -> None:
    stage = {"id": "a.2", "stage": "flood", "waits_for": "c"}
    failed = entry("a.1", "mover", error="no", undo=None)
    waits = entry("a.2", "mover", ended=None, undo=None, begun=3.0)
    again = entry("a.3", "mover", ended=None, undo=None, begun=4.0, error="b is busy")
    told = tell([said("a", failed, waits, again, under_way=stage)])
    assert [each.outcome for each in told] == [
        "not done: no",
        "under way: flood, waits for c",
        "will be tried again: b is busy",
    ]
    with pytest.raises(BadInput, match=r"a.1 has changed nothing \(not done: no\), so there is nothing to be undone"):
        deeds_of(find(told, "a.1"))


def test_what_may_be_done_can_be_undone_if_the_tree_says_so() -> None:
    (told,) = tell([said("a", entry("a.1", "first", error="begun, but not known to be over", unsure=True))])
    assert told.outcome == "perhaps done: begun, but not known to be over; the tree says whether: reknit topology"
    assert deeds_of([told]) == [Deed("swap", ("a", "b", "c"))]


def test_where_the_mover_has_forgotten_the_others_tell() -> None:
    (told,) = tell([said("a"), said("b", entry("a.1", "middle"))])
    assert told.outcome == "done"


def test_a_change_is_found_by_its_beginning_and_a_larger_one_with_all_its_steps() -> None:
    changes = tell(
        [
            said(
                "a",
                entry("a.17", "mover"),
                entry("a.18", "mover", of="replace.5", begun=3.0),
                entry("a.29", "mover", of="replace.5", begun=4.0, brokers=["a", "c", "d"]),
                entry("a.1", "mover", begun=9.0),
            )
        ]
    )
    assert [told.id for told in find(changes, "a.17")] == ["a.17"]
    assert [told.id for told in find(changes, "a.1")] == ["a.1"]
    assert deeds_of(find(changes, "rep")) == [Deed("swap", ("a", "b", "c")), Deed("swap", ("a", "c", "d"))]
    with pytest.raises(BadInput, match=r"'a' may be a.1 or a.17 or a.18 or a.29; give more of it"):
        find(changes, "a")
    with pytest.raises(
        BadInput, match=r"no broker remembers a change 'x'; the last one is a.1; try: reknit change show a.1"
    ):
        find(changes, "x", "undo")
    with pytest.raises(BadInput, match=r"no broker remembers a change 'a.28'; try: reknit change undo a.29 "):
        find(changes, "a.28", "undo")
    with pytest.raises(BadInput, match="there are none"):
        find([], "x")


def test_steps_of_a_larger_change_that_nobody_remembers_are_missed() -> None:
    changes = tell([said("a", entry("a.1", "mover", of="drain.9-3"), entry("a.2", "mover", of="drain.9-3", begun=2.0))])
    assert forgotten(find(changes, "drain.9"), "drain.9") == (
        "drain.9-3: of its 3 steps 2 are known to be done; the others were not, or who made them has left"
    )
    assert forgotten(find(changes, "a.1"), "a.1") == ""
    whole = tell([said("a", entry("a.1", "mover", of="swap.9-1"))])
    assert forgotten(find(whole, "swap.9"), "swap.9") == ""


def test_whoever_has_left_does_not_say_what_it_has_sent_and_by_which_change_it_has_left_is_known() -> None:
    drain = entry("b.2", "heir", kind="drain", brokers=["b", "c"], of="drain.7-2", messages=0, begun=3.0)
    added = entry("d.1", "new", kind="add", brokers=["d", "c"], begun=4.0)
    changes = tell([said("a", entry("a.1", "mover")), said("c", entry("a.1", "goal"), drain), said("d", added)])
    assert [(told.id, told.unknown) for told in changes] == [("a.1", ["b"]), ("b.2", ["b"]), ("d.1", [])]
    assert left(changes) == {"b": "drain.7-2"}
