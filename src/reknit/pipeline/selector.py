"""Patterns as Spark's columns: the same answers as in a broker, for every event of a history at once.

Owns: the translation of topic filters and of selectors' trees. Must not know: what is asked of the events that match.

A value is known by what it is in each of the three worlds: a text, a boolean, a number, which is an integer or a float.
Where Spark's own meaning differs from a broker's, it is not used:

- an integer beside a float would become a float, and a literal such as 0.1 a decimal; here both are compared exactly;
- arithmetic that leaves 64 bits, or the finite floats, is unknown, and so is NaN;
- its LIKE may take exponential time; here each piece between two ``%`` is taken at its leftmost place and never again,
  by a group that gives nothing back.

Expressions are written as text, for they have hundreds of small parts, each of which would cost a call to Java. What
arithmetic yields is used several times, so it becomes a column of its own first: all grows with the selector, and not
with the depth of its nesting.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from reknit.model.pattern import Pattern
from reknit.model.selector import condition_of
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
    Not,
    Number,
    Or,
    String,
    Value,
)

__all__ = ["like_regex", "matching", "names_in", "topic_regex", "view", "with_truths"]

_TOO_LARGE = "CAST('9223372036854775808' AS DOUBLE)"
"""The first float that is larger than every integer; its negative is the smallest integer."""

_TRUE = "__true"

_EXACT_CHARS_MAX = 64  # as in the broker: a longer run of digits is read as a float

_INTEGER = r"\A[+-]?[0-9]+\z"
_FLOAT = r"\A[+-]?(?:(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[0-9]+(?:[eE][+-]?[0-9]+)?)\z"


def matching(events: DataFrame, pattern: Pattern) -> DataFrame:
    """The events of a trace's columns that the pattern matches, with the columns they have."""
    chosen = events.where(F.col("topic").rlike(topic_regex(pattern.topic)))
    if not pattern.selector:
        return chosen
    condition = condition_of(pattern.selector)
    names = {name: f"__{number}" for number, name in enumerate(dict.fromkeys(names_in(condition)))}
    valued = chosen.withColumns({column: view(name) for name, column in names.items()})
    return with_truths(valued, {_TRUE: condition}, names).where(_TRUE).drop(_TRUE, *names.values())


def with_truths(rows: DataFrame, conditions: Mapping[str, Condition], named: Mapping[str, str]) -> DataFrame:
    """The rows with a column for each condition: true, false or null, as the broker's ``evaluate`` says.

    ``named``: by attribute, the column that ``view`` has made of it.
    """
    writer = _Writer(named)
    truths = {column: writer.truth(condition) for column, condition in conditions.items()}
    made = rows
    for level in writer.levels:
        made = made.withColumns({name: F.expr(sql) for name, sql in level.items()})
    made = made.withColumns({column: F.expr(sql) for column, sql in truths.items()})
    return made.drop(*(name for level in writer.levels for name in level))


def names_in(tree: Condition | Value) -> Iterator[str]:
    """The attributes that a tree asks for, in its order."""
    if isinstance(tree, Name):
        yield tree.name
    for field in tree.__dataclass_fields__:
        part = getattr(tree, field)
        for each in part if isinstance(part, tuple) else (part,):
            if hasattr(each, "__dataclass_fields__"):
                yield from names_in(each)


# --- topics

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/")


def _literally(text: str) -> str:
    return "".join(char if char in _LETTERS else f"\\x{{{ord(char):x}}}" for char in text)


def topic_regex(topic_filter: str) -> str:
    levels = topic_filter.split("/")
    open_ended = levels[-1] == "#"
    if open_ended:
        levels.pop()
    own = r"(?!\$)" if topic_filter[0] in "+#" else ""
    fixed = "/".join("[^/]*" if level == "+" else _literally(level) for level in levels)
    if not open_ended:
        return rf"\A{own}{fixed}\z"
    return rf"(?s)\A{own}{fixed}(?:/.*)?\z" if levels else rf"(?s)\A{own}.*\z"


# --- LIKE


def like_regex(pattern: str) -> str:
    """A regular expression for ``syntax.Like``'s patterns that reads each text in linear time."""
    head, *rest = _segments(pattern)
    if not rest:
        return rf"(?s)\A{head}\z"
    *middle, tail = rest
    return rf"(?s)\A{head}" + "".join(f"(?>.*?{each})" for each in middle if each) + rf".*{tail}\z"


def _segments(pattern: str) -> list[str]:
    """The pieces between ``%``, as regular expressions."""
    found, escaped = [""], False
    for char in pattern:
        if escaped or char not in "\\%_":
            found[-1] += _literally(char)
            escaped = False
        elif char == "\\":
            escaped = True
        elif char == "%":
            found.append("")
        else:
            found[-1] += "."
    return found


# --- attributes


def view(name: str) -> Column:
    """An attribute of an event, as the trace's columns have it: typed, else a user property, else derived.

    A structure: ``x`` the value as a text, ``b`` as a boolean, ``y`` whether it is one by type, ``i`` and ``d`` as a
    number. Null if there is no such attribute.
    """
    key = _string(name)
    pairs = f"filter(from_json(properties, 'array<array<string>>'), pair -> pair[0] = {key})"
    typed = [f"try_element_at(from_json({each}, 'map<string,variant>'), {key})" for each in ("attributes", "derived")]
    untyped = f"try_element_at({pairs}, -1)[1]"
    return F.expr(f"coalesce({_of_variant(typed[0])}, {_of_text(untyped)}, {_of_variant(typed[1])})")


def _of_variant(held: str) -> str:
    def got(kind: str) -> str:
        return f"try_variant_get(v.w, '$', '{kind}')"

    spelled = "try_variant_get(v.w, '$.float', 'string')"
    real = f"CASE WHEN startswith(v.k, 'DECIMAL') OR v.k = 'DOUBLE' THEN {got('double')} END"
    unbounded = f"CASE {spelled} WHEN 'inf' THEN {_double(float('inf'))} WHEN '-inf' THEN {_double(float('-inf'))} END"
    made = _struct(
        x=f"CASE WHEN v.k = 'STRING' THEN {got('string')} END",
        b=f"CASE WHEN v.k = 'BOOLEAN' THEN {got('boolean')} END",
        y="v.k = 'BOOLEAN'",
        i=f"CASE WHEN v.k = 'BIGINT' THEN {got('bigint')} END",
        d=f"coalesce({real}, {unbounded})",
    )
    bound = "named_struct('w', w, 'k', schema_of_variant(w))"
    return f"CASE WHEN {held} IS NOT NULL THEN {_let(held, 'w', _let(bound, 'v', made))} END"


def _of_text(text: str) -> str:
    exact = (
        f"CASE WHEN rlike(v, {_string(_INTEGER)}) AND length(v) <= {_EXACT_CHARS_MAX} THEN try_cast(v AS BIGINT) END"
    )
    near = f"CASE WHEN rlike(v, {_string(_FLOAT)}) THEN {_finite('try_cast(v AS DOUBLE)')} END"
    made = _struct(
        x="v",
        b="CASE lower(v) WHEN 'true' THEN true WHEN 'false' THEN false END",
        y="false",
        i=exact,
        d=f"CASE WHEN ({exact}) IS NULL THEN {near} END",
    )
    return f"CASE WHEN {text} IS NOT NULL THEN {_let(text, 'v', made)} END"


def _struct(x: str, b: str, y: str, i: str, d: str) -> str:
    kinds = {"x": (x, "STRING"), "b": (b, "BOOLEAN"), "y": (y, "BOOLEAN"), "i": (i, "BIGINT"), "d": (d, "DOUBLE")}
    fields = ", ".join(f"'{name}', CAST({sql} AS {kind})" for name, (sql, kind) in kinds.items())
    return f"named_struct({fields})"


def _let(value: str, name: str, body: str) -> str:
    """``body``, in which ``name`` is a value that is computed once."""
    return f"element_at(transform(array({value}), {name} -> {body}), 1)"


def _string(text: str) -> str:
    """A literal that no character can break out of."""
    return f"decode(unhex('{text.encode().hex()}'), 'UTF-8')"


def _double(number: float) -> str:
    return f"CAST('{number!r}' AS DOUBLE)"


def _finite(number: str) -> str:
    return f"CASE WHEN abs({number}) < {_double(float('inf'))} THEN {number} END"


# --- values


def _number(value: int | float) -> _Held:
    return _Held(i=f"CAST('{value}' AS BIGINT)") if isinstance(value, int) else _Held(d=_double(value))


@dataclass(frozen=True, slots=True)
class _Held:
    """A value in each of the three worlds, as expressions; None where it can be none of that world."""

    x: str | None = None
    b: str | None = None
    y: str | None = None
    i: str | None = None
    d: str | None = None


class _Writer:
    """Writes expressions. Each result of arithmetic becomes a column of its own, made when what it needs is there."""

    def __init__(self, named: Mapping[str, str]) -> None:
        self.named = named
        self.levels: list[dict[str, str]] = []
        """Columns to be made, one level after the other: each needs those before."""

    def value(self, value: Value) -> tuple[_Held, int]:
        """The value, and how many levels have to be made for it."""
        if isinstance(value, Negate):
            held, level = self.value(value.operand)
            return self._made(_negated(held), level)
        if isinstance(value, Arithmetic):
            (left, below), (right, beside) = self.value(value.left), self.value(value.right)
            return self._made(_calculated(value.operator, left, right), max(below, beside))
        return self._atom(value), 0

    def _atom(self, value: Name | Number | String | Boolean) -> _Held:
        if isinstance(value, Name):
            column = self.named[value.name]
            return _Held(*(f"`{column}`.{field}" for field in ("x", "b", "y", "i", "d")))
        if isinstance(value, String):
            return _Held(x=_string(value.value))
        if isinstance(value, Boolean):
            return _Held(b="true" if value.value else "false", y="true")
        return _number(value.value)

    def _made(self, number: _Held, level: int) -> tuple[_Held, int]:
        fields = {each: sql for each, sql in (("i", number.i), ("d", number.d)) if sql is not None}
        if not fields:
            return number, level
        while len(self.levels) <= level:
            self.levels.append({})
        name = f"__n{sum(map(len, self.levels))}"
        kinds = {"i": "BIGINT", "d": "DOUBLE"}
        made = ", ".join(f"'{each}', CAST({sql} AS {kinds[each]})" for each, sql in fields.items())
        self.levels[level][name] = f"named_struct({made})"
        return _Held(**{each: f"`{name}`.{each}" for each in fields}), level + 1

    # --- conditions

    def truth(self, condition: Condition) -> str:
        match condition:
            case And(operands):
                return "(" + " AND ".join(map(self.truth, operands)) + ")"
            case Or(operands):
                return "(" + " OR ".join(map(self.truth, operands)) + ")"
            case Not(operand):
                return f"(NOT {self.truth(operand)})"
            case Comparison(sign, left, right):
                return _compared(sign, self.value(left)[0], self.value(right)[0])
            case In(value, members, negated):
                return _not(_among(self.value(value)[0], members), negated)
            case Like(name, pattern, negated):
                return _not(f"rlike(`{self.named[name.name]}`.x, {_string(like_regex(pattern))})", negated)
            case IsNull(name, negated):
                return _not(f"(`{self.named[name.name]}` IS NULL)", negated)
            case Boolean(value):
                return "true" if value else "false"


def _not(sql: str, negated: bool) -> str:
    return f"(NOT {sql})" if negated else sql


_UNKNOWN = "CAST(NULL AS BOOLEAN)"


def _negated(held: _Held) -> _Held:
    whole = None if held.i is None else f"try_subtract(CAST(0 AS BIGINT), {held.i})"
    return _Held(i=whole, d=None if held.d is None else _finite(f"(-{held.d})"))


def _calculated(sign: str, left: _Held, right: _Held) -> _Held:
    """Of two integers an integer; else a float, if one of them is."""
    whole = _ON_INTEGERS[sign].format(a=left.i, b=right.i) if left.i and right.i else None
    reals = []
    for a, b in ((left.d, right.d), (left.d, _as_double(right.i)), (_as_double(left.i), right.d)):
        if a and b:
            reals.append(_finite(_ON_FLOATS[sign].format(a=a, b=b)))
    return _Held(i=whole, d=f"coalesce({', '.join(reals)})" if reals else None)


def _as_double(whole: str | None) -> str | None:
    return None if whole is None else f"CAST({whole} AS DOUBLE)"


_ON_INTEGERS = {
    "+": "try_add({a}, {b})",
    "-": "try_subtract({a}, {b})",
    "*": "try_multiply({a}, {b})",
    # Cut towards zero; the one quotient that leaves 64 bits is that of the smallest integer and -1.
    "/": "CASE WHEN {b} = -1 THEN try_subtract(CAST(0 AS BIGINT), {a}) WHEN {b} <> 0 THEN {a} div {b} END",
}
_ON_FLOATS = {"+": "({a} + {b})", "-": "({a} - {b})", "*": "({a} * {b})", "/": "try_divide({a}, {b})"}


# --- comparing


def _compared(sign: str, left: _Held, right: _Held) -> str:
    if sign not in ("=", "<>"):
        order = _order(left, right)
        return f"({order} {sign} 0)" if order else _UNKNOWN
    return _not(_equal(left, right), sign == "<>")


def _equal(left: _Held, right: _Held) -> str:
    """Two texts as texts; beside a boolean as booleans; else as numbers."""
    cases = []
    if left.x and right.x:
        cases.append(f"WHEN {left.x} IS NOT NULL AND {right.x} IS NOT NULL THEN {left.x} = {right.x}")
    if left.b and right.b:
        typed = " OR ".join(each for each in (left.y, right.y) if each)
        cases.append(f"WHEN {typed} THEN {left.b} = {right.b}")
    order = _order(left, right)
    numbers = f"{order} = 0" if order else "NULL"
    return f"(CASE {' '.join(cases)} ELSE {numbers} END)" if cases else f"CAST({numbers} AS BOOLEAN)"


def _order(left: _Held, right: _Held) -> str | None:
    """Below, at or above zero as the one number is smaller, equal or larger; None if they cannot be two numbers."""
    cases = []
    for a, b in ((left.i, right.i), (left.d, right.d)):
        if a and b:
            cases.append(_signed(a, b))
    if left.i and right.d:
        cases.append(_mixed(left.i, right.d))
    if left.d and right.i:
        cases.append(f"-{_mixed(right.i, left.d)}")
    return f"coalesce({', '.join(cases)})" if cases else None


def _signed(a: str, b: str) -> str:
    return f"(CASE WHEN {a} < {b} THEN -1 WHEN {a} > {b} THEN 1 WHEN {a} = {b} THEN 0 END)"


def _mixed(whole: str, real: str) -> str:
    """An integer beside a float: by the float's whole part, and then by what is left of it."""
    return (
        f"(CASE WHEN {whole} IS NULL OR {real} IS NULL THEN NULL WHEN {real} >= {_TOO_LARGE} THEN -1 "
        f"WHEN {real} < -{_TOO_LARGE} THEN 1 WHEN {whole} < floor({real}) THEN -1 WHEN {whole} > floor({real}) THEN 1 "
        f"WHEN {real} > CAST(floor({real}) AS DOUBLE) THEN -1 ELSE 0 END)"
    )


def _among(held: _Held, members: tuple[Number, ...] | tuple[String, ...]) -> str:
    if isinstance(members[0], String):
        wanted = ", ".join(_string(str(member.value)) for member in members)
        return f"({held.x} IN ({wanted}))" if held.x else _UNKNOWN
    same = [_order(held, _number(member.value)) for member in members]
    found = " OR ".join(f"coalesce({each} = 0, false)" for each in same if each)
    known = " OR ".join(f"{each} IS NOT NULL" for each in (held.i, held.d) if each)
    return f"(CASE WHEN {known} THEN {found} END)" if known and found else _UNKNOWN
