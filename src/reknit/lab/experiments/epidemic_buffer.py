"""EPIDEMIC, section 5: a larger buffer lets events persist, and less be lost for good."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from reknit.lab.experiment import Experiment, Scale
from reknit.lab.experiments._epidemic import Curves, figure_of

__all__ = ["EXPERIMENT"]

VALUES: Final = {Scale.QUICK: (5, 400), Scale.PAPER: (100, 250, 500, 1000, 1500, 2500, 4000)}


def rises(curves: Curves) -> bool:
    delivered = curves["delivered"]
    return all(each[max(each)] > each[min(each)] for each in (delivered[name] for name in ("push", "combined")))


CLAIMS: Final[Mapping[str, Callable[[Curves], bool]]] = {
    "delivery rises with the buffer": rises,
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
