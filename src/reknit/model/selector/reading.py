"""The grammar of selectors, and the tree that grows while a text is read by it.

The grammar is LALR and its parser keeps a stack of its own, so no text can exhaust Python's. Cost is bounded three
times: the text's length before anything is read (see ``parse``), the depth and the number of terms while the tree
grows. Each part of the tree carries its place in the text until it is whole, so that a fault found late still points at
its cause.

Owns: reading, and what is wrong with a text that cannot be read. Must not know: what a condition evaluates to.
"""

from __future__ import annotations

import unicodedata
from importlib import resources
from typing import NamedTuple

from lark import Lark, Token, Transformer, UnexpectedCharacters, UnexpectedInput, UnexpectedToken, v_args

from reknit.model.event import INTEGER_MAX
from reknit.model.selector.syntax import (
    KEYWORDS,
    SELECTOR_NESTING_MAX,
    SELECTOR_TERMS_MAX,
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

__all__ = ["Fault", "read"]


class Fault(Exception):
    """A fault at a place, for somebody who has the text at hand."""

    def __init__(self, why: str, at: int) -> None:
        super().__init__(why)
        self.why, self.at = why, at


class _Part(NamedTuple):
    """A piece of the growing tree: where it begins, how deep it is, how many terms it holds."""

    node: Value | Condition
    at: int
    depth: int = 1
    terms: int = 1


_CONDITIONS = (Comparison, In, Like, IsNull, Not, And, Or)


def _joined(node: Value | Condition, at: int, *parts: _Part) -> _Part:
    depth = 1 + max(part.depth for part in parts)
    terms = sum(part.terms for part in parts)
    if depth > SELECTOR_NESTING_MAX:
        raise Fault(f"this nests deeper than {SELECTOR_NESTING_MAX} levels", at)
    if terms > SELECTOR_TERMS_MAX:
        raise Fault(f"this holds more than {SELECTOR_TERMS_MAX} names and literals", at)
    return _Part(node, at, depth, terms)


def _value(part: _Part) -> Value:
    """The part as something that can be compared or counted with."""
    if isinstance(part.node, _CONDITIONS):
        raise Fault("a value is needed here (a name, a literal, arithmetic), and this is a condition", part.at)
    return part.node


def _numeric(part: _Part, use: str) -> Value:
    """The part as a number, as far as that can be known before there is an event."""
    value = _value(part)
    if isinstance(value, String | Boolean):
        what = "a text in quotes" if isinstance(value, String) else "TRUE or FALSE"
        raise Fault(f"{use} is for numbers only, and this is {what}", part.at)
    return value


def _condition(part: _Part) -> _Part:
    """The part as a condition; a bare name asks whether that attribute is true."""
    if isinstance(part.node, Name):
        true = Boolean(True)  # counts as if it were written, since the canonical form writes it
        return _joined(Comparison("=", part.node, true), part.at, part, _Part(true, part.at))
    if isinstance(part.node, (Boolean, *_CONDITIONS)):
        return part
    raise Fault("a condition is needed here, such as a comparison, and this is only a value", part.at)


def _name(part: _Part, use: str) -> Name:
    if not isinstance(part.node, Name):
        raise Fault(f"{use} is asked of an attribute, so its left side must be a name", part.at)
    return part.node


def _unquoted(token: Token) -> str:
    quote = token[0]
    return token[1:-1].replace(quote * 2, quote)


@v_args(inline=True)
class _Builder(Transformer[Token, _Part]):
    """Called by the parser at each rule it completes."""

    # --- words

    def name(self, token: Token) -> _Part:
        for offset, char in enumerate(token):
            if not char.isascii() and not _fits_name(char, first=offset == 0):
                raise Fault(
                    f"{_character(char)} cannot be part of a name; put the name into double quotes", _at(token) + offset
                )
        return _Part(Name(str(token)), _at(token))

    def quoted(self, token: Token) -> _Part:
        if not (name := _unquoted(token)):
            raise Fault("a name cannot be empty", _at(token))
        return _Part(Name(name), _at(token))

    def string(self, token: Token) -> _Part:
        return _Part(String(_unquoted(token)), _at(token))

    def true(self, token: Token) -> _Part:
        return _Part(Boolean(True), _at(token))

    def false(self, token: Token) -> _Part:
        return _Part(Boolean(False), _at(token))

    def integer(self, token: Token) -> _Part:
        digits = token.lstrip("0")
        if len(digits) > 19 or int(digits or "0") > INTEGER_MAX + 1:
            raise Fault("this integer does not fit into 64 bits", _at(token))
        return _Part(Number(int(digits or "0")), _at(token))

    def decimal(self, token: Token) -> _Part:
        if (number := float(token)) == float("inf"):
            raise Fault("this number is too large for a float", _at(token))
        return _Part(Number(number), _at(token))

    # --- arithmetic

    def signed(self, sign: Token, part: _Part) -> _Part:
        value = _numeric(part, f"the sign {sign}")
        if sign == "+":
            return _joined(value, _at(sign), _in_range(part))
        if isinstance(value, Number):
            return _joined(Number(-value.value), _at(sign), part)
        return _joined(Negate(value), _at(sign), part)

    def sum(self, first: _Part, *rest: _Part) -> _Part:
        return _chain(first, *rest)

    def product(self, first: _Part, *rest: _Part) -> _Part:
        return _chain(first, *rest)

    def group(self, paren: Token, part: _Part) -> _Part:
        return _joined(part.node, _at(paren), part)

    # --- tests

    def comparison(self, left: _Part, sign: Token, right: _Part) -> _Part:
        operator = "<>" if sign == "!=" else str(sign)
        if operator in ("=", "<>"):
            node = Comparison(operator, _value(_in_range(left)), _value(_in_range(right)))
        else:
            node = _ordering(operator, left, right)
        return _joined(node, left.at, left, right)

    def between(self, value: _Part, low: _Part, high: _Part) -> _Part:
        above = _joined(_ordering(">=", value, low, "BETWEEN"), value.at, value, low)
        below = _joined(_ordering("<=", value, high, "BETWEEN"), value.at, value, high)
        return _joined(And((above.node, below.node)), value.at, above, below)  # type: ignore[arg-type]

    def not_between(self, value: _Part, low: _Part, high: _Part) -> _Part:
        return _negated(self.between(value, low, high), value.at)

    def member(self, sign: Token, number: _Part) -> _Part:
        return self.signed(sign, number)

    def within(self, value: _Part, paren: Token, *members: _Part) -> _Part:
        return _in(value, members, negated=False)

    def not_within(self, value: _Part, paren: Token, *members: _Part) -> _Part:
        return _in(value, members, negated=True)

    def like(self, value: _Part, pattern: Token, escape: Token | None = None) -> _Part:
        return _like(value, pattern, escape, negated=False)

    def not_like(self, value: _Part, pattern: Token, escape: Token | None = None) -> _Part:
        return _like(value, pattern, escape, negated=True)

    def missing(self, value: _Part) -> _Part:
        return _joined(IsNull(_name(value, "IS NULL")), value.at, value)

    def present(self, value: _Part) -> _Part:
        return _joined(IsNull(_name(value, "IS NOT NULL"), negated=True), value.at, value)

    # --- logic

    def negation(self, part: _Part) -> _Part:
        return _negated(_condition(part), part.at)

    def conjunction(self, *parts: _Part) -> _Part:
        operands = [_condition(part) for part in parts]
        return _joined(And(tuple(part.node for part in operands)), parts[0].at, *operands)  # type: ignore[misc]

    def disjunction(self, *parts: _Part) -> _Part:
        operands = [_condition(part) for part in parts]
        return _joined(Or(tuple(part.node for part in operands)), parts[0].at, *operands)  # type: ignore[misc]


def _at(token: Token) -> int:
    return token.start_pos or 0


def _in_range(part: _Part) -> _Part:
    """Refuse 2**63, which the reader of integers lets through for the sake of a minus before it."""
    if isinstance(part.node, Number) and isinstance(part.node.value, int) and part.node.value > INTEGER_MAX:
        raise Fault("this integer does not fit into 64 bits", part.at)
    return part


def _chain(first: _Part, *rest: Token | _Part) -> _Part:
    """``a - b + c`` from left to right."""
    whole = _in_range(first)
    for sign, operand in zip(rest[::2], rest[1::2], strict=True):
        assert isinstance(sign, Token)
        assert isinstance(operand, _Part)
        use = f"arithmetic with {sign}"
        node = Arithmetic(str(sign), _numeric(whole, use), _numeric(_in_range(operand), use))
        whole = _joined(node, first.at, whole, operand)
    return whole


def _ordering(operator: str, left: _Part, right: _Part, use: str = "") -> Comparison:
    use = use or f"the comparison {operator}"
    return Comparison(operator, _numeric(_in_range(left), use), _numeric(_in_range(right), use))


def _negated(part: _Part, at: int) -> _Part:
    return _joined(Not(part.node), at, part)  # type: ignore[arg-type]


def _in(value: _Part, members: tuple[_Part, ...], negated: bool) -> _Part:
    return _joined(In(_value(_in_range(value)), _members(members), negated), value.at, value, *members)


def _members(parts: tuple[_Part, ...]) -> tuple[Number, ...] | tuple[String, ...]:
    numbers = tuple(part.node for part in map(_in_range, parts) if isinstance(part.node, Number))
    strings = tuple(part.node for part in parts if isinstance(part.node, String))
    if numbers and strings:
        raise Fault("the list after IN must hold either numbers or texts, not both", parts[0].at)
    return numbers or strings


def _like(value: _Part, pattern: Token, escape: Token | None, negated: bool) -> _Part:
    node = Like(_name(value, "LIKE"), _like_pattern(pattern, escape), negated)
    return _joined(node, value.at, value, _Part(node, value.at))


def _like_pattern(token: Token, escape: Token | None) -> str:
    """The pattern as ``syntax.Like`` wants it, whatever escape character it was written with."""
    sign = None if escape is None else _unquoted(escape)
    if sign is not None and len(sign) != 1:
        raise Fault("ESCAPE takes exactly one character", _at(escape or token))
    written, escaped = [], False
    for char in _unquoted(token):
        if escaped and char not in ("%", "_", sign):
            raise Fault(
                f"in this pattern the escape {sign!r} stands before {char!r}; only %, _ and itself need one", _at(token)
            )
        if char == sign and not escaped:
            escaped = True
            continue
        literal = escaped or char not in "%_"
        written.append("\\" + char if literal and char in "\\%_" else char)
        escaped = False
    if escaped:
        raise Fault(f"this pattern ends in its escape {sign!r}", _at(token))
    return "".join(written)


def _fits_name(char: str, first: bool) -> bool:
    category = unicodedata.category(char)
    if category[0] == "L" or category in ("Nl", "Sc", "Pc"):
        return True
    return not first and (category in ("Mn", "Mc", "Nd") or char in "\u200c\u200d")


def _character(char: str) -> str:
    return f"{char!r} ({unicodedata.name(char, f'U+{ord(char):04X}')})"


def _keyword(token: Token) -> Token:
    """A name that is a keyword becomes that keyword; ASCII only, for some letters' capitals are ASCII."""
    word = token.upper() if token.isascii() else ""
    if word in KEYWORDS:
        token.type = word if word in ("TRUE", "FALSE") else f"_{word}"
    return token


_PARSER = Lark(
    resources.files(__package__).joinpath("grammar.lark").read_text(encoding="utf-8"),  # in an archive, too
    parser="lalr",
    lexer="basic",
    transformer=_Builder(),
    lexer_callbacks={"NAME": _keyword},
)


def read(text: str) -> Condition:
    """The tree of a selector as it was written; ``Fault`` if it is none."""
    try:
        whole: _Part = _PARSER.parse(text)  # type: ignore[assignment]
    except UnexpectedInput as problem:
        raise _fault(text, problem) from None
    return _condition(whole).node  # type: ignore[return-value]


def _fault(text: str, problem: UnexpectedInput) -> Fault:
    """What the parser did not like, in human words."""
    if isinstance(problem, UnexpectedCharacters):
        at = problem.pos_in_stream or 0
        return Fault(_why_character(text[at]), at)
    assert isinstance(problem, UnexpectedToken)
    token = problem.token
    if token.type == "$END":
        return Fault(f"it ends too early; {_expected(problem.expected)}", len(text.rstrip()))
    return Fault(_why_token(token, problem.expected), _at(token))


def _why_character(char: str) -> str:
    if char in "'\"":
        return f"the text that begins with this {char} has no closing {char}"
    if char in "&|":
        return f"{char!r} is no operator here; write AND or OR"
    return f"{_character(char)} has no meaning here"


def _why_token(token: Token, expected: set[str]) -> str:
    word = str(token)
    if token.type.lstrip("_") in KEYWORDS and "NAME" in expected:
        return f"{word} is a keyword; {_expected(expected)} (a name like this needs double quotes)"
    if token.type == "COMPARE" and "_AND" in expected:
        return f"comparisons cannot be chained by {word}; join two of them with AND, or use BETWEEN"
    if token.type == "COMPARE" and "NAME" in expected:
        return f"{word!r} is out of place; {_expected(expected)} (the operators are = <> < <= > >=)"
    return f"{word!r} is out of place; {_expected(expected)}"


_EXPECTATIONS = (
    ("NAME", "a name, a number, a text in quotes, TRUE, FALSE or a parenthesis"),
    ("COMPARE", "a comparison such as = < BETWEEN IN LIKE IS"),
    ("STRING", "a text in single quotes"),
    ("INTEGER", "a number"),
    ("LPAR", "an opening parenthesis"),
    ("_NULL", "NULL"),
    ("_BETWEEN", "BETWEEN, IN or LIKE"),
    ("_AND", "AND"),
    ("_OR", "OR"),
    ("_COMMA", "a comma"),
    ("_RPAR", "a closing parenthesis"),
    ("$END", "the end"),
)

_IMPLIED = {"NAME": ("STRING", "INTEGER", "LPAR"), "COMPARE": ("_BETWEEN",)}


def _expected(terminals: set[str]) -> str:
    hidden = {other for name in terminals for other in _IMPLIED.get(name, ())}
    words = [phrase for name, phrase in _EXPECTATIONS if name in terminals and name not in hidden]
    return "expected " + " or ".join(words or ["something else"])
