"""Deferred: the removal waits until the insertion has spread (errata, section 1)."""

from __future__ import annotations

from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.trace.records import Kind
from reknit.wire.messages import Flush, Sub, Unsub
from tests.sim.heard import Stage

P, Q = Pattern.parse("p"), Pattern.parse("q")


def test_what_the_lost_neighbour_wanted_stays_until_the_time_is_over() -> None:
    """Section 1.2, step 4: send nothing, and keep the entries."""
    stage = Stage("a-b a-x b-y", {"y": [P]}, defer_s=0.3)
    stage.unplanned("deferred", "a x", "b")
    stage.wait(0.2)
    assert stage.words() == []
    assert stage.entries("a") == [("b", "p")]
    stage.wait(0.2)
    assert stage.words() == [("a", "x", Unsub([P]))]
    assert stage.entries("a") == []


def test_routes_that_both_ways_share_survive() -> None:
    """Section 1.1: with the new link from x, the route from x to a is not torn down before it is known to be void."""
    stage = Stage("a-b a-x x-z b-y", {"y": [P], "a": [P]}, defer_s=0.3)
    change = stage.unplanned("deferred", "a x", "b")
    stage.wait(0.1)
    stage.come(change)
    stage.rest()
    assert stage.wrong() == []
    assert [word for word in stage.words(Sub, Unsub) if "z" in word[:2]] == []


def test_no_event_goes_to_a_lost_neighbour() -> None:
    stage = Stage("a-b a-x b-y", {"y": [P]}, defer_s=0.3)
    stage.unplanned("deferred", "a x", "b")
    stage.publish("x", "pam", Event("p"))
    stage.wait(0.2)
    forwarded = [(each.node, each.peer) for each in stage.records if each.kind is Kind.FORWARDED]
    assert forwarded == [("x", "a")]


def test_a_broker_that_the_loss_has_isolated_defers_nothing() -> None:
    """Section 1.2, step 3."""
    stage = Stage("a-b b-y", {"y": [P]}, defer_s=0.3)
    stage.unplanned("deferred", "a", "y b")
    assert stage.entries("a") == []
    assert stage.nodes["a"].broker is not None
    assert stage.nodes["a"].broker.replacing.at_rest


def test_a_flush_behind_the_subscriptions_ends_the_wait() -> None:
    """Sections 1.4 and 1.5: notified; both ends of the new link send one, and each ends at an end of the old link."""
    stage = Stage("a-b a-x x-z b-y", {"y": [P], "z": [Q]}, defer_s=30.0, notified=True)
    change = stage.unplanned("deferred", "a x", "y b")
    stage.wait(0.1)
    stage.come(change)
    stage.wait(0.5)
    assert stage.is_calm()
    assert stage.wrong() == []
    assert sorted(word[:2] for word in stage.words(Flush)) == [
        ("x", "a"),
        ("x", "y"),
        ("x", "z"),
        ("y", "b"),
        ("y", "x"),
    ]


def test_a_flush_that_comes_after_the_time_merely_floods_on() -> None:
    stage = Stage("a-b a-x b-y", {"y": [P]}, defer_s=0.01, notified=True)
    change = stage.unplanned("deferred", "a x", "y b")
    stage.wait(0.1)
    stage.come(change)
    stage.rest()
    assert stage.wrong() == []


def test_a_neighbour_that_is_back_says_itself_what_it_wants() -> None:
    """Section 1.3: only "if d has not reconnected and re-subscribed meanwhile"."""
    stage = Stage("a-b a-x b-y", {"y": [P]}, defer_s=5.0)
    stage.unplanned("deferred", "a x", "b")
    stage.wait(0.1)
    stage.add_link("a", "b")
    stage.rest()
    assert stage.wrong() == []
    assert stage.entries("a") == [("b", "p")]
