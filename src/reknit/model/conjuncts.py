"""A selector taken apart into what an index can use, and the rest.

A canonical selector is mostly a conjunction. Each conjunct that ties one attribute to literals becomes an equality, a
closed range of numbers, or a choice of texts; what fits none of these stays a condition that has to be evaluated. A
strict limit is a closed range with a *hole*: ``a > 3`` is ``a >= 3`` without 3. That is exact for integers and floats
alike, where "the next number after 3" would not be.

Owns: this split. Must not know: how any part is indexed.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

from reknit.model.event import Scalar
from reknit.model.selector.evaluate import Numeric, View, boolean, number
from reknit.model.selector.like import like_prefix
from reknit.model.selector.syntax import And, Boolean, Comparison, Condition, In, Like, Name, Number, String

__all__ = ["PREFIX_CHARS_MAX", "Choice", "Conjuncts", "Equality", "Hole", "Range", "Ruler", "Senses", "World", "split"]

PREFIX_CHARS_MAX = 32
"""How much of a LIKE's prefix is indexed; the rest of a longer one is evaluated."""


class World(IntEnum):
    """The three worlds of values that never equal each other."""

    NUMBERS = 0
    TEXTS = 1
    BOOLEANS = 2


Equality: TypeAlias = tuple[World, str, Scalar]
"""World, attribute, value."""
Range: TypeAlias = tuple[str, Numeric, Numeric]
"""Attribute, least, greatest; both included."""
Hole: TypeAlias = tuple[str, Numeric]
"""Attribute, the one number that it must not be."""
Choice: TypeAlias = tuple[str, tuple[str, ...], str]
"""Attribute, the texts it may be; if there are none, what it must begin with."""


class Ruler:
    """Cuts in the line of numbers. Cell ``i`` holds those from ``cuts[i - 1]``, included, to ``cuts[i]``, excluded."""

    __slots__ = ("cuts", "drawn_from")

    def __init__(self, cuts: list[Numeric], drawn_from: int) -> None:
        self.cuts = cuts
        self.drawn_from = drawn_from  # how many patterns had a say in the cuts


class Senses:
    """An event's attributes as each world sees them. An untyped text is seen by all that can read it."""

    __slots__ = ("cells", "numbers", "texts", "view", "worlds")

    def __init__(self, view: View) -> None:
        self.view = view
        self.cells: dict[Ruler, int] = {}
        self.numbers: dict[str, Numeric] = {}
        self.texts: dict[str, str] = {}
        booleans: dict[str, bool] = {}
        for name, value in view.items():
            if isinstance(value, str):
                self.texts[name] = value
            if (read := number(value)) is not None:
                self.numbers[name] = read
            elif (truth := boolean(value)) is not None:
                booleans[name] = truth
        self.worlds: tuple[Mapping[str, Scalar], ...] = (self.numbers, self.texts, booleans)

    def place(self, name: str, ruler: Ruler) -> int:
        """The cell that the event is in; -1, which is the last, if its attribute is no number."""
        value = self.numbers.get(name)
        cell = self.cells[ruler] = -1 if value is None else bisect_right(ruler.cuts, value)
        return cell


@dataclass(frozen=True, slots=True)
class Conjuncts:
    """All parts must hold. ``ranges`` has each attribute once, in the order of the selector."""

    equalities: tuple[Equality, ...]
    ranges: tuple[Range, ...]
    holes: tuple[Hole, ...]
    choices: tuple[Choice, ...]
    rest: tuple[Condition, ...]


def split(condition: Condition) -> Conjuncts:
    """The parts of a canonical condition."""
    splitter = _Splitter()
    for conjunct in condition.operands if isinstance(condition, And) else (condition,):
        splitter.take(conjunct)
    return splitter.done()


class _Splitter:
    def __init__(self) -> None:
        self.equalities: list[Equality] = []
        self.ranges: dict[str, tuple[Numeric, Numeric]] = {}
        self.holes: list[Hole] = []
        self.choices: list[Choice] = []
        self.rest: list[Condition] = []

    def done(self) -> Conjuncts:
        ranges = tuple((name, low, high) for name, (low, high) in self.ranges.items())
        return Conjuncts(tuple(self.equalities), ranges, tuple(self.holes), tuple(self.choices), tuple(self.rest))

    def take(self, conjunct: Condition) -> None:
        if isinstance(conjunct, Comparison) and isinstance(conjunct.left, Name):
            self._take_comparison(conjunct, conjunct.left.name)
        elif isinstance(conjunct, In) and isinstance(conjunct.value, Name) and not conjunct.negated:
            self._take_in(conjunct, conjunct.value.name)
        elif isinstance(conjunct, Like) and not conjunct.negated:
            self._take_like(conjunct)
        else:
            self.rest.append(conjunct)

    def _take_comparison(self, conjunct: Comparison, name: str) -> None:
        sign, right = conjunct.operator, conjunct.right
        if sign == "=" and isinstance(right, Number | String | Boolean):
            self.equalities.append((_world(right), name, right.value))
        elif sign != "<>" and isinstance(right, Number):
            self._narrow(name, right.value if ">" in sign else -math.inf, right.value if "<" in sign else math.inf)
            if "=" not in sign:
                self.holes.append((name, right.value))
        else:
            self.rest.append(conjunct)

    def _take_in(self, conjunct: In, name: str) -> None:
        members = conjunct.members
        if isinstance(members[0], String):
            self.choices.append((name, tuple(str(member.value) for member in members), ""))
            return
        values = [member.value for member in members if isinstance(member, Number)]
        self._narrow(name, min(values), max(values))
        self.rest.append(conjunct)

    def _take_like(self, conjunct: Like) -> None:
        prefix, is_all = like_prefix(conjunct.pattern)
        if prefix:
            self.choices.append((conjunct.name.name, (), prefix[:PREFIX_CHARS_MAX]))
        if not prefix or not is_all or len(prefix) > PREFIX_CHARS_MAX:
            self.rest.append(conjunct)

    def _narrow(self, name: str, low: Numeric, high: Numeric) -> None:
        least, greatest = self.ranges.get(name, (-math.inf, math.inf))
        self.ranges[name] = (max(least, low), min(greatest, high))


def _world(literal: Number | String | Boolean) -> World:
    if isinstance(literal, Number):
        return World.NUMBERS
    return World.TEXTS if isinstance(literal, String) else World.BOOLEANS
