"""DYNATOPS, Figure 8b: messages for one event, by the pattern of users' interests."""

from __future__ import annotations

from typing import Final

from reknit.lab.experiment import Rows, Scale
from reknit.lab.experiments._dynatops import POISSON, Figure, Shape, mean
from reknit.lab.interests import PATTERNS

__all__ = ["EXPERIMENT"]

SYSTEMS: Final = ("Bayeux (static)", "TCO", "DYNATOPS (BNR)", "DYNATOPS")


def least(rows: Rows) -> bool:
    """Under each pattern DYNATOPS is below Bayeux and TCO."""
    return all(
        mean(rows, "overhead", system="DYNATOPS", pattern=pattern)
        < mean(rows, "overhead", system=other, pattern=pattern)
        for pattern in PATTERNS
        for other in SYSTEMS[:2]
    )


EXPERIMENT: Final = Figure(
    id="dynatops-fig8b",
    figure="Figure 8b",
    claim="DYNATOPS outperforms the others under all patterns.",
    title="Messages for one event, by pattern",
    base=POISSON,
    columns={"overhead": "messages"},
    x="pattern",
    values={Scale.QUICK: PATTERNS, Scale.PAPER: PATTERNS},
    names=SYSTEMS,
    shapes=(Shape("DYNATOPS has the least under each pattern", least),),
).experiment()
