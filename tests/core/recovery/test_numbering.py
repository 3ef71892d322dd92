"""EPIDEMIC, section 4.2: events carry a number for each pattern that they match."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from reknit.core.recovery.numbering import Numbering


def test_the_example_of_the_paper() -> None:
    """Four events for Pa, three for Pb; the next matches both: S:Pa-5:Pb-4."""
    pa, pb = 1, 2
    numbering = Numbering(10)
    for _ in range(4):
        numbering.stamp([pa])
    for _ in range(3):
        numbering.stamp([pb])
    assert numbering.stamp([pa, pb]) == ((pa, 5), (pb, 4))


@given(st.lists(st.lists(st.integers(0, 5), unique=True)))
def test_each_pattern_is_counted_by_itself(events: list[list[int]]) -> None:
    numbering, counted = Numbering(6), Counter[int]()
    for signatures in events:
        counted.update(signatures)
        assert numbering.stamp(signatures) == tuple((each, counted[each]) for each in signatures)
    assert dict(numbering.current(range(7))) == counted
    assert numbering.forgotten == 0


def test_beyond_the_bound_the_oldest_begins_anew_and_that_is_seen() -> None:
    numbering = Numbering(2)
    for signature in (1, 1, 2, 3):
        numbering.stamp([signature])
    assert numbering.forgotten == 1
    assert numbering.current([1, 2, 3]) == [(2, 1), (3, 1)]
