"""DYNATOPS, Figure 8a: delay of a delivery, by the pattern of users' interests."""

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
        mean(rows, "delay", system="DYNATOPS", pattern=pattern) < mean(rows, "delay", system=other, pattern=pattern)
        for pattern in PATTERNS
        for other in SYSTEMS[:2]
    )


def low_under_zipf(rows: Rows) -> bool:
    """TCO's, beside its own under the other patterns."""
    found = {pattern: mean(rows, "delay", system="TCO", pattern=pattern) for pattern in PATTERNS}
    return found["zipf"] < min(found["uniform"], found["multimodal"])


EXPERIMENT: Final = Figure(
    id="dynatops-fig8a",
    figure="Figure 8a",
    claim="DYNATOPS outperforms the others under all patterns.",
    title="Delay of a delivery, by pattern",
    base=POISSON,
    columns={"delay": "hops"},
    x="pattern",
    values={Scale.QUICK: PATTERNS, Scale.PAPER: PATTERNS},
    names=SYSTEMS,
    shapes=(
        Shape("DYNATOPS has the least under each pattern", least),
        Shape("TCO has a low delay under zipf", low_under_zipf),
    ),
).experiment()
