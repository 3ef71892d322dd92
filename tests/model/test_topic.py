"""Topic filters: what is well formed, what matches, what covers, and the trie against the plain way."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reknit.model.topic import (
    TOPIC_BYTES_MAX,
    TOPIC_LEVELS_MAX,
    BadTopic,
    TopicIndex,
    check_filter,
    check_topic,
    filter_covers,
    topic_matches,
)
from tests.model.strategies import filters, topics


@pytest.mark.parametrize("topic", ["a", "/", "a//b", "$SYS/x", "city/berlin/traffic", "größe/温度", "a b"])
def test_well_formed_topics(topic: str) -> None:
    check_topic(topic)
    check_filter(topic)


@pytest.mark.parametrize(
    ("topic", "reason"),
    [
        ("", "empty"),
        ("a\0b", "NUL"),
        ("a/+", "wildcard"),
        ("a/#", "wildcard"),
        ("a" * (TOPIC_BYTES_MAX + 1), "longer than"),
        ("é" * (TOPIC_BYTES_MAX // 2 + 1), "longer than"),
        ("/" * TOPIC_LEVELS_MAX, "levels"),
        ("a\ud800", "UTF-8"),
    ],
)
def test_bad_topics_say_why(topic: str, reason: str) -> None:
    with pytest.raises(BadTopic, match=reason):
        check_topic(topic)


@pytest.mark.parametrize("topic_filter", ["#", "+", "+/+", "a/+/b/#", "/#", "+/#", "$SYS/#"])
def test_well_formed_filters(topic_filter: str) -> None:
    check_filter(topic_filter)


@pytest.mark.parametrize(
    ("topic_filter", "reason"), [("a+", "alone"), ("a/b+/c", "alone"), ("#/a", "last"), ("a#", "last"), ("", "empty")]
)
def test_bad_filters_say_why(topic_filter: str, reason: str) -> None:
    with pytest.raises(BadTopic, match=reason):
        check_filter(topic_filter)


@pytest.mark.parametrize(
    ("topic_filter", "topic", "matches"),
    [
        ("a/b", "a/b", True),
        ("a/b", "a/b/c", False),
        ("a/+", "a/b", True),
        ("a/+", "a/", True),
        ("a/+", "a", False),
        ("a/#", "a", True),
        ("a/#", "a/b/c", True),
        ("a/#", "ab", False),
        ("+/+", "/a", True),
        ("+", "/a", False),
        ("#", "a/b", True),
        ("#", "$SYS/x", False),
        ("+/x", "$SYS/x", False),
        ("$SYS/#", "$SYS/x", True),
        ("$SYS/+", "$SYS/x", True),
        ("a/#", "a/$b", True),
    ],
)
def test_the_standards_examples(topic_filter: str, topic: str, matches: bool) -> None:
    assert topic_matches(topic_filter, topic) is matches


@pytest.mark.parametrize(
    ("wide", "narrow", "covers"),
    [
        ("#", "a/b", True),
        ("#", "+/a/#", True),
        ("#", "$s", False),
        ("+", "$s", False),
        ("+/#", "#", True),
        ("a/+/#", "a/#", False),
        ("a/#", "a", True),
        ("a/#", "a/+/b", True),
        ("a/+", "a/b", True),
        ("a/+", "a/#", False),
        ("+/b", "a/+", False),
        ("$s/#", "$s/+", True),
    ],
)
def test_covering_of_filters(wide: str, narrow: str, covers: bool) -> None:
    assert filter_covers(wide, narrow) is covers


@given(filters, filters, topics)
def test_a_cover_matches_whatever_it_covers(wide: str, narrow: str, topic: str) -> None:
    if filter_covers(wide, narrow) and topic_matches(narrow, topic):
        assert topic_matches(wide, topic)


@given(st.lists(filters, max_size=12), st.data(), topics)
def test_the_trie_finds_what_a_scan_finds(added: list[str], data: st.DataObject, topic: str) -> None:
    index: TopicIndex[int] = TopicIndex()
    for key, topic_filter in enumerate(added):
        index.add(topic_filter, key)
    removed = data.draw(st.sets(st.sampled_from(range(len(added))))) if added else set()
    for key in sorted(removed):
        index.remove(added[key], key)
    expected = [key for key, one in enumerate(added) if key not in removed and topic_matches(one, topic)]
    assert sorted(index.match(topic)) == expected


def test_an_emptied_trie_keeps_nothing() -> None:
    index: TopicIndex[str] = TopicIndex()
    for topic_filter in ("a/b/c", "a/+/#", "#"):
        index.add(topic_filter, "k")
    for topic_filter in ("a/b/c", "a/+/#", "#", "never/there"):
        index.remove(topic_filter, "k")
    assert index._root.is_empty()
