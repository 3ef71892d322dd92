"""EPIDEMIC, section 5: a larger buffer lets events persist, and less be lost for good."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from reknit.lab.experiment import Experiment, Scale
from reknit.lab.experiments._epidemic import Curves, figure_of

__all__ = ["EXPERIMENT"]

VALUES: Final = {Scale.QUICK: (5, 200, 400), Scale.PAPER: (100, 250, 500, 1000, 1500, 2500, 4000)}

LAST_MAX: Final = 0.1


def rises(curves: Curves) -> bool:
    delivered = curves["delivered"]
    return all(each[max(each)] > each[min(each)] for each in (delivered[name] for name in ("push", "combined")))


def levels_off(curves: Curves) -> bool:
    """The last step brings next to nothing of the whole rise."""
    delivered = [sorted(curves["delivered"][name].items()) for name in ("push", "combined")]
    return all(each[-1][1] - each[-2][1] <= LAST_MAX * (each[-1][1] - each[0][1]) for each in delivered)


CLAIMS: Final[Mapping[str, Callable[[Curves], bool]]] = {
    "delivery rises with the buffer": rises,
    "and at last hardly any more": levels_off,
}

EXPERIMENT: Final[Experiment] = figure_of(
    "epidemic-buffer",
    "section 5",
    "Delivery rises with the buffer, and then hardly any more.",
    "buffer",
    VALUES,
    CLAIMS,
    "Lost events come back, by the events that a broker keeps",
)
