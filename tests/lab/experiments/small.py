"""A few small points of one of PATH's figures, measured once."""

from __future__ import annotations

from functools import cache

from reknit.lab.experiment import Experiment, Row, Scale
from reknit.lab.registry import all_experiments

__all__ = ["experiment", "rows"]

BROKERS = 20
SEEDS = 1
PATTERNS = 10


def experiment(id_: str) -> Experiment:
    return all_experiments()[id_]


@cache
def _measured(id_: str) -> tuple[Row, ...]:
    found = experiment(id_)
    points = [
        {**point, "brokers": BROKERS, "publish_per_s": min(float(point["publish_per_s"]), 10.0)}
        for point in found.points(Scale.QUICK)
        if point["patterns"] == PATTERNS
    ]
    some = [dict(items) for items in dict.fromkeys(tuple(point.items()) for point in points)]
    return tuple({**point, "seed": seed, **found.measure(point, seed)} for point in some for seed in range(SEEDS))


def rows(id_: str) -> list[Row]:
    return [dict(row) for row in _measured(id_)]
