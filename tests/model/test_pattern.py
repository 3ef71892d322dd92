"""Patterns: one value for equal meaning, errors that subscribers understand, and a check for those from elsewhere."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given

from reknit.model.event import Event, Scalar
from reknit.model.pattern import BadPattern, Pattern
from reknit.model.selector import BadSelector, evaluate, parse, recent, unparse
from reknit.model.selector.parse import SELECTOR_CHARS_MAX, SELECTOR_NESTING_MAX, SELECTOR_TERMS_MAX
from reknit.model.selector.syntax import Condition
from reknit.model.topic import BadTopic
from tests.model.strategies import conditions, views


def test_equal_meaning_is_one_value() -> None:
    one = Pattern.parse("city/+", "NOT (severity < 3) AND region IN ('us', 'eu')")
    other = Pattern.parse("city/+", "region in ('eu','us','eu') and 3.0 <= severity")
    assert one == other
    assert hash(one) == hash(other)
    assert str(one) == "city/+ WHERE region IN ('eu', 'us') AND severity >= 3"


@pytest.mark.parametrize("selector", ["", "  \n", "TRUE", "1 = 1"])
def test_a_selector_that_says_nothing_is_none(selector: str) -> None:
    assert Pattern.parse("a", selector) == Pattern("a")
    assert str(Pattern.parse("a", selector)) == "a"


def test_faults_have_one_ancestor() -> None:
    with pytest.raises(BadTopic):
        Pattern.parse("a/#/b", "a = 1")
    with pytest.raises(BadSelector):
        Pattern.parse("a", "a = ")
    assert issubclass(BadTopic, BadPattern)
    assert issubclass(BadSelector, BadPattern)
    assert issubclass(BadPattern, ValueError)


@pytest.mark.parametrize(
    "pattern",
    [Pattern("a#"), Pattern("a", "1 < a"), Pattern("a", "TRUE"), Pattern("a", "((("), Pattern("a", " "), Pattern("")],
)
def test_a_pattern_from_elsewhere_must_be_canonical(pattern: Pattern) -> None:
    with pytest.raises(BadPattern):
        pattern.check()


@given(conditions)
def test_what_parse_makes_passes_the_check(condition: Condition) -> None:
    pattern = Pattern.parse("a/#", unparse(condition))
    pattern.check()
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(pattern), type=Pattern) == pattern


@given(conditions, views)
def test_it_matches_by_topic_and_content(condition: Condition, view: dict[str, Scalar]) -> None:
    pattern = Pattern.parse("a/#", unparse(condition))
    assert not pattern.matches(Event("b", attributes=view))
    assert pattern.matches(Event("a/b", attributes=view)) is (not pattern.selector or _true(pattern.selector, view))


def _true(selector: str, view: dict[str, Scalar]) -> bool:
    return evaluate(parse(selector), view) is True


def test_user_properties_are_read_by_what_they_meet() -> None:
    event = Event("a", properties=(("n", "1"), ("n", "7")), attributes={"zone": "x"})
    assert Pattern.parse("a", "n >= 3 AND n = '7' AND zone = 'x'").matches(event)


def _around(bound: int) -> range:
    return range(bound - 3, bound + 2)


AT_THE_BOUNDS = [
    *(" OR ".join(f"a{number}" for number in range(terms)) for terms in _around(SELECTOR_TERMS_MAX // 2)),
    *(" AND ".join(f"NOT a{number}" for number in range(terms)) for terms in _around(SELECTOR_TERMS_MAX // 2)),
    *(" OR ".join(f"a{number}=1" for number in range(terms)) for terms in _around(SELECTOR_TERMS_MAX // 2)),
    *("a IN (" + ",".join(map(str, range(terms))) + ")" for terms in _around(SELECTOR_TERMS_MAX - 1)),
    *(" OR ".join(f"a{n} BETWEEN 1 AND 2" for n in range(terms)) for terms in _around(SELECTOR_TERMS_MAX // 4)),
    *("(" * depth + "a" + ")" * depth for depth in _around(SELECTOR_NESTING_MAX)),
    *("NOT " * depth + "a" for depth in _around(SELECTOR_NESTING_MAX)),
    *("-" * depth + "a = 1" for depth in _around(SELECTOR_NESTING_MAX)),
    *("b + " * depth + "a * a > 1" for depth in _around(SELECTOR_NESTING_MAX)),
    *("(x OR y AND " * depth + "NOT (a OR b)" + ")" * depth for depth in _around(SELECTOR_NESTING_MAX // 2)),
    *("NOT (x OR " * depth + "a" + ")" * depth for depth in _around(SELECTOR_NESTING_MAX // 3)),
    *("a = '" + "x" * (chars - 6) + "'" for chars in _around(SELECTOR_CHARS_MAX)),
    *("a='" + "x" * (chars - 4) + "'" for chars in _around(SELECTOR_CHARS_MAX)),
    *("b='" + "x" * (chars - 6) + "'OR a" for chars in _around(SELECTOR_CHARS_MAX - len(" = TRUE"))),
]


@pytest.mark.parametrize("selector", AT_THE_BOUNDS, ids=range(len(AT_THE_BOUNDS)))
def test_what_is_accepted_here_is_accepted_by_every_other_broker(selector: str) -> None:
    try:
        pattern = Pattern.parse("t", selector)
    except BadSelector:
        return
    recent._texts._values.clear()  # another broker has not read it before
    Pattern(pattern.topic, pattern.selector).check()


def test_the_bounds_hold_for_the_canonical_form() -> None:
    Pattern.parse("t", " OR ".join(f"a{number}" for number in range(SELECTOR_TERMS_MAX // 2)))
    with pytest.raises(BadSelector, match="more than 256 names and literals"):
        Pattern.parse("t", " OR ".join(f"a{number}" for number in range(SELECTOR_TERMS_MAX // 2 + 1)))
    with pytest.raises(BadSelector, match="written out in full, it is longer"):
        Pattern.parse("t", "a='" + "x" * (SELECTOR_CHARS_MAX - 4) + "'")


def test_a_signature_stands_for_a_pattern_and_for_no_other() -> None:
    patterns = [Pattern("a"), Pattern("a", "x > 3"), Pattern("a/b"), Pattern("ax", "> 3"), Pattern("")]
    signatures = [each.signature() for each in patterns]
    assert len(set(signatures)) == len(patterns)
    assert all(0 <= each < 1 << 63 for each in signatures)
    assert Pattern("a", "x > 3").signature() == 4563794518092018802
