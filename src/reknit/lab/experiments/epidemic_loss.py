"""EPIDEMIC, section 5: how many events arrive, and at what price, by the share that links lose."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from reknit.lab.experiment import Experiment, Scale
from reknit.lab.experiments._epidemic import PULLS, Curves, figure_of

__all__ = ["EXPERIMENT"]

VALUES: Final = {Scale.QUICK: (0.0, 0.1), Scale.PAPER: (0.0, 0.05, 0.1, 0.2, 0.3)}


def more_than_none(curves: Curves) -> bool:
    delivered, most = curves["delivered"], max(curves["delivered"]["none"])
    return all(delivered[name][most] > delivered["none"][most] for name in ("push", *PULLS))


def pulls_rest(curves: Curves) -> bool:
    return all(curves["overhead"][name][0.0] < 0.001 for name in PULLS)


def push_does_not(curves: Curves) -> bool:
    return curves["overhead"]["push"][0.0] > 0.001


CLAIMS: Final[Mapping[str, Callable[[Curves], bool]]] = {
    "every algorithm delivers more than none": more_than_none,
    "a pull says nothing where nothing is lost": pulls_rest,
    "a push does": push_does_not,
}

EXPERIMENT: Final[Experiment] = figure_of(
    "epidemic-loss",
    "section 5",
    "All algorithms improve delivery remarkably; a pull says nothing where nothing is lost, a push does.",
    "loss",
    VALUES,
    CLAIMS,
    "Lost events come back, by the share that links lose",
)
