"""Covering: what must be seen, what must not be claimed, and no claim that any event disproves."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reknit.model.covering import covers, implies
from reknit.model.event import Scalar
from reknit.model.pattern import Pattern
from reknit.model.selector import canonical, evaluate, matcher
from reknit.model.selector.syntax import And, Comparison, Condition, In, Like, Name, Number, Or, String
from tests.model.strategies import SCALARS, conditions, like_patterns, numbers, strings, views


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        ("", "a = 1"),
        ("a >= 0", "a = 1"),
        ("a >= 0", "a > 0"),
        ("a > 0", "a >= 0 AND a <> 0"),
        ("a >= 0 AND a <= 10", "a BETWEEN 2 AND 8"),
        ("a <> 5", "a < 5"),
        ("a <> 5", "a IN (1, 2)"),
        ("a NOT IN (1, 2)", "a > 3"),
        ("a IN (1, 2, 3)", "a IN (1, 3)"),
        ("a IN (1, 2, 3)", "a IN (1, 7) AND a < 5"),
        ("a IN ('x', 'y')", "a = 'x'"),
        ("a LIKE 'st%'", "a = 'storm'"),
        ("a LIKE 'st%'", "a LIKE 'storm%'"),
        ("a LIKE '%'", "a <> 'x'"),
        ("a NOT LIKE 'storm%'", "a NOT LIKE 'st%'"),
        ("a <> 'x'", "a LIKE 'y%'"),
        ("a IS NOT NULL", "a > 1"),
        ("a IS NOT NULL", "b + a > 1"),
        ("a IS NOT NULL", "a LIKE '%'"),
        ("a > 1", "a > 1 AND b = 2"),
        ("a > 1 OR b = 2", "a > 3"),
        ("a > 1 OR b = 2", "a > 3 OR b = 2"),
        ("a > 1", "a = 2 OR a > 4"),
        ("a > 1", "(a = 2 OR a > 4) AND b = 1"),
        ("a + b > 1", "a + b > 2"),
        ("a < b", "a < b AND c = 1"),
        ("a = 5", "1 = 2"),
    ],
)
def test_covers_that_must_be_seen(wide: str, narrow: str) -> None:
    assert covers(Pattern.parse("t/#", wide), Pattern.parse("t/x", narrow))


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        ("a = 1", ""),
        ("a > 0", "a >= 0"),
        ("a >= 2", "a > 1"),
        ("a = 1", "a = '1'"),
        ("a = '1'", "a = 1"),
        ("a <> 'x'", "a = 1"),
        ("a <> 1", "a = 'x'"),
        ("a = TRUE", "a = 1"),
        ("a IS NULL", "b = 1"),
        ("a IS NOT NULL", "b IS NOT NULL"),
        ("a LIKE 'storm%'", "a LIKE 'st%'"),
        ("a > 1", "a > 3 OR b = 2"),
        ("a < 9223372036854775807", "a <= 9223372036854775807.0"),
    ],
)
def test_covers_that_are_none(wide: str, narrow: str) -> None:
    assert not covers(Pattern.parse("t", wide), Pattern.parse("t", narrow))


def test_the_topic_must_be_covered_too() -> None:
    assert not covers(Pattern.parse("t/+"), Pattern.parse("t/#", "a = 1"))


@given(conditions, conditions, views)
@settings(max_examples=400)
def test_no_event_disproves_a_cover(known: Condition, wanted: Condition, view: dict[str, Scalar]) -> None:
    known, wanted = canonical(known), canonical(wanted)
    if implies(known, wanted) and evaluate(known, view) is True:
        assert evaluate(wanted, view) is True


_a = st.just(Name("a"))
_close = st.one_of(
    st.builds(Comparison, st.sampled_from(["<", "<=", ">", ">=", "=", "<>"]), _a, numbers.map(Number)),
    st.builds(Comparison, st.sampled_from(["=", "<>"]), _a, strings.map(String)),
    st.builds(In, _a, st.lists(numbers.map(Number), min_size=1, max_size=3).map(tuple), st.booleans()),
    st.builds(In, _a, st.lists(strings.map(String), min_size=1, max_size=3).map(tuple), st.booleans()),
    st.builds(Like, _a, like_patterns, st.booleans()),
)
_joined = st.one_of(
    _close,
    st.lists(_close, min_size=2, max_size=3).map(tuple).map(And),
    st.lists(_close, min_size=2, max_size=3).map(tuple).map(Or),
)


@given(_joined, _joined)
@settings(max_examples=800)
def test_not_even_where_tests_are_close(known: Condition, wanted: Condition) -> None:
    known, wanted = canonical(known), canonical(wanted)
    if implies(known, wanted):
        is_known, is_wanted = matcher(known), matcher(wanted)
        assert [value for value in SCALARS if is_known({"a": value}) and not is_wanted({"a": value})] == []


@given(_joined)
def test_each_condition_implies_itself(condition: Condition) -> None:
    assert implies(canonical(condition), canonical(condition))


def test_the_cost_is_bounded() -> None:
    branches = " AND ".join(f"(a{i} = 1 OR b{i} = 1)" for i in range(40))
    assert not covers(Pattern.parse("t", "c = 1"), Pattern.parse("t", branches))
