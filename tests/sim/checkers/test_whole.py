"""Whoever was connected is connected again, whatever has died; what is lost for good is not asked for."""

from __future__ import annotations

from reknit.sim.checkers.whole import check_whole
from reknit.trace.records import DRAINED
from tests.sim.checkers.telling import Story


def _found(story: Story) -> list[str]:
    return [each.what for each in check_whole(story.records)]


def test_parts_that_were_never_connected_are_not_asked_for() -> None:
    assert _found(Story().network("b1-b2", "b3-b4").calm().calm()) == []


def test_a_tree_that_falls_apart_is_found_when_all_is_calm() -> None:
    story = Story().network("b1-b2", "b2-b3").calm().unlinked("b2", "b3").unlinked("b3", "b2")
    assert _found(story) == []
    assert _found(story.calm()) == ["b1 and b3 were connected, and are not any more"]


def test_another_way_will_do() -> None:
    story = Story().network("b1-b2", "b2-b3").calm().unlinked("b2", "b3").unlinked("b3", "b2")
    assert _found(story.linked("b1", "b3").linked("b3", "b1").calm()) == []


def test_the_dead_are_not_asked_for_but_those_behind_them_are() -> None:
    story = Story().network("b1-b2", "b2-b3").calm().crashed("b2").unlinked("b1", "b2").unlinked("b3", "b2")
    assert _found(story.calm()) == ["b1 and b3 were connected, and are not any more"]
    again = Story().network("b1-b2", "b2-b3").calm().crashed("b2").unlinked("b1", "b2").unlinked("b3", "b2")
    assert _found(again.linked("b1", "b3").linked("b3", "b1").calm()) == []


def test_one_that_was_drained_is_not_asked_for_but_those_behind_it_are() -> None:
    story = Story().network("b1-b2", "b2-b3").calm().changed("b3", DRAINED).unlinked("b2", "b3").unlinked("b3", "b2")
    assert _found(story.crashed("b3").started("b3").calm()) == []
    torn = Story().network("b1-b2", "b2-b3").calm().changed("b2", DRAINED).unlinked("b1", "b2").unlinked("b3", "b2")
    torn.unlinked("b2", "b1").unlinked("b2", "b3")
    assert _found(torn.calm()) == ["b1 and b3 were connected, and are not any more"]
