"""Reading selectors: every form of the grammar, every bound, and errors that show where and why."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reknit.model.selector import BadSelector, parse, unparse
from reknit.model.selector.parse import SELECTOR_CHARS_MAX, SELECTOR_NESTING_MAX, SELECTOR_TERMS_MAX
from reknit.model.selector.syntax import (
    And,
    Boolean,
    Comparison,
    Condition,
    In,
    IsNull,
    Like,
    Name,
    Not,
    Number,
    Or,
    String,
)
from tests.model.strategies import conditions

A, B = Name("a"), Name("b")


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a = 1", Comparison("=", A, Number(1))),
        ("a != 1", Comparison("<>", A, Number(1))),
        ("a <> 'it''s'", Comparison("<>", A, String("it's"))),
        ("a >= -9223372036854775808", Comparison(">=", A, Number(-(2**63)))),
        ("a >= +3", Comparison(">=", A, Number(3))),
        ("a", Comparison("=", A, Boolean(True))),
        ("NOT a", Not(Comparison("=", A, Boolean(True)))),
        ("true", Boolean(True)),
        ("a = FALSE", Comparison("=", A, Boolean(False))),
        ("a BETWEEN 1 AND 2", And((Comparison(">=", A, Number(1)), Comparison("<=", A, Number(2))))),
        ("a not between 1 and 2", Not(And((Comparison(">=", A, Number(1)), Comparison("<=", A, Number(2)))))),
        ("a IN ('x', 'y')", In(A, (String("x"), String("y")))),
        ("a NOT IN (-1, 2.5)", In(A, (Number(-1), Number(2.5)), negated=True)),
        ("a LIKE 'x%'", Like(A, "x%")),
        ("a LIKE 'x!%' ESCAPE '!'", Like(A, "x\\%")),
        ("a LIKE 'x\\%'", Like(A, "x\\\\%")),
        ("a NOT LIKE '_'", Like(A, "_", negated=True)),
        ("a IS NULL", IsNull(A)),
        ("a is not null", IsNull(A, negated=True)),
        ("a = 1 OR a = 2 AND b = 3", Or((Comparison("=", A, Number(1)), parse("a = 2 AND b = 3")))),
        ("(a = 1 OR a = 2) AND b = 3", And((parse("a = 1 OR a = 2"), Comparison("=", B, Number(3))))),
        ("\"content-type\" = 'x'", Comparison("=", Name("content-type"), String("x"))),
        ('"in" IS NULL', IsNull(Name("in"))),
        ("order.item_2 IS NULL", IsNull(Name("order.item_2"))),
        ("$price IS NULL", IsNull(Name("$price"))),
        ("größe IS NULL", IsNull(Name("größe"))),
        ("नाम IS NULL", IsNull(Name("नाम"))),
        ("温度 IS NULL", IsNull(Name("温度"))),
        ("order = 1", Comparison("=", Name("order"), Number(1))),
        ("ıs IS NULL", IsNull(Name("ıs"))),
    ],
)
def test_each_form_becomes_its_tree(text: str, tree: Condition) -> None:
    assert repr(parse(text)) == repr(tree)


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        ("7", 7),
        ("007", 7),
        ("7.", 7.0),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("1.5E-3", 0.0015),
        ("9223372036854775807", 2**63 - 1),
    ],
)
def test_numbers(literal: str, value: float) -> None:
    tree = parse(f"a = {literal}")
    assert isinstance(tree, Comparison)
    assert repr(tree.right) == repr(Number(value))


def test_arithmetic_binds_as_usual() -> None:
    assert parse("a - b - 1 * 2 = 0") == parse("((a - b) - (1 * 2)) = 0")
    assert parse("a / b * 2 = -a + 1") == parse("((a / b) * 2) = ((-a) + 1)")


@pytest.mark.parametrize(
    ("text", "line", "column", "why"),
    [
        ("", 1, 1, "ends too early"),
        ("a >", 1, 4, "expected a name, a number"),
        ("a = 1 AND\n b ==2", 2, 5, "operators are"),
        ("a < 'x'", 1, 5, "numbers only"),
        ("TRUE < a", 1, 1, "numbers only"),
        ("a BETWEEN 'x' AND 2", 1, 11, "BETWEEN is for numbers only"),
        ("a + 'x' = 2", 1, 5, "numbers only"),
        ("-'x' = 2", 1, 2, "numbers only"),
        ("1 < a < 5", 1, 7, "chained"),
        ("a = 'abc", 1, 5, "no closing"),
        ("and = 1", 1, 1, "keyword"),
        ("a IN (1, 'x')", 1, 7, "not both"),
        ("a IN ()", 1, 7, "text in single quotes or a number"),
        ("a IS 5", 1, 6, "NULL"),
        ("a NOT 5", 1, 7, "BETWEEN, IN or LIKE"),
        ("a LIKE 5", 1, 8, "single quotes"),
        ("5 LIKE 'x'", 1, 1, "must be a name"),
        ("a + 1 IS NULL", 1, 1, "must be a name"),
        ("a LIKE 'x' ESCAPE 'ab'", 1, 19, "one character"),
        ("a LIKE 'x!' ESCAPE '!'", 1, 8, "ends in its escape"),
        ("a LIKE '!x' ESCAPE '!'", 1, 8, "stands before 'x'"),
        ("5", 1, 1, "condition is needed"),
        ("a = 1 AND 'x'", 1, 11, "condition is needed"),
        ("(a < b) = TRUE", 1, 1, "value is needed"),
        ("a = 9223372036854775808", 1, 5, "64 bits"),
        ("a IN (9223372036854775808)", 1, 7, "64 bits"),
        ("a + 9223372036854775808 = 1", 1, 5, "64 bits"),
        ("a = -9223372036854775809", 1, 6, "64 bits"),
        ("a = 1e999", 1, 5, "too large"),
        ("a && b", 1, 3, "AND or OR"),
        ("a = ?", 1, 5, "no meaning"),
        ("a € ≤ 3", 1, 3, "out of place"),
        ("≤ = 3", 1, 1, "cannot be part of a name"),
        ('"" = 3', 1, 1, "cannot be empty"),
        ("a = '\ud800'", 1, 6, "UTF-8"),
        ("(a = 1", 1, 7, "closing parenthesis"),
        ("a = 1)", 1, 6, "the end"),
    ],
)
def test_errors_show_where_and_why(text: str, line: int, column: int, why: str) -> None:
    with pytest.raises(BadSelector, match=why) as caught:
        parse(text)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_the_caret_stands_under_the_fault() -> None:
    with pytest.raises(BadSelector) as caught:
        parse("a = 1 AND b < 'x'")
    shown, caret = str(caught.value).split("\n")[1:]
    assert shown[caret.index("^") :] == "'x'"


def test_a_long_line_is_cut_around_the_fault() -> None:
    with pytest.raises(BadSelector) as caught:
        parse("a = 1 AND " * 30 + "b < 'x'" + " AND a = 1" * 30)
    shown, caret = str(caught.value).split("\n")[1:]
    assert len(shown) < 140
    assert shown[caret.index("^") :].startswith("'x'")


@pytest.mark.parametrize(
    "text",
    [
        "(" * 2000 + "a = 1" + ")" * 2000,
        "(" * 4000,
        "NOT " * 1000 + "a",
        "-" * 4000 + "a = 1",
        "a = 1" + " + a" * 200,
        "NOT (" * 300 + "a" + ")" * 300,
        "a = 1 AND " * 200 + "a = 1",
        "a IN (" + ", ".join(["1"] * 300) + ")",
        " " * (SELECTOR_CHARS_MAX + 1),
    ],
)
def test_cost_is_bounded(text: str) -> None:
    with pytest.raises(BadSelector):
        parse(text)


def test_the_bounds_can_be_used_up() -> None:
    parse("(" * (SELECTOR_NESTING_MAX - 2) + "a = 1" + ")" * (SELECTOR_NESTING_MAX - 2))
    parse("a IN (" + ", ".join(["1"] * (SELECTOR_TERMS_MAX - 1)) + ")")
    parse(" AND ".join(["a"] * (SELECTOR_TERMS_MAX // 2)))


_WORDS = "a b NOT AND OR BETWEEN IN LIKE ESCAPE IS NULL TRUE ( ) , = <> < <= + - * / 'x' '%' 1 2.5 1e3 'it''s . ' \" \\"
_words = st.sampled_from([*_WORDS.split(), '"q"'])


@given(
    st.one_of(
        st.text(max_size=40), st.lists(_words, max_size=25).map(" ".join), st.lists(_words, max_size=25).map("".join)
    )
)
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        tree = parse(text)
    except BadSelector as problem:
        message = str(problem)
    else:
        message = "^"
        assert repr(parse(unparse(tree))) == repr(tree)
    assert "^" in message


@given(conditions)
def test_unparse_is_undone_by_parse(tree: Condition) -> None:
    once = parse(unparse(tree))
    assert unparse(once) == unparse(parse(unparse(once)))
    assert repr(parse(unparse(once))) == repr(once)
