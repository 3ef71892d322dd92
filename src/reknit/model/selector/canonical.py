"""One form for all selectors that mean the same, as far as that is cheap to see; and back to text.

An event matches if the selector is *true*, so two selectors are equal if they are true for the same events. The rules:

1. NOT moves inward until it is gone: De Morgan's laws hold with three values, ``NOT a < b`` is ``a >= b`` because both
   are unknown together, and IN, LIKE and IS NULL have negated forms.
2. From there on AND and OR stand on comparisons alone, and both only grow with their operands. So an operand that can
   never be true counts as FALSE, be it false or unknown: ``1 / 0 = 1`` is FALSE, and FALSE leaves an OR and ends an
   AND.
3. AND and OR are flattened, sorted and lose their doubles. A literal stands on the right of a comparison; of two other
   sides the lesser text stands left. Sums and products of two are sorted the same way, never regrouped: with floats and
   64 bits, (a + b) + c is not a + (b + c).
4. Literals are calculated. A float that is a whole number of 64 bits becomes an integer where it is only compared, for
   numbers compare exactly; in arithmetic it stays, for ``a / 2`` and ``a / 2.0`` differ.
5. IN is sorted without doubles, and ``=`` if one is left; LIKE without wildcards is ``=``; booleans know no ``<>``.

Owns: these rules, and ``unparse``. Must not know: bounds of the language, or patterns.
"""

from __future__ import annotations

import re

from reknit.model.event import INTEGER_MAX, INTEGER_MIN
from reknit.model.selector.evaluate import Numeric, arithmetic, compare, negate, truth_of
from reknit.model.selector.like import like_literal, like_normal
from reknit.model.selector.syntax import (
    KEYWORDS,
    MIRRORED,
    NEGATED,
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
    Not,
    Number,
    Or,
    String,
    Value,
)

__all__ = ["canonical", "unparse"]

_NEVER, _ALWAYS = Boolean(False), Boolean(True)
_LITERALS = (Number, String, Boolean)
_PLAIN_NAME = re.compile(r"[A-Za-z_$][0-9A-Za-z_$]*(?:\.[0-9A-Za-z_$]+)*")


def canonical(condition: Condition) -> Condition:
    """The canonical form: true for exactly the same events."""
    return _positive(condition, wanted=True)


def _positive(condition: Condition, wanted: bool) -> Condition:
    """The canonical form of the condition, or of its negation, without any NOT."""
    if isinstance(condition, Not):
        return _positive(condition.operand, not wanted)
    if isinstance(condition, And | Or):
        operands = [_positive(operand, wanted) for operand in condition.operands]
        return _joined(operands, every=isinstance(condition, And) == wanted)
    if isinstance(condition, Comparison):
        sign = condition.operator if wanted else NEGATED[condition.operator]
        return _comparison(sign, _value(condition.left), _value(condition.right))
    if isinstance(condition, In):
        return _in(_value(condition.value), condition.members, condition.negated is wanted)
    if isinstance(condition, Like):
        return _like(condition.name, condition.pattern, condition.negated is wanted)
    if isinstance(condition, IsNull):
        return IsNull(condition.name, condition.negated is wanted)
    return Boolean(condition.value is wanted)


def _joined(operands: list[Condition], every: bool) -> Condition:
    """AND (``every``) or OR of canonical operands."""
    neutral, final = (_ALWAYS, _NEVER) if every else (_NEVER, _ALWAYS)
    kind = And if every else Or
    unique: dict[str, Condition] = {}
    for operand in operands:
        for part in operand.operands if isinstance(operand, kind) else (operand,):
            if part == final:
                return final
            if part != neutral:
                unique[unparse(part)] = part
    parts = tuple(part for _, part in sorted(unique.items()))
    if not parts:
        return neutral
    return parts[0] if len(parts) == 1 else kind(parts)


def _comparison(sign: str, left: Value | None, right: Value | None) -> Condition:
    if left is None or right is None:
        return _NEVER
    if isinstance(left, _LITERALS) and isinstance(right, _LITERALS):
        return Boolean(compare(sign, left.value, right.value) is True)
    if _belongs_right(left, right):
        sign, left, right = MIRRORED[sign], right, left
    if isinstance(right, Boolean) and sign == "<>":
        sign, right = "=", Boolean(not right.value)
    return Comparison(sign, _compared(left), _compared(right))


def _belongs_right(left: Value, right: Value) -> bool:
    if isinstance(left, _LITERALS) or isinstance(right, _LITERALS):
        return isinstance(left, _LITERALS)
    return unparse_value(left) > unparse_value(right)


def _compared(value: Value) -> Value:
    """A literal that is only compared: a whole float is as good as the integer."""
    return Number(_plain(value.value)) if isinstance(value, Number) else value


def _plain(number: Numeric) -> Numeric:
    whole = isinstance(number, float) and number.is_integer() and INTEGER_MIN <= number <= INTEGER_MAX
    return int(number) if whole else number


def _in(value: Value | None, members: tuple[Number, ...] | tuple[String, ...], negated: bool) -> Condition:
    if value is None:
        return _NEVER
    if isinstance(value, _LITERALS):
        return Boolean(truth_of(In(value, members, negated))({}) is True)
    plain: tuple[Number, ...] | tuple[String, ...]
    if isinstance(members[0], String):
        plain = tuple(String(text) for text in sorted({str(member.value) for member in members}))
    else:
        plain = tuple(Number(number) for number in sorted({_plain(member.value) for member in members}))
    if len(plain) > 1:
        return In(value, plain, negated)
    return _comparison("<>" if negated else "=", value, plain[0])


def _like(name: Name, pattern: str, negated: bool) -> Condition:
    literal = like_literal(pattern)
    if literal is not None:
        return Comparison("<>" if negated else "=", name, String(literal))
    return Like(name, like_normal(pattern), negated)


def _value(value: Value) -> Value | None:
    """The canonical form of a value; ``None`` if it is always unknown."""
    if isinstance(value, Negate):
        operand = _value(value.operand)
        if operand is None or isinstance(operand, _LITERALS):
            return _number(negate(None if operand is None else operand.value))
        return Negate(operand)
    if isinstance(value, Arithmetic):
        return _arithmetic(value.operator, _value(value.left), _value(value.right))
    return value


def _arithmetic(sign: str, left: Value | None, right: Value | None) -> Value | None:
    if left is None or right is None:
        return None
    if isinstance(left, _LITERALS) and isinstance(right, _LITERALS):
        return _number(arithmetic(sign, left.value, right.value))
    if isinstance(left, String | Boolean) or isinstance(right, String | Boolean):
        return None
    if sign == "/" and isinstance(right, Number) and right.value == 0:
        return None
    if sign in "+*" and _rank(left, sign) > _rank(right, sign):
        left, right = right, left
    return Arithmetic(sign, left, right)


def _rank(value: Value, sign: str) -> tuple[bool, bool, str]:
    """A chain of the same kind first, so that no more parentheses are needed than were written; literals last."""
    chained = isinstance(value, Arithmetic) and value.operator in ("+-" if sign == "+" else "*/")
    return not chained, isinstance(value, Number), unparse_value(value)


def _number(number: Numeric | None) -> Number | None:
    return None if number is None else Number(number)


# --- back to text


def unparse(condition: Condition) -> str:
    """The text of a tree: ``parse(unparse(tree))`` is the tree again."""
    if isinstance(condition, And):
        return " AND ".join(_wrapped(operand, And | Or) for operand in condition.operands)
    if isinstance(condition, Or):
        return " OR ".join(_wrapped(operand, Or) for operand in condition.operands)
    if isinstance(condition, Not):
        return "NOT " + _wrapped(condition.operand, And | Or)
    if isinstance(condition, Comparison):
        return f"{unparse_value(condition.left)} {condition.operator} {unparse_value(condition.right)}"
    if isinstance(condition, Boolean):
        return unparse_value(condition)
    negation = "NOT " if condition.negated else ""
    if isinstance(condition, In):
        members = ", ".join(unparse_value(member) for member in condition.members)
        return f"{unparse_value(condition.value)} {negation}IN ({members})"
    if isinstance(condition, Like):
        escape = " ESCAPE '\\'" if "\\" in condition.pattern else ""
        return f"{_name(condition.name.name)} {negation}LIKE {_string(condition.pattern)}{escape}"
    return f"{_name(condition.name.name)} IS {negation}NULL"


def _wrapped(condition: Condition, kinds: object) -> str:
    text = unparse(condition)
    return f"({text})" if isinstance(condition, kinds) else text  # type: ignore[arg-type]


def unparse_value(value: Value) -> str:
    if isinstance(value, Name):
        return _name(value.name)
    if isinstance(value, String):
        return _string(value.value)
    if isinstance(value, Boolean):
        return "TRUE" if value.value else "FALSE"
    if isinstance(value, Number):
        return repr(value.value)
    if isinstance(value, Negate):
        operand = unparse_value(value.operand)
        return f"-({operand})" if isinstance(value.operand, Arithmetic | Number) else f"-{operand}"
    left = _operand(value.left, loose="+-" if value.operator in "*/" else "")
    right = _operand(value.right, loose="+-*/" if value.operator in "*/" else "+-")
    return f"{left} {value.operator} {right}"


def _operand(value: Value, loose: str) -> str:
    """In parentheses if it is an operation of the ``loose`` ones: they bind less than what stands around."""
    text = unparse_value(value)
    return f"({text})" if isinstance(value, Arithmetic) and value.operator in loose else text


def _string(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _name(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) and name.upper() not in KEYWORDS else '"' + name.replace('"', '""') + '"'
