"""Whether one pattern makes another superfluous: does every event that matches ``q`` match ``p``?

A sound answer that may be a cautious no. Topic filters decide on their own. For selectors the question is whether
``q``'s condition, when true, makes ``p``'s true. It is taken apart at the logic: an OR implies what each of its
operands implies, an AND is implied if each of its operands is, and an OR if any of its operands is. What remains is one
test against the conjunction of all that is known to hold; it is implied if a known test is the same, or if what is
known about its left side (an attribute, or any value) leaves only numbers, or only texts, for which it is true.

A test that is true says in which world the value is: ``a < 3`` that it is a number or a text that reads as one, ``a =
'x'`` that it is a text. Nothing follows from one world for another, since an untyped text may or may not be in both;
only that the attribute is there.

Owns: this relation. Must not know: tables, or who profits from leaving a pattern out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from reknit.model.pattern import Pattern
from reknit.model.selector import condition_of
from reknit.model.selector.canonical import unparse, unparse_value
from reknit.model.selector.evaluate import Numeric, compare
from reknit.model.selector.like import like_covers, like_matcher
from reknit.model.selector.syntax import (
    And,
    Arithmetic,
    Boolean,
    Comparison,
    Condition,
    In,
    IsNull,
    Like,
    Name,
    Negate,
    Number,
    Or,
    String,
    Value,
)
from reknit.model.topic import filter_covers

__all__ = ["covers", "implies"]

_STEPS_MAX = 512
"""How many implications one question may ask before the answer is no; ORs inside ANDs inside ORs multiply."""


def covers(p: Pattern, q: Pattern) -> bool:
    """Whether every event that matches ``q`` surely matches ``p``. Both are canonical."""
    if not filter_covers(p.topic, q.topic):
        return False
    if not p.selector or p.selector == q.selector:
        return True
    return bool(q.selector) and implies(condition_of(q.selector), condition_of(p.selector))


def implies(known: Condition, wanted: Condition) -> bool:
    """Whether ``wanted`` surely is true wherever ``known`` is. Both are canonical."""
    return _Question().implies((known,), wanted)


class _Question:
    """One run, with its budget."""

    __slots__ = ("_steps_left",)

    def __init__(self) -> None:
        self._steps_left = _STEPS_MAX

    def implies(self, known: tuple[Condition, ...], wanted: Condition) -> bool:
        self._steps_left -= 1
        if self._steps_left < 0:
            return False
        flat = tuple(_flattened(known))
        if wanted == Boolean(True) or any(one == Boolean(False) for one in flat):
            return True
        if isinstance(wanted, And):
            return all(self.implies(flat, operand) for operand in wanted.operands)
        return self._implies_any(flat, wanted) or self._implies_by_cases(flat, wanted)

    def _implies_any(self, known: tuple[Condition, ...], wanted: Condition) -> bool:
        if isinstance(wanted, Or):
            text = unparse(wanted)
            if any(isinstance(one, Or) and unparse(one) == text for one in known):
                return True
            return any(self.implies(known, operand) for operand in wanted.operands)
        return _holds(known, wanted)

    def _implies_by_cases(self, known: tuple[Condition, ...], wanted: Condition) -> bool:
        for place, one in enumerate(known):
            if isinstance(one, Or):
                others = known[:place] + known[place + 1 :]
                if all(self.implies((*others, case), wanted) for case in one.operands):
                    return True
        return False


def _flattened(conditions: Iterable[Condition]) -> Iterator[Condition]:
    for condition in conditions:
        if isinstance(condition, And):
            yield from condition.operands
        else:
            yield condition


def _holds(known: tuple[Condition, ...], wanted: Condition) -> bool:
    """Whether a conjunction makes one test true."""
    text = unparse(wanted)
    if any(unparse(one) == text for one in known):
        return True
    if isinstance(wanted, IsNull):
        return wanted.negated and any(wanted.name.name in _required(one) for one in known)
    subject = _subject(wanted)
    if subject is None:
        return False
    about = [one for one in known if _subject(one) == subject]
    if _world(wanted) is Number:
        return _Numbers(about).are_all(wanted)
    return _world(wanted) is String and _Texts(about).are_all(wanted)


def _subject(condition: Condition) -> str | None:
    """What a test against literals is about, as text."""
    if isinstance(condition, Comparison) and isinstance(condition.right, Number | String | Boolean):
        return unparse_value(condition.left)
    if isinstance(condition, In):
        return unparse_value(condition.value)
    return unparse_value(condition.name) if isinstance(condition, Like) else None


def _world(condition: Condition) -> type:
    """The kind of literals that a test compares with."""
    if isinstance(condition, Comparison):
        return type(condition.right)
    return type(condition.members[0]) if isinstance(condition, In) else String


def _required(condition: Condition) -> list[str]:
    """The attributes without which a test cannot be true."""
    if isinstance(condition, Comparison):
        return [*_names(condition.left), *_names(condition.right)]
    if isinstance(condition, In):
        return _names(condition.value)
    return [condition.name.name] if isinstance(condition, Like) else []


def _names(value: Value) -> list[str]:
    if isinstance(value, Name):
        return [value.name]
    if isinstance(value, Negate):
        return _names(value.operand)
    return [*_names(value.left), *_names(value.right)] if isinstance(value, Arithmetic) else []


def _literals(condition: Condition) -> tuple[Any, ...]:
    if isinstance(condition, In):
        return tuple(member.value for member in condition.members)
    assert isinstance(condition, Comparison)
    assert isinstance(condition.right, Number | String | Boolean)
    return (condition.right.value,)


def _listed(condition: Condition, negated: bool) -> bool:
    """Whether the test is a list of what a value must be, or (``negated``) must not be."""
    if isinstance(condition, In):
        return condition.negated is negated
    return isinstance(condition, Comparison) and condition.operator == ("<>" if negated else "=")


def _possible(about: list[Condition]) -> list[Any] | None:
    """The values that are left if one test lists them."""
    lists = [_literals(one) for one in about if _listed(one, negated=False)]
    return [value for value in lists[0] if all(value in other for other in lists[1:])] if lists else None


class _Numbers:
    """What is known about a number: a list, or a least and a greatest, and what it is not."""

    def __init__(self, about: list[Condition]) -> None:
        self.tests = [one for one in about if _world(one) is Number]
        self.points: list[Numeric] | None = _possible(self.tests)
        comparisons = [one for one in self.tests if isinstance(one, Comparison)]
        self.lows = [one for one in comparisons if one.operator in (">", ">=")]
        self.highs = [one for one in comparisons if one.operator in ("<", "<=")]

    def are_all(self, wanted: Condition) -> bool:
        """Whether each number that is left passes the test."""
        if not self.tests:
            return False
        if self.points is not None:
            left = [point for point in self.points if all(_passes(point, one) for one in self.tests)]
            return all(_passes(point, wanted) for point in left)
        if _listed(wanted, negated=True):
            return all(self._excludes(value) for value in _literals(wanted))
        if _listed(wanted, negated=False) or not isinstance(wanted, Comparison):
            return False
        return self._is_limited(wanted)

    def _excludes(self, value: Numeric) -> bool:
        return any(not _passes(value, one) for one in self.tests)

    def _is_limited(self, wanted: Comparison) -> bool:
        (limit,) = _literals(wanted)
        strict = "=" not in wanted.operator
        for one in self.lows if ">" in wanted.operator else self.highs:
            (bound,) = _literals(one)
            if compare(wanted.operator, bound, limit):
                return True
            if bound == limit and ("=" not in one.operator or not strict or self._excludes(limit)):
                return True
        return False


def _passes(value: Numeric | str, test: Condition) -> bool:
    if isinstance(test, In):
        return (value in _literals(test)) is not test.negated
    if isinstance(test, Like):
        return like_matcher(test.pattern)(str(value)) is not test.negated
    assert isinstance(test, Comparison)
    return compare(test.operator, value, _literals(test)[0]) is True


class _Texts:
    """What is known about a text: a list, or what it is like, and what it is not."""

    def __init__(self, about: list[Condition]) -> None:
        self.tests = [one for one in about if _world(one) is String]
        self.points: list[str] | None = _possible(self.tests)

    def are_all(self, wanted: Condition) -> bool:
        """Whether each text that is left passes the test."""
        if not self.tests:
            return False
        if self.points is not None:
            left = [point for point in self.points if all(_passes(point, one) for one in self.tests)]
            return all(_passes(point, wanted) for point in left)
        if _listed(wanted, negated=True):
            return all(any(not _passes(value, one) for one in self.tests) for value in _literals(wanted))
        if not isinstance(wanted, Like):
            return False
        return (wanted.pattern == "%" and not wanted.negated) or any(self._settles(one, wanted) for one in self.tests)

    @staticmethod
    def _settles(one: Condition, wanted: Like) -> bool:
        if not isinstance(one, Like) or one.negated is not wanted.negated:
            return False
        wide, narrow = (one, wanted) if wanted.negated else (wanted, one)
        return like_covers(wide.pattern, narrow.pattern)
