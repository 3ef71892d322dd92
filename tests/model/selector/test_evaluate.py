"""What conditions are worth: tables of the three-valued logic, types, and the edges of 64 bits."""

from __future__ import annotations

import pytest
from hypothesis import given

from reknit.model.event import INTEGER_MAX, INTEGER_MIN, Scalar, Text
from reknit.model.selector import evaluate, matcher, parse
from reknit.model.selector.evaluate import number
from reknit.model.selector.syntax import Condition
from tests.model.strategies import conditions, views

VIEW: dict[str, Scalar] = {
    "i": 7,
    "neg": -7,
    "f": 2.5,
    "s": "storm",
    "t": True,
    "no": False,
    "big": INTEGER_MAX,
    "small": INTEGER_MIN,
    "near": float(2**63),
    "nan": float("nan"),
    "inf": float("inf"),
    "n": Text("7"),
    "zip": Text("01234"),
    "word": Text("storm"),
    "flag": Text("TRUE"),
    "huge": Text("99999999999999999999"),
    "us": Text("1_000"),
}


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        # comparison
        ("i = 7", True),
        ("i = 7.0", True),
        ("i <> 7", False),
        ("i < 7.5", True),
        ("f >= 2.5", True),
        ("s = 'storm'", True),
        ("s <> 'calm'", True),
        ("t", True),
        ("no", False),
        ("t = FALSE", False),
        ("t <> FALSE", True),
        # a missing attribute is unknown
        ("missing = 1", None),
        ("missing <> 1", None),
        ("NOT missing = 1", None),
        ("missing", None),
        ("missing IN (1)", None),
        ("missing LIKE '%'", None),
        ("missing IS NULL", True),
        ("i IS NULL", False),
        ("i IS NOT NULL", True),
        # types that do not fit are unknown, <> too
        ("i = 'storm'", None),
        ("i <> 'storm'", None),
        ("s = 1", None),
        ("s > 1", None),
        ("t = 1", None),
        ("TRUE = 1", None),
        ("t > 0", None),
        ("i = TRUE", None),
        ("i", None),
        ("s = t", None),
        ("i LIKE '7'", None),
        ("s IN (1, 2)", None),
        ("s + 1 = 2", None),
        ("-s = 2", None),
        # three-valued logic
        ("missing = 1 AND FALSE", False),
        ("missing = 1 AND TRUE", None),
        ("missing = 1 OR TRUE", True),
        ("missing = 1 OR FALSE", None),
        ("NOT (missing = 1 AND i = 8)", True),
        # exact at 64 bits
        ("big = 9223372036854775807", True),
        ("big < near", True),
        ("big = near", False),
        ("near = 9223372036854775807", False),
        ("big > 9223372036854775806.0", False),
        ("big + 1 = 0", None),
        ("small - 1 < 0", None),
        ("-small > 0", None),
        ("small / -1 > 0", None),
        ("big + 1.0 = near", True),
        # arithmetic
        ("i / 2 = 3", True),
        ("neg / 2 = -3", True),
        ("i / -2 = -3", True),
        ("i / 2.0 = 3.5", True),
        ("i / 0 = 1", None),
        ("f / 0 = 1", None),
        ("i / 0.0 = 1", None),
        ("1e308 * 10 > 1", None),
        ("i * (f + 0.5) - 1 = 20", True),
        ("-i = neg", True),
        # not a number, infinite
        ("nan = nan", None),
        ("nan <> 1", None),
        ("nan IN (1)", None),
        ("nan IS NULL", False),
        ("inf > 1e308", True),
        ("inf - inf = 0", None),
        # a text takes the type of what it meets
        ("n = 7", True),
        ("n >= 3", True),
        ("n = '7'", True),
        ("n + 1 = 8", True),
        ("n IN (7, 8)", True),
        ("n IN ('7')", True),
        ("n = i", True),
        ("n = TRUE", None),
        ("zip = '01234'", True),
        ("zip = 1234", True),
        ("zip <> '1234'", True),
        ("word = s", True),
        ("word > 1", None),
        ("word <> 1", None),
        ("word LIKE 'st%'", True),
        ("flag", True),
        ("flag = t", True),
        ("flag = 'TRUE'", True),
        ("n < zip", True),
        ("n = zip", False),
        ("huge > big", True),
        ("us > 0", None),
        # IN, LIKE, BETWEEN
        ("i BETWEEN 7 AND 7", True),
        ("i NOT BETWEEN 1 AND 3", True),
        ("missing BETWEEN 1 AND 3", None),
        ("i IN (1, 7.0)", True),
        ("i NOT IN (1, 2)", True),
        ("s NOT IN ('storm')", False),
        ("s LIKE '_to%'", True),
        ("s NOT LIKE 'x%'", True),
    ],
)
def test_worth(text: str, truth: bool | None) -> None:
    assert evaluate(parse(text), VIEW) is truth


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7", 7),
        ("-0", 0),
        ("+2", 2),
        ("7.", 7.0),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("9223372036854775807", INTEGER_MAX),
        ("9223372036854775808", float(2**63)),
        ("0" * 100 + "7", 7.0),
        ("9" * 5000, None),
        ("1e999", None),
    ],
)
def test_untyped_texts_that_are_numbers(text: str, value: float | None) -> None:
    assert repr(number(Text(text))) == repr(value)


@pytest.mark.parametrize("text", ["", "nan", "inf", "1_000", " 1", "1 ", "0x10", "1e", ".", "--1", "٣", "1\n", "true"])
def test_untyped_texts_that_are_none(text: str) -> None:
    assert number(Text(text)) is None


@given(conditions, views)
def test_a_matcher_says_whether_it_is_true(condition: Condition, view: dict[str, Scalar]) -> None:
    assert matcher(condition)(view) is (evaluate(condition, view) is True)
