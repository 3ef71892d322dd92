"""The canonical form: equal meaning, one text, and stable under reading it again."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reknit.model.event import Scalar
from reknit.model.selector import BadSelector, canonical, canonical_text, evaluate, parse, unparse
from reknit.model.selector.syntax import Comparison, Condition, Not
from tests.model.strategies import conditions, numbers, values, views


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("a != 1.0", "a <> 1"),
        ("1 < a", "a > 1"),
        ("NOT a < b", "a >= b"),
        ("b > a", "a < b"),
        ("NOT (a = 1 AND b IS NULL)", "a <> 1 OR b IS NOT NULL"),
        ("b = 1 AND (a = 1 AND b = 1)", "a = 1 AND b = 1"),
        ("a BETWEEN 1 AND 1 + 1", "a <= 2 AND a >= 1"),
        ("a NOT IN (3, 1.0, 1)", "a NOT IN (1, 3)"),
        ("a IN ('x', 'x')", "a = 'x'"),
        ("a LIKE 'x'", "a = 'x'"),
        ("a NOT LIKE 'x!%' ESCAPE '!'", "a <> 'x%'"),
        ("a LIKE '%_%x'", "a LIKE '_%x'"),
        ("a LIKE 'q\\_%'", "a LIKE 'q\\\\_%' ESCAPE '\\'"),
        ("NOT a", "a = FALSE"),
        ("a <> TRUE", "a = FALSE"),
        ("a / 0 = 1 OR b", "b = TRUE"),
        ("a = 1 AND 'x' = 1", "FALSE"),
        ("TRUE", ""),
        ("a = 1 OR 1 = 1", ""),
        ("2 * a = b", "a * 2 = b"),
        ("a / 2.0 = 1", "a / 2.0 = 1"),
        ("a = 1e20", "a = 1e+20"),
        ('"a" = 1 AND "b-c" = 1', '"b-c" = 1 AND a = 1'),
        ("c + (a + b) = 1", "a + b + c = 1"),
        ("b - a = 1", "b - a = 1"),
        ("a - (b - c) = 1", "a - (b - c) = 1"),
    ],
)
def test_forms(text: str, form: str) -> None:
    assert canonical_text(text) == form


@pytest.mark.parametrize(
    ("one", "other"),
    [("a / 2 = 1", "a / 2.0 = 1"), ("a = 1", "a = TRUE"), ("a = 1", "a = '1'"), ("a + b + c = 1", "a + (b + c) = 2")],
)
def test_what_differs_stays_apart(one: str, other: str) -> None:
    assert canonical_text(one) != canonical_text(other)


@given(conditions, views)
@settings(max_examples=400)
def test_it_is_true_for_the_same_events(condition: Condition, view: dict[str, Scalar]) -> None:
    assert (evaluate(canonical(condition), view) is True) == (evaluate(condition, view) is True)


@given(conditions, views)
def test_so_is_its_negation(condition: Condition, view: dict[str, Scalar]) -> None:
    assert (evaluate(canonical(Not(condition)), view) is True) == (evaluate(condition, view) is False)


@given(st.builds(Comparison, st.sampled_from(["=", "<"]), values, values), st.tuples(numbers, numbers, numbers))
@settings(max_examples=400)
def test_it_counts_the_same(condition: Condition, abc: tuple[Scalar, Scalar, Scalar]) -> None:
    view = dict(zip("abc", abc, strict=True))
    assert (evaluate(canonical(condition), view) is True) == (evaluate(condition, view) is True)


@given(conditions)
@settings(max_examples=400)
def test_it_is_stable(condition: Condition) -> None:
    form = unparse(canonical(parse(unparse(condition))))
    again = parse(form)
    assert repr(canonical(again)) == repr(again)
    assert unparse(again) == form


def test_a_selector_at_the_bound_has_a_form_within_it() -> None:
    chain = "b" + " + b" * 28
    for text in (f"{chain} + a * a = 1", "NOT (" * 10 + "a" + " OR b)" * 10, "(" * 29 + "a + b" + ")" * 29 + " = 1"):
        form = canonical_text(text)
        assert unparse(canonical(parse(form))) == form


def test_a_form_that_grows_too_long_is_refused() -> None:
    long_sum = " + ".join(["abcdefghijklmnopqrstuvwxyz" * 5] * 20)
    with pytest.raises(BadSelector, match="written out in full"):
        canonical_text(f"{long_sum} BETWEEN 1 AND 2")
