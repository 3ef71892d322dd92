"""What a session brings along: numbers of sources that its new broker has not seen."""

from __future__ import annotations

from reknit.core.io import DropHad, KeepHad
from reknit.core.sessions.copies import Copies
from reknit.core.turn import Turn
from reknit.wire.codec import HAD_EVENTS_MAX
from tests.core.desk import event


def _turn(keeping: bool = False) -> Turn:
    return Turn("b1", observing=False, keeping=keeping)


def test_only_what_the_new_broker_has_not_seen_is_kept() -> None:
    copies = Copies(_turn(), {"x.1": 5}, "own.1")
    copies.expect("ann", {"x.1": 5, "y.1": 0})
    assert not copies
    copies.expect("ann", {"x.1": 5, "y.1": 3}, {"y.1": 4})
    assert copies.of("ann") == {"y.1": 4}
    assert copies.of("bob") == {}


def test_a_copy_is_one_for_the_session_that_brought_the_number_and_for_no_other() -> None:
    copies = Copies(_turn(), {}, "own.1")
    copies.expect("ann", {"y.1": 4})
    assert copies.is_one(event("a", 4, "y.1"), "ann")
    assert not copies.is_one(event("a", 4, "y.1"), "bob")
    assert not copies.is_one(event("a", 1, "z.1"), "ann")
    assert not copies.is_one(event("a", 5, "y.1"), "ann")
    assert not copies  # numbers only rise, so it is of no use any more


def test_what_the_broker_sees_meanwhile_need_not_be_brought_further() -> None:
    seen: dict[str, int] = {}
    copies = Copies(_turn(), seen, "own.1")
    copies.expect("ann", {"y.1": 4, "z.1": 2})
    seen["y.1"] = 6
    assert copies.of("ann") == {"z.1": 2}
    assert copies.brings("ann") == {"y.1": 6, "z.1": 2}
    copies.forget("ann")
    assert not copies


def test_what_was_published_here_it_takes_along_too() -> None:
    copies = Copies(_turn(), {"b2.1": 5}, "b1.1")
    assert copies.brings("ann") == {"b2.1": 5}
    copies.last_of_own = lambda: 9
    copies.expect("ann", {"b2.1": 7})
    assert copies.brings("ann") == {"b2.1": 7, "b1.1": 9}
    assert copies.of("ann") == {"b2.1": 7}


def test_a_next_life_knows_it_too_for_as_long_as_it_is_of_use() -> None:
    turn, seen = _turn(keeping=True), {"y.1": 3}
    copies = Copies(turn, seen, "own.1")
    copies.expect("ann", {"y.1": 4})
    copies.expect("bob", {"y.1": 3})
    copies.keep("ann")
    copies.keep("bob")
    assert turn.effects == [KeepHad("ann", {"y.1": 4})]
    assert not copies.is_one(event("a", 5, "y.1"), "ann")
    assert turn.effects[1:] == [DropHad("ann")]


def test_what_the_life_before_kept_goes_if_it_says_no_more_than_what_came_by() -> None:
    turn = _turn(keeping=True)
    copies = Copies(turn, {}, "own.2")
    copies.expect("ann", {"y.1": 3}, {"y.1": 4})
    copies.recall(["ann", "bob"])
    assert copies.of("ann") == {"y.1": 4}
    assert turn.effects == [DropHad("bob")]
    copies.forget("ann")
    assert turn.effects[1:] == [DropHad("ann")]


def test_without_a_store_nothing_is_kept() -> None:
    turn = _turn()
    copies = Copies(turn, {}, "own.1")
    copies.expect("ann", {"y.1": 4})
    copies.keep("ann")
    copies.forget("ann")
    assert turn.effects == []


def test_what_came_past_the_tree_is_known_by_itself() -> None:
    old, new = Copies(_turn(), {}, "b1.1"), Copies(_turn(), {}, "b2.1")
    old.came_back(event("a", 7, "s.1"), "ann")
    assert old.had("bob") == []
    new.expect_had("ann", old.had("ann"))
    assert new.is_one(event("a", 7, "s.1"), "ann")
    assert not new.is_one(event("a", 6, "s.1"), "ann")
    assert not new.is_one(event("a", 7, "s.1"), "bob")
    new.forget("ann")
    assert not new.is_one(event("a", 7, "s.1"), "ann")


def test_no_more_of_it_is_remembered_than_one_message_may_name() -> None:
    copies = Copies(_turn(), {}, "b1.1")
    copies.expect_had("ann", [("s.1", number) for number in range(HAD_EVENTS_MAX + 5)])
    assert len(copies.had("ann")) == HAD_EVENTS_MAX
    assert not copies.is_one(event("a", 4, "s.1"), "ann")


def test_where_events_may_be_late_a_number_is_kept_as_long_as_the_session() -> None:
    copies = Copies(_turn(), {}, "own.1")
    copies.late = True
    copies.expect("ann", {"y.1": 4})
    assert not copies.is_one(event("a", 5, "y.1"), "ann")
    assert copies.is_one(event("a", 4, "y.1"), "ann")


def test_when_nothing_is_ahead_any_more_the_store_forgets_it_too() -> None:
    turn, seen = _turn(keeping=True), dict[str, int]()
    copies = Copies(turn, seen, "own.1")
    copies.late, copies.runs, copies.guard.watch_s = True, dict[str, list[tuple[int, int]]]().items, 10.0
    copies.expect("ann", {"y.1": 4})
    copies.guard.expect("ann", {"y.1": [(1, 4)]})
    copies.keep("ann")
    seen["y.1"] = 5
    turn.now = 10.0
    assert copies.settle() == ["ann"]
    assert [type(each) for each in turn.effects] == [KeepHad, DropHad]


def test_what_comes_back_is_known_for_a_copy_for_a_while_and_then_only_what_is_ahead_counts() -> None:
    turn = _turn()
    copies = Copies(turn, {"x.1": 9}, "own.1")
    copies.late, copies.runs, copies.guard.watch_s = True, dict[str, list[tuple[int, int]]]().items, 10.0
    copies.expect("ann", {"x.1": 5, "y.1": 4, "own.1": 3})
    copies.guard.expect("ann", {"y.1": [(1, 2), (4, 4)]})
    known = [("x.1", 5), ("y.1", 2), ("y.1", 3), ("own.1", 3), ("own.1", 4)]
    assert [copies.is_one(event("a", seq, source), "ann") for source, seq in known] == [True, True, False, True, False]
    assert copies.settle() == []
    turn.now = 10.0
    assert copies.settle() == ["ann"]
    assert copies.of("ann") == {"own.1": 3, "y.1": 4}
    assert [copies.is_one(event("a", seq, source), "ann") for source, seq in known] == [False, True, True, True, False]


def test_where_events_come_late_what_a_life_before_has_left_is_of_use_for_a_while() -> None:
    """And then as long as this broker has not seen as much itself: it must not grow with the life of a session."""
    turn, seen = _turn(keeping=True), dict[str, int]()
    copies = Copies(turn, seen, "own.1")
    copies.late, copies.runs, copies.guard.watch_s = True, dict[str, list[tuple[int, int]]]().items, 10.0
    copies.expect("ann", {"y.1": 4, "z.1": 2})
    seen["y.1"] = 9
    assert not copies.is_one(event("a", 9, "y.1"), "ann")
    assert copies.is_one(event("a", 3, "y.1"), "ann")  # it has come back
    turn.now = 10.0
    assert copies.settle() == ["ann"]
    assert copies.of("ann") == {"z.1": 2}
    assert copies.is_one(event("a", 2, "z.1"), "ann")
    assert not copies.is_one(event("a", 3, "z.1"), "ann")
    assert not copies
