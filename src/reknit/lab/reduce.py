"""From rows to numbers: grouping, and means with the bounds that the seeds allow.

A finding is bounded by the 95 % confidence interval of its mean by Student's t, since seeds are few and independent; a
picture rather shows the extremes, which exist for any number of seeds and never leave the range of what was measured.

Owns: the small statistics that experiments share. Must not know: any experiment.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reknit.lab.experiment import Cell, Row

__all__ = ["Estimate", "estimate", "group", "mean_by_seed", "numbers", "spread"]

# The two-sided 95 % quantile of Student's t for 1, 2, … degrees of freedom.
_T_95 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)
_NORMAL_95 = 1.95996


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean, and what bounds it: its interval, or the extremes."""

    mean: float
    low: float
    high: float


def group(rows: Iterable[Row], *columns: str) -> dict[tuple[Cell, ...], list[Row]]:
    """The rows with the same values in ``columns``, in the order of those values."""
    groups: dict[tuple[Cell, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[column] for column in columns), []).append(row)
    return dict(sorted(groups.items()))


def numbers(rows: Iterable[Row], column: str) -> list[float]:
    return [float(row[column]) for row in rows]


def mean_by_seed(values: Iterable[tuple[int, float]]) -> list[float]:
    """One number for each seed. Points of one seed are not independent of each other, so only seeds are counted."""
    by_seed: dict[int, list[float]] = {}
    for seed, value in values:
        by_seed.setdefault(seed, []).append(value)
    return [_mean(by_seed[seed]) for seed in sorted(by_seed)]


def estimate(values: Sequence[float]) -> Estimate:
    """The mean and its 95 % interval; of one value, the value alone."""
    mean = _mean(values)
    if len(values) == 1:
        return Estimate(mean, mean, mean)
    freedom = len(values) - 1
    variance = math.fsum((value - mean) ** 2 for value in values) / freedom
    reach = _quantile(freedom) * math.sqrt(variance / len(values))
    return Estimate(mean, mean - reach, mean + reach)


def spread(values: Sequence[float]) -> Estimate:
    """The mean and the extremes, which show how much one seed differs from another."""
    return Estimate(_mean(values), min(values), max(values))


def _mean(values: Sequence[float]) -> float:
    if not values:
        raise ValueError("nothing was measured, so there is no mean")
    return math.fsum(values) / len(values)


def _quantile(freedom: int) -> float:
    if freedom <= len(_T_95):
        return _T_95[freedom - 1]
    # The first terms of the expansion in 1/n, right to three digits from here on.
    return _NORMAL_95 + (_NORMAL_95**3 + _NORMAL_95) / (4 * freedom)
