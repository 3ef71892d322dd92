"""EPIDEMIC, section 5: a pull towards subscribers needs subscribers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from reknit.lab.experiment import Experiment, Scale
from reknit.lab.experiments._epidemic import Curves, figure_of

__all__ = ["EXPERIMENT"]

VALUES: Final = {Scale.QUICK: (1, 6), Scale.PAPER: (1, 2, 5, 10, 20, 30)}

FLAT_MAX: Final = 5.0


def pull_needs_others(curves: Curves) -> bool:
    delivered = curves["delivered"]["subscriber-pull"]
    return delivered[max(delivered)] > delivered[min(delivered)]


def combined_does_not(curves: Curves) -> bool:
    few, delivered = min(curves["delivered"]["combined"]), curves["delivered"]
    return delivered["combined"][few] > delivered["subscriber-pull"][few]


def push_does_not(curves: Curves) -> bool:
    few, delivered = min(curves["delivered"]["push"]), curves["delivered"]
    return delivered["push"][few] > delivered["subscriber-pull"][few]


def push_is_flat(curves: Curves) -> bool:
    """From few subscribers to many; in points of a hundred."""
    delivered = curves["delivered"]["push"].values()
    return max(delivered) - min(delivered) < FLAT_MAX


CLAIMS: Final[Mapping[str, Callable[[Curves], bool]]] = {
    "subscriber pull delivers more where more want a pattern": pull_needs_others,
    "combined pull is ahead of it where few do": combined_does_not,
    "so is push": push_does_not,
    "the number of subscribers does not affect push": push_is_flat,
}

EXPERIMENT: Final[Experiment] = figure_of(
    "epidemic-density",
    "section 5",
    "Subscriber-based pull depends on others who want the same pattern; push does not.",
    "subscriptions",
    VALUES,
    CLAIMS,
    "Lost events come back, by what each broker subscribes to",
)
