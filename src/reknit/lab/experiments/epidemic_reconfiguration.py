"""EPIDEMIC, sections 1 and 5: what is lost while links are replaced comes back, too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from reknit.lab.experiment import Experiment, Scale
from reknit.lab.experiments._epidemic import PULLS, Curves, figure_of

__all__ = ["EXPERIMENT"]

VALUES: Final = {Scale.QUICK: (0.03, 0.2), Scale.PAPER: (0.03, 0.2)}


def more_than_none(curves: Curves) -> bool:
    delivered = curves["delivered"]
    return all(delivered["combined"][every] > delivered["none"][every] for every in delivered["none"])


def cheaper(curves: Curves) -> bool:
    overhead = curves["overhead"]
    return all(overhead[name][every] < overhead["push"][every] for name in PULLS for every in overhead[name])


CLAIMS: Final[Mapping[str, Callable[[Curves], bool]]] = {
    "combined pull delivers more than none": more_than_none,
    "the pulls are cheaper than push": cheaper,
}

EXPERIMENT: Final[Experiment] = figure_of(
    "epidemic-reconfiguration",
    "section 5",
    "Where links lose nothing but are replaced all the time, a pull brings back what that costs, and for less than a "
    "push does.",
    "replaced_every_s",
    VALUES,
    CLAIMS,
    "Lost events come back, by how often a link is replaced",
    loss=0.0,
)
