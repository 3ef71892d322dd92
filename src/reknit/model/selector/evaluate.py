"""What a condition is worth for an event: true, false or unknown (``None``).

Three-valued logic, as SQL has it. A value is unknown if its attribute is missing, if it is no number where a number is
needed, after a division by zero, an integer result beyond 64 bits, or a float result that is not finite. A comparison
is unknown if a side is unknown or if the types do not fit, ``<>`` too. AND is false if any operand is, OR is true if
any is; apart from that one unknown operand makes them unknown, and NOT leaves unknown as it is. An event matches if the
whole is true.

Types: strings, numbers and booleans are three worlds; integers and floats are one, compared exactly. Order is for
numbers. A ``Text`` (an attribute that came without a type) takes the type of what it is compared with; beside another
text it is text; in arithmetic and order it is a number. NaN is unknown. Integer division cuts towards zero: -7 / 2 =
-3.

Conditions become closures once and are called per event. Owns: the meaning of the language. Must not know: its text, or
where attributes come from.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from reknit.model.event import INTEGER_MAX, INTEGER_MIN, Scalar, Text
from reknit.model.selector.like import like_matcher
from reknit.model.selector.syntax import (
    MIRRORED,
    And,
    Arithmetic,
    Comparison,
    Condition,
    In,
    IsNull,
    Like,
    Name,
    Negate,
    Not,
    Number,
    Or,
    String,
    Value,
)

__all__ = [
    "Truth",
    "arithmetic",
    "boolean",
    "compare",
    "evaluate",
    "matcher",
    "negate",
    "number",
    "text",
    "truth_of",
    "value_of",
]

View: TypeAlias = Mapping[str, Scalar]
Truth: TypeAlias = bool | None
Test: TypeAlias = Callable[[View], Truth]
Getter: TypeAlias = Callable[[View], Scalar | None]
Numeric: TypeAlias = int | float

_NUMBER = re.compile(r"[+-]?(?:([0-9]+)|(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)")

_EXACT_CHARS_MAX = 64
"""A longer run of digits is read as a float at once; it would be out of 64 bits, or nearly all zeros."""

# --- what a value is in each of the three worlds


def number(value: object) -> Numeric | None:
    """The value as a number; ``None`` if it is none."""
    kind = type(value)
    if kind is int:
        return value  # type: ignore[return-value]
    if kind is float:
        return value if value == value else None  # type: ignore[return-value]
    return _read_number(value) if kind is Text else None  # type: ignore[arg-type]


def _read_number(text: str) -> Numeric | None:
    read = _NUMBER.fullmatch(text)
    if read is None:
        return None
    if read[1] and len(text) <= _EXACT_CHARS_MAX and INTEGER_MIN <= (exact := int(text)) <= INTEGER_MAX:
        return exact
    return near if math.isfinite(near := float(text)) else None


def text(value: object) -> str | None:
    """The value as a text; ``None`` if it is none."""
    return value if isinstance(value, str) else None


def boolean(value: object) -> bool | None:
    """The value as a boolean; ``None`` if it is none."""
    if value is True or value is False:
        return value
    return {"true": True, "false": False}.get(value.lower()) if type(value) is Text else None


# --- operations

_OPERATIONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def compare(sign: str, left: object, right: object) -> Truth:
    """One comparison of two values, of which ``None`` is unknown."""
    a: object
    b: object
    if sign not in ("=", "<>"):
        a, b = number(left), number(right)
    elif isinstance(left, str) and isinstance(right, str):
        a, b = left, right
    elif isinstance(left, bool) or isinstance(right, bool):
        a, b = boolean(left), boolean(right)
    else:
        a, b = number(left), number(right)
    return None if a is None or b is None else _OPERATIONS[sign](a, b)


def arithmetic(sign: str, left: object, right: object) -> Numeric | None:
    """One operation on two values, of which ``None`` is unknown."""
    a, b = number(left), number(right)
    if a is None or b is None or (sign == "/" and b == 0):
        return None
    try:
        return _bounded(_calculate(sign, a, b))
    except OverflowError:  # an integer that a publisher sent beyond 64 bits may be too large for a float
        return None


def _calculate(sign: str, a: Numeric, b: Numeric) -> Numeric:
    if sign == "+":
        return a + b
    if sign == "-":
        return a - b
    if sign == "*":
        return a * b
    if isinstance(a, int) and isinstance(b, int):
        quotient = abs(a) // abs(b)
        return quotient if (a < 0) == (b < 0) else -quotient
    return a / b


def _bounded(result: Numeric) -> Numeric | None:
    if isinstance(result, int):
        return result if INTEGER_MIN <= result <= INTEGER_MAX else None
    return result if math.isfinite(result) else None


def negate(value: object) -> Numeric | None:
    operand = number(value)
    return None if operand is None else _bounded(-operand)


# --- values


def value_of(value: Value) -> Getter:
    """A function from an event's attributes to the value."""
    if isinstance(value, Name):
        name = value.name
        return lambda view: view.get(name)
    if isinstance(value, Negate):
        operand = value_of(value.operand)
        return lambda view: negate(operand(view))
    if isinstance(value, Arithmetic):
        sign, left, right = value.operator, value_of(value.left), value_of(value.right)
        return lambda view: arithmetic(sign, left(view), right(view))
    constant = value.value
    return lambda view: constant


# --- conditions


def truth_of(condition: Condition) -> Test:
    """A function from an event's attributes to true, false or unknown."""
    if isinstance(condition, Comparison):
        return _comparison(condition)
    if isinstance(condition, And):
        return _all([truth_of(operand) for operand in condition.operands])
    if isinstance(condition, Or):
        return _any([truth_of(operand) for operand in condition.operands])
    if isinstance(condition, Not):
        return _not(truth_of(condition.operand))
    if isinstance(condition, In):
        return _in(condition)
    if isinstance(condition, Like):
        return _like(condition)
    if isinstance(condition, IsNull):
        name, wanted = condition.name.name, not condition.negated
        return lambda view: (name not in view) is wanted
    constant = condition.value
    return lambda view: constant


def _comparison(condition: Comparison) -> Test:
    if not isinstance(condition.right, Number) and isinstance(condition.left, Number):
        condition = Comparison(MIRRORED[condition.operator], condition.right, condition.left)
    if isinstance(condition.left, Name) and isinstance(condition.right, Number):
        return _against_number(condition.operator, condition.left.name, condition.right.value)
    if isinstance(condition.left, Name) and isinstance(condition.right, String):
        return _against_text(condition.operator, condition.left.name, condition.right.value)
    sign, left, right = condition.operator, value_of(condition.left), value_of(condition.right)
    return lambda view: compare(sign, left(view), right(view))


def _against_number(sign: str, name: str, limit: Numeric) -> Test:
    operation = _OPERATIONS[sign]

    def test(view: View) -> Truth:
        value = view.get(name)
        if type(value) is not int:
            value = number(value)
            if value is None:
                return None
        return operation(value, limit)

    return test


def _against_text(sign: str, name: str, wanted: str) -> Test:
    operation = _OPERATIONS[sign]

    def test(view: View) -> Truth:
        value = view.get(name)
        return operation(value, wanted) if isinstance(value, str) else None

    return test


def _all(tests: list[Test]) -> Test:
    def test(view: View) -> Truth:
        result: Truth = True
        for one in tests:
            truth = one(view)
            if truth is False:
                return False
            if truth is None:
                result = None
        return result

    return test


def _any(tests: list[Test]) -> Test:
    def test(view: View) -> Truth:
        result: Truth = False
        for one in tests:
            truth = one(view)
            if truth is True:
                return True
            if truth is None:
                result = None
        return result

    return test


def _not(inner: Test) -> Test:
    def test(view: View) -> Truth:
        truth = inner(view)
        return None if truth is None else not truth

    return test


def _in(condition: In) -> Test:
    getter, found = value_of(condition.value), not condition.negated
    members = frozenset(member.value for member in condition.members)
    world: Callable[[object], object] = text if isinstance(condition.members[0], String) else number

    def test(view: View) -> Truth:
        value = world(getter(view))
        return None if value is None else (value in members) is found

    return test


def _like(condition: Like) -> Test:
    name, found, matches = condition.name.name, not condition.negated, like_matcher(condition.pattern)

    def test(view: View) -> Truth:
        value = view.get(name)
        return matches(value) is found if isinstance(value, str) else None

    return test


def evaluate(condition: Condition, view: View) -> Truth:
    """True, false or unknown, once. Who asks more often keeps ``truth_of``."""
    return truth_of(condition)(view)


# --- matching: only whether it is true


def matcher(condition: Condition) -> Callable[[View], bool]:
    """Whether the condition is true. AND stops at what is not true, OR at what is: unknown need not be carried on."""
    if isinstance(condition, And):
        return _every(_fused(condition.operands))
    if isinstance(condition, Or):
        return _some([matcher(operand) for operand in condition.operands])
    test = truth_of(condition)
    return lambda view: test(view) is True


def _every(tests: list[Callable[[View], bool]]) -> Callable[[View], bool]:
    if len(tests) == 1:
        return tests[0]

    def test(view: View) -> bool:
        for one in tests:  # noqa: SIM110 (a generator would cost more than most tests)
            if not one(view):
                return False
        return True

    return test


def _some(tests: list[Callable[[View], bool]]) -> Callable[[View], bool]:
    def test(view: View) -> bool:
        for one in tests:  # noqa: SIM110
            if one(view):
                return True
        return False

    return test


def _fused(operands: tuple[Condition, ...]) -> list[Callable[[View], bool]]:
    """The operands' matchers; all closed limits on numbers become one test, which most selectors are."""
    ranges: dict[str, tuple[Numeric, Numeric]] = {}
    rest: list[Condition] = []
    for operand in operands:
        limit = _closed_limit(operand)
        if limit is None:
            rest.append(operand)
            continue
        name, low, high = limit
        least, greatest = ranges.get(name, (-math.inf, math.inf))
        ranges[name] = (max(least, low), min(greatest, high))
    tests = [_within(tuple((name, low, high) for name, (low, high) in ranges.items()))] if ranges else []
    return tests + [matcher(operand) for operand in rest]


def _closed_limit(condition: Condition) -> tuple[str, Numeric, Numeric] | None:
    if not isinstance(condition, Comparison) or condition.operator not in (">=", "<="):
        return None
    if not isinstance(condition.left, Name) or not isinstance(condition.right, Number):
        return None
    limit = condition.right.value
    return (
        (condition.left.name, limit, math.inf)
        if condition.operator == ">="
        else (condition.left.name, -math.inf, limit)
    )


def _within(ranges: tuple[tuple[str, Numeric, Numeric], ...]) -> Callable[[View], bool]:
    def test(view: View) -> bool:
        for name, low, high in ranges:
            value = view.get(name)
            if type(value) is not int:
                value = number(value)
                if value is None:
                    return False
            if not low <= value <= high:
                return False
        return True

    return test
