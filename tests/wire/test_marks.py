"""Marks: what an event says of its numbers, in bytes that are the same from one event to the next."""

from __future__ import annotations

import contextlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reknit.model.event import INTEGER_MAX, Event
from reknit.wire.codec import BadFrame
from reknit.wire.marks import Marks, extend_marks, numbers_of_event, read_marks, write_marks

LONG = "x" * 257
numbers = st.lists(
    st.tuples(st.integers(0, INTEGER_MAX), st.integers(1, INTEGER_MAX)),
    min_size=1,
    max_size=5,
    unique_by=lambda n: n[0],
)


def _marked(*numbers: tuple[int, int]) -> Event:
    number, marks = write_marks(numbers)
    return Event("a", source="s", seq=1, number=number, marks=marks)


@given(numbers)
def test_what_is_written_is_read(numbers: list[tuple[int, int]]) -> None:
    assert numbers_of_event(_marked(*numbers)) == numbers


def test_the_example_of_the_paper_and_the_event_behind_it() -> None:
    """EPIDEMIC, 4.2: S:Pa-5:Pb-4. The next one that matches both says the same of itself, but for its number."""
    pa, pb = 7, 8
    one, next_one = _marked((pa, 5), (pb, 4)), _marked((pa, 6), (pb, 5))
    assert one.marks == next_one.marks
    assert (one.number, next_one.number) == (5, 6)
    assert read_marks(one.marks).lags == ((pa, 0), (pb, -1))


def test_an_event_without_a_number_has_none_for_any_pattern() -> None:
    assert numbers_of_event(Event("a", source="s", seq=1)) == []
    assert numbers_of_event(Event("a", source="s", seq=1, marks=write_marks([(1, 5)])[1])) == []


@pytest.mark.parametrize(
    "marks",
    [
        b"",
        b"\xc1",
        write_marks([(1, 1)] * 257)[1],
        write_marks([(-1, 1)])[1],
        write_marks([], (LONG,))[1],
        write_marks([], (), LONG)[1],
        write_marks([], ("b",) * 257)[1],
        write_marks([], (), "", -1)[1],
        msgspec.msgpack.encode([[[1, 2**63]]]),
    ],
)
def test_bytes_that_say_nothing_that_can_be_true_are_no_marks(marks: bytes) -> None:
    with pytest.raises(BadFrame):
        read_marks(marks)
    assert numbers_of_event(Event("a", source="s", seq=1, number=1, marks=marks)) == []


@given(st.binary(max_size=40))
def test_bytes_from_elsewhere_are_marks_or_are_not(data: bytes) -> None:
    with contextlib.suppress(BadFrame):
        assert isinstance(read_marks(data), Marks)


def test_a_lag_that_leads_out_of_all_numbers_is_left_out() -> None:
    event = Event(
        "a", source="s", seq=1, number=3, marks=msgspec.msgpack.encode(Marks(((1, 0), (2, -3), (3, INTEGER_MAX))))
    )
    assert numbers_of_event(event) == [(1, 3)]


def test_a_way_grows_by_a_broker_within_bounds() -> None:
    one = read_marks(write_marks([(1, 5)], ("b",), "b:1", 9)[1])
    two = extend_marks(one, "c")
    assert two is not None
    assert read_marks(two) == Marks(((1, 0),), ("b", "c"), "b:1", 9)
    assert extend_marks(Marks(((1, 0),)), "c") is None
    assert extend_marks(Marks((), ("b",) * 256), "c") is None
    assert extend_marks(Marks((), ("\u20ac" * 256,) * 100), "c") is None
