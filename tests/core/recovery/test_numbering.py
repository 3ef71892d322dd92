"""EPIDEMIC, section 4.2: events carry a number for each pattern that they match."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from reknit.core.recovery.numbering import Numbering
from reknit.model.event import Event
from reknit.wire.marks import numbers_of_event, read_marks


def _stamped(numbering: Numbering, *signatures: int) -> list[tuple[int, int]]:
    number, marks, _ = numbering.stamp(signatures, 1, 0.0)
    return numbers_of_event(Event("a", source="s", seq=1, number=number, marks=marks))


def test_the_example_of_the_paper() -> None:
    """Four events for Pa, three for Pb; the next matches both: S:Pa-5:Pb-4."""
    pa, pb = 1, 2
    numbering = Numbering(10)
    for _ in range(4):
        _stamped(numbering, pa)
    for _ in range(3):
        _stamped(numbering, pb)
    assert _stamped(numbering, pa, pb) == [(pa, 5), (pb, 4)]


@given(st.lists(st.lists(st.integers(0, 5), unique=True, min_size=1)))
def test_each_pattern_is_counted_by_itself(events: list[list[int]]) -> None:
    numbering, counted = Numbering(6), Counter[int]()
    for signatures in events:
        counted.update(signatures)
        assert _stamped(numbering, *signatures) == [(each, counted[each]) for each in signatures]
    assert dict(numbering.current(range(7))) == counted
    assert numbering.forgotten == 0


def test_many_at_once_are_numbered_as_they_are_one_by_one() -> None:
    at_once, one_by_one = Numbering(6), Numbering(6)
    for signatures, count in (((1, 2), 3), ((2,), 2), ((1, 2), 4)):
        first, marks, _ = at_once.stamp(signatures, count, 0.0)
        singly = [one_by_one.stamp(signatures, 1, 0.0) for _ in range(count)]
        assert [(first + place, marks) for place in range(count)] == [each[:2] for each in singly]


def test_the_way_is_told_once_in_a_while_or_always() -> None:
    now_and_then = Numbering(6, (("b",), "b:1", 9), 1.0)
    told = []
    for at in (0.0, 0.5, 1.0, 1.9, 2.5):
        _, marks, first = now_and_then.stamp((1,), 2, at)
        assert read_marks(marks).route == ()
        told.append(read_marks(first).route == ("b",))
    assert told == [True, False, True, False, True]
    _, marks, first = Numbering(6, (("b",), "b:1", 9)).stamp((1,), 2, 0.0)
    assert read_marks(marks).route == read_marks(first).route == ("b",)


def test_beyond_the_bound_the_oldest_begins_anew_and_that_is_seen() -> None:
    numbering = Numbering(2)
    for signature in (1, 1, 2, 3):
        _stamped(numbering, signature)
    assert numbering.forgotten == 1
    assert numbering.current([1, 2, 3]) == [(2, 1), (3, 1)]
