"""The clients' own word against what their brokers hold."""

from __future__ import annotations

from reknit.model.pattern import Pattern
from reknit.sim.checkers.wishes import check_wishes
from tests.sim.checkers.telling import Story

A, B = Pattern.parse("a"), Pattern.parse("b")


def test_what_is_wanted_is_held() -> None:
    story = Story().attached("b1", "ann", "a", "b").unsubscribed("b1", "ann", "b")
    assert list(check_wishes(story.records, {("b1", "ann"): [A]})) == []


def test_what_is_not_held_and_what_is_held_too_long() -> None:
    story = Story().attached("b1", "ann", "b")
    [found] = check_wishes(story.records, {("b1", "ann"): [A], ("b1", "ben"): []})
    assert found.what == "ann at b1: not held ['a'], not wanted any more ['b']"


def test_a_crash_forgets() -> None:
    story = Story().attached("b1", "ann", "a").attached("b2", "ben", "a").crashed("b1").started("b1")
    [found] = check_wishes(story.records, {("b1", "ann"): [A], ("b2", "ben"): [A]})
    assert found.what.startswith("ann at b1: not held ['a']")
