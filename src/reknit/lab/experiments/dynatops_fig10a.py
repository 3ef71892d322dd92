"""DYNATOPS, Figure 10a: what plans save against consistent hashing, by the size of the network."""

from __future__ import annotations

from typing import Final

from reknit.lab.experiment import Experiment, Scale
from reknit.lab.experiments._dynatops_plans import savings_figure

__all__ = ["EXPERIMENT"]

SIZES: Final = {Scale.QUICK: (10, 50), Scale.PAPER: (10, 50, 100, 500, 1000)}
EXPERIMENT: Final[Experiment] = savings_figure("dynatops-fig10a", "Figure 10a", "brokers", SIZES, {"topics": 100})
