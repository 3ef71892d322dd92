"""The overlay is a tree: cycles at any moment, and ends that disagree when all is calm."""

from __future__ import annotations

from reknit.sim.checkers.tree import Forest, check_tree
from tests.sim.checkers.telling import Story


def _found(story: Story) -> list[str]:
    return [each.what for each in check_tree(story.records)]


def test_a_tree_is_accepted() -> None:
    assert _found(Story().network("b1-b2", "b2-b3", "b2-b4")) == []


def test_a_cycle_is_found_when_its_first_end_has_it_and_only_once() -> None:
    story = Story().network("b1-b2", "b2-b3").linked("b3", "b1").linked("b1", "b3")
    assert _found(story) == ["a cycle: b1 - b2 - b3 - b1"]


def test_a_link_counts_as_long_as_one_end_has_it() -> None:
    story = Story().network("b1-b2", "b2-b3").unlinked("b1", "b2").linked("b3", "b1")
    assert len(_found(story)) == 1
    story = Story().network("b1-b2", "b2-b3").unlinked("b1", "b2").unlinked("b2", "b1").linked("b3", "b1")
    assert _found(story) == []


def test_a_link_may_come_back() -> None:
    story = Story().network("b1-b2").unlinked("b1", "b2").linked("b1", "b2").calm()
    assert _found(story) == []


def test_when_all_is_calm_both_ends_must_agree() -> None:
    story = Story().started("b1").started("b2").linked("b1", "b2")
    assert _found(story) == []
    assert _found(story.calm()) == ["b1 holds b2 for a neighbour, b2 does not"]


def test_a_crash_takes_the_memory_of_one_end() -> None:
    story = Story().network("b1-b2").crashed("b1")
    forest = Forest()
    for record in story.records:
        forest.see(record)
    assert forest.edges() == [("b1", "b2")]
    assert forest.path("b1", "b2") == ["b1", "b2"]
    assert _found(story.started("b1").calm()) == ["b2 holds b1 for a neighbour, b1 does not"]


def test_a_forest_has_paths_inside_its_trees_only() -> None:
    forest = Forest()
    for record in Story().network("b1-b2", "b3-b4").records:
        forest.see(record)
    assert forest.path("b1", "b2") == ["b1", "b2"]
    assert forest.path("b1", "b4") is None


def test_a_link_that_one_end_has_given_up_is_none_whatever_the_other_comes_back_with() -> None:
    story = Story().network("b1-b2", "b2-b3").lost("b1", "b2").lost("b3", "b2").linked("b1", "b3").linked("b3", "b1")
    assert _found(story) == []  # b2 still holds both
    assert _found(story.crashed("b2").started("b2").linked("b2", "b1").linked("b2", "b3")) == []
    back = story.unlinked("b2", "b1").unlinked("b2", "b3").linked("b1", "b2").linked("b2", "b1")
    assert _found(back) == []
    assert _found(back.linked("b3", "b2")) == ["a cycle: b2 - b1 - b3 - b2"]
