"""Which community includes which."""

from __future__ import annotations

import pytest

from reknit.community.hierarchy import BadHierarchy, Hierarchy, came_rightly, filter_of, includes
from reknit.model.topic import BadTopic, topic_matches


def test_above_a_topic_are_its_levels_and_then_the_root() -> None:
    hierarchy = Hierarchy({})
    assert hierarchy.parents("soccer/italy/roma") == ("soccer/italy",)
    assert hierarchy.ladder("soccer/italy") == ("soccer/italy", "soccer", "#")
    assert hierarchy.parents("#") == ()


def test_what_begins_with_a_dollar_is_not_below_the_root() -> None:
    assert Hierarchy({}).parents("$SYS") == ()
    assert not includes("#", "$SYS/broker")


@pytest.mark.parametrize("community", ["#", "a", "a/b", "$SYS"])
@pytest.mark.parametrize("topic", ["a", "a/b", "a/b/c", "ab", "a/bc", "$SYS/x", "b"])
def test_a_community_is_the_subscription_to_its_topic_and_all_below(community: str, topic: str) -> None:
    assert includes(community, topic) == topic_matches(filter_of(community), topic)


def test_several_parents_each_with_their_own() -> None:
    hierarchy = Hierarchy({"soccer/italy": ("soccer", "italy")})
    assert hierarchy.parents("soccer/italy") == ("soccer", "italy")
    assert hierarchy.ladder("italy") == ("italy", "#")
    assert Hierarchy({"a": ()}).parents("a") == ()


def test_a_cycle_is_refused_however_long() -> None:
    with pytest.raises(BadHierarchy, match="above itself"):
        Hierarchy({"a": ("a",)})
    with pytest.raises(BadHierarchy, match="above itself"):
        Hierarchy({"a": ("b/c",), "b": ("a",)})


def test_a_parent_must_be_a_topic() -> None:
    with pytest.raises(BadTopic):
        Hierarchy({"a": ("b/+",)})


def test_an_event_may_come_by_its_name_or_by_its_way() -> None:
    assert came_rightly("soccer", (), "soccer/italy")
    assert came_rightly("italy", ("soccer/italy",), "soccer/italy/roma")
    assert not came_rightly("italy", (), "soccer/italy")
    assert not came_rightly("italy", ("tennis",), "soccer/italy")


def test_a_way_that_is_a_cycle_is_none() -> None:
    assert not came_rightly("soccer", ("soccer", "italy"), "soccer")
    assert not came_rightly("soccer", ("a", "b", "a"), "soccer")
