"""Digests: what is put in comes out, and a lie costs nothing."""

from __future__ import annotations

import math
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from reknit.core.recovery.ranges import count, numbers_of, parted, to_ranges

numbers = st.lists(st.integers(1, 200))


@given(numbers)
def test_numbers_come_back_newest_first(some: list[int]) -> None:
    ranges = to_ranges(some)
    assert all(first <= last for first, last in ranges)
    assert all(before[1] + 1 < after[0] for before, after in pairwise(ranges))
    assert count(ranges) == len(set(some))
    assert list(numbers_of(ranges, 1000)) == sorted(set(some), reverse=True)


@given(numbers, st.integers(0, 30))
def test_no_more_are_taken_than_wanted(some: list[int], at_most: int) -> None:
    assert list(numbers_of(to_ranges(some), at_most)) == sorted(set(some), reverse=True)[:at_most]


def test_runs_are_short() -> None:
    assert to_ranges([7, 1, 2, 3, 9, 8]) == [(1, 3), (7, 9)]


def test_a_huge_range_costs_nothing() -> None:
    assert list(numbers_of([(1, 10**18)], 3)) == [10**18, 10**18 - 1, 10**18 - 2]


@given(numbers, st.integers(0, 30))
def test_runs_are_parted_at_a_number(some: list[int], at: int) -> None:
    below, above = parted(to_ranges(some), at)
    assert below == to_ranges([each for each in some if each <= at])
    assert above == to_ranges([each for each in some if each > at])
    assert parted(to_ranges(some), math.inf) == (to_ranges(some), [])
