"""The statistics that experiments share."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reknit.lab.reduce import Estimate, estimate, group, mean_by_seed, numbers, spread


def test_groups_come_in_the_order_of_their_values() -> None:
    rows = [{"size": 20, "seed": 0}, {"size": 10, "seed": 1}, {"size": 20, "seed": 2}]
    assert group(rows, "size") == {(10,): [rows[1]], (20,): [rows[0], rows[2]]}
    assert list(group(rows, "size")) == [(10,), (20,)]
    assert numbers(rows, "seed") == [0.0, 1.0, 2.0]


@pytest.mark.parametrize(
    ("values", "reach"),
    [
        ([1.0, 3.0], 12.706),  # the error of the mean is 1, and the quantile for one degree of freedom as tabulated
        ([1.0, 2.0, 3.0], 4.303 / math.sqrt(3)),
        ([0.0, 1.0] * 50, 1.9842 * math.sqrt(0.25 * 100 / 99 / 100)),
    ],
)
def test_the_interval_is_students(values: list[float], reach: float) -> None:
    found = estimate(values)
    assert found.high - found.mean == pytest.approx(reach, rel=1e-3)
    assert found.mean - found.low == pytest.approx(reach, rel=1e-3)


@given(st.integers(1, 60))
def test_more_seeds_narrow_the_interval(pairs: int) -> None:
    fewer, more = estimate([0.0, 1.0] * pairs), estimate([0.0, 1.0] * (pairs + 1))
    assert more.high - more.low < fewer.high - fewer.low


def test_one_value_and_none() -> None:
    assert estimate([4.0]) == Estimate(4.0, 4.0, 4.0)
    for each in (estimate, spread):
        with pytest.raises(ValueError, match="nothing was measured"):
            each([])


def test_the_spread_is_what_was_measured() -> None:
    assert spread([1.0, 2.0, 6.0]) == Estimate(3.0, 1.0, 6.0)


def test_each_seed_counts_once() -> None:
    assert mean_by_seed([(1, 4.0), (0, 1.0), (0, 3.0)]) == [2.0, 4.0]
