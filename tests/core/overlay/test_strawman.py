"""The strawman takes everything down and builds it up again."""

from __future__ import annotations

from reknit.model.pattern import Pattern
from reknit.wire.messages import Commit, Snapshot, Unsub
from tests.sim.heard import Stage

P = Pattern.parse("p")


def test_routes_go_at_once_and_come_with_the_new_link() -> None:
    """PATH, section 4.1: between, even brokers off the path have lost their routes."""
    stage = Stage("a-b a-x b-y", {"y": [P]})
    change = stage.unplanned("strawman", "a x", "b")
    stage.wait(0.05)
    assert stage.words() == [("a", "x", Unsub([P]))]
    assert stage.entries("x") == []
    stage.come(change)
    stage.rest()
    assert stage.wrong() == []
    assert sorted(word[:2] for word in stage.words(Snapshot)) == [("b", "x"), ("x", "b")]
    assert stage.edges() == [("a", "x"), ("b", "x"), ("b", "y")]


def test_planned_the_ends_of_the_new_link_hear_when_to_use_it() -> None:
    stage = Stage("a-b a-c b-d", {"d": [P]})
    request = stage.planned("strawman", "a c", "d b")
    stage.rest()
    assert stage.replies[request] == ""
    assert [word[:2] for word in stage.words(Commit)] == [("a", "c"), ("c", "d")]
    assert stage.wrong() == []
    assert stage.edges() == [("a", "c"), ("b", "d"), ("c", "d")]


def test_it_works_with_any_routing() -> None:
    for routing in ("global-table", "flooding"):
        stage = Stage("a-b a-c b-d", {"d": [P]}, routing=routing)
        assert stage.replies.get(stage.planned("strawman", "a c", "d b"), "") == ""
        stage.rest()
        assert stage.edges() == [("a", "c"), ("b", "d"), ("c", "d")]
