"""Exactly what a session has had: run by run where it comes from, one by one where it has come."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from reknit.core.sessions.guard import GIVEN_MAX, Guard, union
from reknit.core.turn import Turn
from reknit.wire.codec import RUNS_MAX
from tests.core.desk import event


def _guard(watch_s: float = 10.0) -> Guard:
    guard = Guard(Turn("b1", observing=False, keeping=False))
    guard.watch_s = watch_s
    return guard


@given(st.lists(st.tuples(st.integers(1, 60), st.integers(0, 9))))
def test_a_union_has_the_same_numbers_in_runs_that_are_apart(pairs: list[tuple[int, int]]) -> None:
    runs = [(first, first + more) for first, more in pairs]
    found = union(runs)
    assert {each for first, last in found for each in range(first, last + 1)} == {
        each for first, last in runs for each in range(first, last + 1)
    }
    assert all(one[1] + 1 < other[0] for one, other in pairwise(found))
    guard = _guard()
    guard.expect("ann", {"s.1": found})
    for seq in range(1, 75):
        assert guard.has_had(event("a", seq, "s.1"), "ann") is any(first <= seq <= last for first, last in runs)


def test_of_a_source_that_is_not_named_nothing_is_known() -> None:
    guard = _guard()
    guard.expect("ann", {"s.1": []})
    assert guard.has_had(event("a", 1, "s.1"), "ann") is False
    assert guard.has_had(event("a", 1, "t.1"), "ann") is None
    assert guard.has_had(event("a", 1, "s.1"), "bob") is None
    guard.forget("ann")
    assert guard.has_had(event("a", 1, "s.1"), "ann") is None
    assert not guard


def test_whoever_is_watched_is_given_nothing_twice() -> None:
    guard = _guard()
    guard.expect("ann", {})
    assert [guard.give(event("a", seq, "s.1"), "ann") for seq in (1, 2, 1)] == [True, True, False]
    assert guard.give(event("a", 1, "s.1"), "bob")
    assert (guard.is_watched("ann"), guard.is_watched("bob")) == (True, False)
    guard.turn.now = 9.9
    assert (guard.over(), guard.is_watched("ann")) == ([], True)
    guard.turn.now = 10.0
    assert (guard.over(), guard.is_watched("ann"), bool(guard)) == (["ann"], False, False)


def test_a_watch_ends_when_it_is_too_much_to_write_down() -> None:
    guard = _guard()
    guard.expect("ann", {"t.1": [(1, 1)]})
    for seq in range(GIVEN_MAX):
        guard.give(event("a", seq + 1, "s.1"), "ann")
    assert guard.is_watched("ann")
    guard.give(event("a", GIVEN_MAX + 1, "s.1"), "ann")
    assert not guard.is_watched("ann")
    assert guard.has_had(event("a", 1, "t.1"), "ann")


def test_who_leaves_has_had_what_came_by_and_what_it_had_before() -> None:
    guard = _guard()
    here = [("s.1", [(1, 4), (7, 7)])]
    assert guard.brings("bob", {"s.1": 7}, {}, here) == {"s.1": [(1, 4), (7, 7)]}
    guard.expect("ann", {"s.1": [(3, 5)]})
    for seq in range(GIVEN_MAX + 1):  # too much to write down
        guard.give(event("a", seq + 1, "u.1"), "ann")
    assert guard.brings("ann", {"s.1": 7}, {"s.1": 9, "t.1": 3}, here) == {"s.1": [(1, 5), (7, 7)], "t.1": [(1, 3)]}


def test_who_leaves_while_it_is_watched_has_had_only_what_it_was_given() -> None:
    guard = _guard()
    guard.expect("ann", {"s.1": [(3, 5)]})
    guard.give(event("a", 7, "s.1"), "ann")
    assert guard.brings("ann", {"s.1": 9, "t.1": 4}, {}, [("s.1", [(1, 9)])]) == {"s.1": [(3, 5), (7, 7)], "t.1": []}


def test_no_more_is_told_than_there_is_room_for() -> None:
    here = [(f"s.{number}", [(each, each) for each in range(1, 512, 2)]) for number in range(20)]
    told = _guard().brings("ann", {}, {}, here)
    assert 0 < len(told) < 20
    assert sum(map(len, told.values())) + len(told) <= RUNS_MAX


def test_whoever_comes_again_is_watched_from_then_on_and_the_first_ends_first() -> None:
    guard = _guard(watch_s=10.0)
    for now, client in ((0.0, "ann"), (1.0, "bob"), (2.0, "ann")):
        guard.turn.now = now
        guard.remember(client)
    guard.turn.now = 11.5
    assert guard.over() == ["bob"]
    assert guard.remembers("ann")
    guard.turn.now = 12.0
    assert guard.over() == ["ann"]
