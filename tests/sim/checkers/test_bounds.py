"""A bound that was reached is seen; a copy that was dropped is no bound."""

from __future__ import annotations

from reknit.sim.checkers.bounds import check_bounds
from reknit.trace.records import NO_CONNECTION
from tests.sim.checkers.telling import Story, event


def test_copies_are_fine() -> None:
    assert list(check_bounds(Story().dropped("b1", event("a", 1), "copy").calm().records)) == []


def test_nor_is_an_event_that_does_not_wait_for_a_connection() -> None:
    assert list(check_bounds(Story().dropped("b1", event("a", 1), NO_CONNECTION).records)) == []


def test_all_else_is_not() -> None:
    story = Story().dropped("b1", event("a", 1), "outbox full").dropped("b2", None, "queue full")
    assert [str(each) for each in check_bounds(story.records)] == [
        "bounds at 0.000 s: b1 dropped ('b1.1', 1): outbox full",
        "bounds at 0.100 s: b2 dropped something: queue full",
    ]
