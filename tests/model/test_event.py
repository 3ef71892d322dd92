"""Attributes keep their types through a door that speaks text only, and one name has one value."""

from __future__ import annotations

import json
import math
from enum import Enum, IntEnum, StrEnum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reknit.model.event import (
    INTEGER_MAX,
    INTEGER_MIN,
    TYPES_PROPERTY,
    Attributes,
    BadAttribute,
    Event,
    Text,
    check_attributes,
    derive_attributes,
    event_bytes,
    from_properties,
    to_properties,
)

names = st.text(min_size=1, max_size=5).filter(lambda name: name != TYPES_PROPERTY)
scalars = st.one_of(st.text(max_size=5), st.integers(INTEGER_MIN, INTEGER_MAX), st.floats(), st.booleans())
pairs = st.lists(st.tuples(st.text(max_size=5), st.text(max_size=5)), max_size=4)


def _same(one: Attributes, other: Attributes) -> bool:
    """Equal with types: 1, 1.0 and True are three values, and a NaN is itself."""
    return [(name, type(value), repr(value)) for name, value in one.items()] == [
        (name, type(value), repr(value)) for name, value in other.items()
    ]


@given(st.dictionaries(names, scalars, max_size=4), pairs)
def test_what_is_published_comes_back_as_the_same_values(attributes: Attributes, others: list[tuple[str, str]]) -> None:
    others = [pair for pair in others if pair[0] not in attributes and pair[0] != TYPES_PROPERTY]
    typed, rest = from_properties([*others, *to_properties(attributes)])
    assert _same(typed, attributes)
    assert rest == tuple(others)


@pytest.mark.parametrize(
    "types",
    [
        "",
        "{",
        "[]",
        '{"n": 1}',
        '{"n": "z"}',
        '{"n": "b"}',
        '{"n": "f"}',
        '{"m": "i", "n": "i"}',
        '{"big": "i"}',
    ],
)
def test_types_that_are_not_well_formed_type_nothing_and_lose_nothing(types: str) -> None:
    given_pairs = [("n", "x"), ("m", "1"), ("big", str(2**63)), (TYPES_PROPERTY, types)]
    assert from_properties(given_pairs) == ({}, tuple(given_pairs))


@pytest.mark.parametrize(
    "given_pairs",
    [
        [("", "x"), (TYPES_PROPERTY, '{"":"s"}')],
        [(TYPES_PROPERTY, '{"reknit-types":"s"}')],
        [("n", "1"), (TYPES_PROPERTY, '{"n":"i"}'), (TYPES_PROPERTY, '{"n":"s"}')],
        [("n", "1"), ("n", "2"), (TYPES_PROPERTY, '{"n":"i"}')],
        [("m", "1"), (TYPES_PROPERTY, '{"n":"i"}')],
    ],
)
def test_what_could_not_be_attributes_or_would_be_lost_stays_text(given_pairs: list[tuple[str, str]]) -> None:
    assert from_properties(given_pairs) == ({}, tuple(given_pairs))


@pytest.mark.parametrize(
    ("letter", "text"),
    [(letter, text) for letter in "if" for text in ("1_000", " 7 ", "7\n", "\u0667", "\uff17", "", "-", "0x7")]
    + [("i", "7.0"), ("i", "9" * 5000), ("f", "1e999"), ("f", "infinity"), ("f", "NaN"), ("f", "+inf"), ("b", "True")],
)
def test_only_plain_literals_are_numbers_and_booleans(letter: str, text: str) -> None:
    given_pairs = [("n", text), (TYPES_PROPERTY, json.dumps({"n": letter}))]
    assert from_properties(given_pairs) == ({}, tuple(given_pairs))


@pytest.mark.parametrize(
    ("letter", "text", "value"),
    [
        ("i", "+7", 7),
        ("i", "-007", -7),
        ("f", "7", 7.0),
        ("f", "-.5E1", -5.0),
        ("f", "1.", 1.0),
        ("f", "inf", math.inf),
    ],
)
def test_a_plain_literal_may_be_written_in_several_ways(letter: str, text: str, value: float) -> None:
    typed, rest = from_properties([("n", text), (TYPES_PROPERTY, json.dumps({"n": letter}))])
    assert _same(typed, {"n": value})
    assert rest == ()


def test_floats_without_bounds_come_back() -> None:
    values: Attributes = {"most": math.inf, "least": -math.inf, "none": math.nan, "zero": -0.0}
    assert _same(from_properties(to_properties(values))[0], values)


def test_a_member_of_an_enumeration_is_the_value_that_it_stands_for() -> None:
    class Colour(StrEnum):
        RED = "red"

    class Shape(str, Enum):  # noqa: UP042
        ROUND = "round"

    class Level(IntEnum):
        HIGH = 3

    class Metres(float):
        def __repr__(self) -> str:
            return "far"

    values = check_attributes({"c": Colour.RED, "s": Shape.ROUND, "l": Level.HIGH, "m": Metres(1.5), "b": True})
    plain: Attributes = {"c": "red", "s": "round", "l": 3, "m": 1.5, "b": True}
    assert _same(from_properties(to_properties(values))[0], plain)


def test_types_for_what_is_not_there_do_not_matter() -> None:
    assert from_properties([("n", "1"), (TYPES_PROPERTY, '{"n": "i", "other": "i"}')]) == ({"n": 1}, ())


def test_without_types_all_is_text() -> None:
    assert from_properties([("n", "1"), ("n", "2")]) == ({}, (("n", "1"), ("n", "2")))
    assert to_properties({}) == []


@pytest.mark.parametrize(
    ("attributes", "why"),
    [
        ({"": 1}, "non-empty string"),
        ({1: 1}, "non-empty string"),
        ({"x": None}, "NoneType"),
        ({"x": [1]}, "list"),
        ({"x": b"1"}, "bytes"),
        ({"x": 2**63}, "64 bits"),
        ({"x": -(2**63) - 1}, "64 bits"),
        ({TYPES_PROPERTY: "x"}, "is taken"),
    ],
)
def test_what_cannot_be_an_attribute_is_named(attributes: object, why: str) -> None:
    with pytest.raises(BadAttribute, match=why):
        check_attributes(attributes)


@given(st.dictionaries(names, scalars, max_size=4))
def test_what_can_be_one_is_given_back(attributes: Attributes) -> None:
    assert _same(check_attributes(attributes), attributes)


def test_one_name_has_one_value_and_typed_ones_come_first() -> None:
    event = Event("t", attributes={"a": 1}, properties=(("a", "2"), ("b", "3"), ("b", "4")), derived={"b": 5, "c": 6})
    view = event.view()
    assert view == {"a": 1, "b": "4", "c": 6}
    assert isinstance(view["b"], Text)
    assert Event("t", attributes={"a": 1}, derived={"a": 2, "c": 6}).view() == {"a": 1, "c": 6}


def test_looking_at_an_event_does_not_change_it() -> None:
    event = Event("t", attributes={"a": 1}, properties=(("b", "2"),), derived={"c": 3})
    event.view()["z"] = 1
    assert (event.attributes, event.derived) == ({"a": 1}, {"c": 3})


@pytest.mark.parametrize("payload", [b"", b"{", b"[1]", b"3", b"null", b"\xff", b'{"a":' * 5000])
def test_a_payload_that_is_no_object_gives_nothing(payload: bytes) -> None:
    assert derive_attributes(payload) == {}


def test_of_an_object_the_scalars_at_its_top_count() -> None:
    document = {"s": "x", "i": 1, "f": 1.5, "b": True, "n": None, "l": [1], "o": {"p": 1}, "big": 2**70, "": 1}
    document[TYPES_PROPERTY] = "x"
    assert derive_attributes(json.dumps(document).encode()) == {"s": "x", "i": 1, "f": 1.5, "b": True}


@given(st.binary(max_size=60))
def test_any_payload_gives_attributes_that_can_be_some(payload: bytes) -> None:
    derived = derive_attributes(payload)
    assert check_attributes(derived) == derived
    assert all(not isinstance(value, float) or math.isfinite(value) for value in derived.values())


def test_an_event_is_as_large_as_all_that_it_holds() -> None:
    bare = event_bytes(Event(""))
    assert event_bytes(Event("t" * 10, b"p" * 100)) == bare + 110
    for filled in (
        Event("", content_type="x" * 1000),
        Event("", properties=(("n" * 500, "x" * 500),)),
        Event("", attributes={"n" * 500: "x" * 500}),
        Event("", derived={"n": "x" * 1000}),
    ):
        assert event_bytes(filled) >= bare + 1000
    assert event_bytes(Event("", content_type="\U0001f600" * 10)) == bare + 40


def test_many_small_attributes_are_no_small_event() -> None:
    many: Attributes = {f"a{number}": number for number in range(100)}
    assert event_bytes(Event("", attributes=many)) - event_bytes(Event("")) >= 100 * 100
