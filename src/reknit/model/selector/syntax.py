"""The tree of a selector: frozen nodes, no behaviour.

A *value* is what can be compared: a name, a literal, arithmetic. A *condition* is what can be true, false or unknown.
``BETWEEN``, a bare boolean name and ``ESCAPE`` have no node of their own: the parser writes them as what they mean.

Owns: the shape of the tree, its bounds, and the words that cannot be names. Must not know: the text, or what a node
evaluates to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

__all__ = [
    "KEYWORDS",
    "MIRRORED",
    "NEGATED",
    "SELECTOR_NESTING_MAX",
    "SELECTOR_TERMS_MAX",
    "And",
    "Arithmetic",
    "Boolean",
    "Comparison",
    "Condition",
    "In",
    "IsNull",
    "Like",
    "Name",
    "Negate",
    "Not",
    "Number",
    "Or",
    "String",
    "Value",
]

SELECTOR_NESTING_MAX = 32
"""How deep parentheses, NOTs, signs and chains of arithmetic may nest."""
SELECTOR_TERMS_MAX = 256
"""How many names and literals a selector may hold; BETWEEN counts its left side twice, a bare name for ``= TRUE``."""

KEYWORDS = frozenset(
    ["AND", "BETWEEN", "ESCAPE", "FALSE", "IN", "IS", "LIKE", "NOT", "NULL", "OR", "TRUE"]
)  # membership only: the order of a set never reaches a result

NEGATED = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
"""The comparison that is true where the other is false. Where one is unknown, so is the other."""

MIRRORED = {"=": "=", "<>": "<>", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
"""The comparison that says the same with its sides exchanged."""


@dataclass(frozen=True, slots=True)
class Name:
    """An attribute of the event."""

    name: str


@dataclass(frozen=True, slots=True)
class Number:
    value: int | float


@dataclass(frozen=True, slots=True)
class String:
    value: str


@dataclass(frozen=True, slots=True)
class Boolean:
    """A literal; where a condition stands, one that is always or never true."""

    value: bool


@dataclass(frozen=True, slots=True)
class Negate:
    operand: Value


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """``operator`` is one of ``+ - * /``."""

    operator: str
    left: Value
    right: Value


@dataclass(frozen=True, slots=True)
class Comparison:
    """``operator`` is one of ``= <> < <= > >=``."""

    operator: str
    left: Value
    right: Value


@dataclass(frozen=True, slots=True)
class In:
    """``members`` are all numbers or all strings."""

    value: Value
    members: tuple[Number, ...] | tuple[String, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Like:
    """``pattern`` has ``%`` and ``_`` as wildcards and ``\\`` before each of the three that is meant literally."""

    name: Name
    pattern: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class IsNull:
    name: Name
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Not:
    operand: Condition


@dataclass(frozen=True, slots=True)
class And:
    operands: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Or:
    operands: tuple[Condition, ...]


Value: TypeAlias = Name | Number | String | Boolean | Negate | Arithmetic
Condition: TypeAlias = Boolean | Comparison | In | Like | IsNull | Not | And | Or
