"""The points of an experiment at quick scale, measured once for all tests of it."""

from __future__ import annotations

from functools import cache

from reknit.lab.experiment import Row, Scale
from tests.lab.experiments.small import experiment

__all__ = ["experiment", "quick_rows"]

SEEDS = 1


@cache
def _measured(id_: str) -> tuple[Row, ...]:
    found = experiment(id_)
    points = found.points(Scale.QUICK)
    return tuple({**point, "seed": seed, **found.measure(point, seed)} for point in points for seed in range(SEEDS))


def quick_rows(id_: str) -> list[Row]:
    return [dict(row) for row in _measured(id_)]
