"""DYNATOPS, Figure 10b: what plans save against consistent hashing, by the number of topics."""

from __future__ import annotations

from typing import Final

from reknit.lab.experiment import Experiment, Scale
from reknit.lab.experiments._dynatops_plans import savings_figure

__all__ = ["EXPERIMENT"]

SIZES: Final = {Scale.QUICK: (20, 50), Scale.PAPER: (50, 100, 500, 1000, 5000)}
EXPERIMENT: Final[Experiment] = savings_figure("dynatops-fig10b", "Figure 10b", "topics", SIZES, {"brokers": 100})
