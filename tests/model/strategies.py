"""Random selectors, attributes and topics made to collide: few names, and values at the edges of their types."""

from __future__ import annotations

from hypothesis import strategies as st

from reknit.model.event import INTEGER_MAX, INTEGER_MIN, Scalar, Text
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
)

NUMBERS = [0, 1, 2, 3, -1, 10, 0.5, 1.0, 1.5, -0.0, 2.0**53, 2**53 + 1, INTEGER_MAX, INTEGER_MAX - 1, INTEGER_MIN]
NUMBERS += [float(2**63), float(2**62), 9.3e18, 1e300, 1e-300, -1e300]
STRINGS = ["", "a", "ab", "abc", "b", "ba", "%", "_", "a%", "\\", "1", "1.0", "true", "FALSE", "é", "x" * 20]

numbers = st.sampled_from(NUMBERS)
strings = st.sampled_from(STRINGS)
TEXTS = ["nan", "inf", "1_0", " 1", "1e3", "+2", ".5", "9223372036854775808", "1e999", "٣", "True"]
SCALARS: list[Scalar] = [*NUMBERS, *STRINGS, True, False, float("nan"), float("inf"), float("-inf")]
SCALARS += [Text(text) for text in [*TEXTS, *STRINGS, *map(str, NUMBERS)]]
scalars = st.sampled_from(SCALARS)
names = st.sampled_from(["a", "b", "c"])
views = st.dictionaries(names, scalars, max_size=3)

_literal_numbers = numbers.map(Number)
_atoms = st.one_of(names.map(Name), _literal_numbers)


def _grown(inner: st.SearchStrategy) -> st.SearchStrategy:
    return st.one_of(
        st.builds(Arithmetic, st.sampled_from("+-*/"), inner, inner),
        st.builds(Negate, inner.filter(lambda value: not isinstance(value, Number))),
    )


values = st.one_of(_atoms, _atoms, st.recursive(_atoms, _grown, max_leaves=4))
like_patterns = st.text("ab%_", max_size=6) | st.lists(st.sampled_from(["a", "b", "%", "_", "\\%", "\\_", "\\\\"])).map(
    "".join
)


def _atoms_of_logic() -> st.SearchStrategy[Condition]:
    anything = st.one_of(values, strings.map(String), st.booleans().map(Boolean))
    attribute = names.map(Name)
    members = st.lists(_literal_numbers, min_size=1, max_size=3) | st.lists(strings.map(String), min_size=1, max_size=3)
    return st.one_of(
        st.builds(Comparison, st.sampled_from(["<", "<=", ">", ">="]), values, values),
        st.builds(Comparison, st.sampled_from(["<", "<=", ">", ">=", "=", "<>"]), attribute, _literal_numbers),
        st.builds(Comparison, st.sampled_from(["=", "<>"]), anything, anything),
        st.builds(Comparison, st.sampled_from(["=", "<>"]), attribute, strings.map(String)),
        st.builds(In, st.one_of(attribute, values), members.map(tuple), st.just(False)),
        st.builds(Like, attribute, like_patterns, st.just(False)),
        st.builds(IsNull, attribute, st.booleans()),
        st.booleans().map(Boolean),
    )


def _joined(inner: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    several = st.lists(inner, min_size=2, max_size=4).map(tuple)
    return st.one_of(st.builds(And, several), st.builds(Or, several), st.builds(Not, inner))


conditions = st.recursive(_atoms_of_logic(), _joined, max_leaves=8)

levels = st.sampled_from(["a", "b", "", "$s"])
topics = st.lists(levels, min_size=1, max_size=4).map("/".join).filter(bool)
_filter_levels = st.lists(st.sampled_from(["a", "b", "", "$s", "+"]), max_size=4)
filters = (
    st.tuples(_filter_levels, st.sampled_from([[], ["#"]])).map(lambda ends: "/".join(ends[0] + ends[1])).filter(bool)
)
