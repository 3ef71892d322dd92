"""Whoever asks for order gets what has come back before its successors, unless they have waited for long enough."""

from __future__ import annotations

from reknit.model.pattern import Pattern
from reknit.sim.checkers.succession import check_succession
from reknit.trace.records import Kind
from tests.sim.checkers.telling import Story, event

A = Pattern.parse("a")
ONE, TWO, THREE = (event("a", number) for number in (1, 2, 3))


def _settled() -> Story:
    story = Story().network("b1-b2").attached("b2", "cay", "a")._add("b1", Kind.ROUTE_ADDED, peer="b2", pattern=A)
    return story._add("b2", Kind.ORDERED, client="cay", pattern=A, detail="0.25").calm()


def _back(story: Story) -> Story:
    return story._add("b2", Kind.RECOVERED, peer="b1", event=ONE).delivered("b2", "cay", ONE)


def _found(story: Story) -> list[str]:
    return [each.what for each in check_succession(story.records)]


def test_what_has_come_back_must_not_stand_behind_its_successor() -> None:
    story = _settled().published("b1", ONE).published("b1", TWO).delivered("b2", "cay", TWO)
    assert _found(_back(story)) == [
        "('b1.1', 1) came back to cay at b2 behind number 2 of the same source, which has not waited for 0.25 s"
    ]


def test_one_that_has_waited_for_too_short_a_time_is_no_excuse() -> None:
    story = _settled().published("b1", ONE).published("b1", TWO)._add("b2", Kind.WAITING, client="cay", event=TWO)
    assert len(_found(_back(story.delivered("b2", "cay", TWO)))) == 1


def test_one_that_has_waited_is_an_excuse_for_all_behind_it() -> None:
    story = _settled().published("b1", ONE).published("b1", TWO)._add("b2", Kind.WAITING, client="cay", event=TWO)
    story.published("b1", THREE).published("b1", event("a", 4)).delivered("b2", "cay", TWO)
    assert _found(_back(story.delivered("b2", "cay", THREE))) == []


def test_nobody_else_is_promised_anything() -> None:
    story = Story().network("b1-b2").attached("b2", "cay", "a").calm()
    story.published("b1", ONE).published("b1", TWO).delivered("b2", "cay", TWO)
    assert _found(_back(story)) == []
    story = _settled()._add("b2", Kind.ORDERED, client="cay", pattern=A, detail="0")
    story.published("b1", ONE).published("b1", TWO).delivered("b2", "cay", TWO)
    assert _found(_back(story)) == []


def test_what_its_publisher_did_not_number_nobody_can_miss() -> None:
    story = _settled()._add("b1", Kind.ROUTE_REMOVED, peer="b2", pattern=A)
    story.published("b1", ONE)._add("b1", Kind.ROUTE_ADDED, peer="b2", pattern=A).published("b1", TWO)
    assert _found(_back(story.delivered("b2", "cay", TWO))) == []


def test_what_was_published_before_the_wish_had_settled_is_not_judged() -> None:
    story = Story().network("b1-b2").published("b1", ONE).attached("b2", "cay", "a")
    story._add("b2", Kind.ORDERED, client="cay", pattern=A, detail="0.25").published("b1", TWO)
    assert _found(_back(story.delivered("b2", "cay", TWO))) == []
