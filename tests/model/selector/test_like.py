"""LIKE against a backtracking oracle on small texts, and its cost on large ones."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reknit.model.selector.like import like_covers, like_literal, like_matcher, like_normal, like_prefix
from tests.model.strategies import like_patterns

small_texts = st.text("ab%_\\\n", max_size=8)


def oracle(pattern: str, text: str) -> bool:
    parts = re.findall(r"\\.|.", pattern, re.DOTALL)
    wild = {"%": ".*", "_": "."}
    return re.fullmatch("".join(wild.get(part, re.escape(part[-1])) for part in parts), text, re.DOTALL) is not None


@given(like_patterns, small_texts)
def test_it_agrees_with_backtracking(pattern: str, text: str) -> None:
    assert like_matcher(pattern)(text) is oracle(pattern, text)


@given(like_patterns, small_texts)
def test_the_normal_form_means_the_same(pattern: str, text: str) -> None:
    normal = like_normal(pattern)
    assert like_normal(normal) == normal
    assert like_matcher(normal)(text) is like_matcher(pattern)(text)


@given(like_patterns, like_patterns, small_texts)
def test_a_cover_matches_whatever_it_covers(wide: str, narrow: str, text: str) -> None:
    if like_covers(wide, narrow) and like_matcher(narrow)(text):
        assert like_matcher(wide)(text)


@given(like_patterns, small_texts)
def test_prefix_and_literal_say_what_they_promise(pattern: str, text: str) -> None:
    prefix, is_all = like_prefix(pattern)
    matches = like_matcher(pattern)(text)
    assert text.startswith(prefix) or not matches
    if is_all:
        assert matches is text.startswith(prefix)
    literal = like_literal(pattern)
    if literal is not None:
        assert matches is (text == literal)


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [("a%", "ab%"), ("a%", "a"), ("%", "_"), ("_%", "a_"), ("%b%", "a_b%"), ("%a_c%", "xabcx"), ("a%c", "ab%bc")],
)
def test_covers_that_must_be_seen(wide: str, narrow: str) -> None:
    assert like_covers(wide, narrow)


@pytest.mark.parametrize(("wide", "narrow"), [("_", "%"), ("_%", "%"), ("ab%", "a%"), ("a_", "a%"), ("a\\%", "a%")])
def test_covers_that_are_none(wide: str, narrow: str) -> None:
    assert not like_covers(wide, narrow)


def test_patterns_that_ruin_backtracking_are_read_once() -> None:
    text = "a" * 20_000
    assert not like_matcher("%a" * 200 + "%b")(text)
    assert not like_matcher("%" + "a_" * 500 + "b%")(text)
    assert like_matcher("%a_" * 200 + "%")(text)
