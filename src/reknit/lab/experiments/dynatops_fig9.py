"""DYNATOPS, Figure 9: notifying, and changes of the network, by the time between two of these; under both models."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import msgspec

from reknit.lab.experiment import Experiment, Point, Rows, Scale
from reknit.lab.experiments._dynatops import LOCATION, POISSON, Figure, Shape, mean

__all__ = ["EXPERIMENT"]

MODELS: Final = ("location", "poisson")
HOURS: Final = {
    "location": {Scale.QUICK: (12.0, 48.0), Scale.PAPER: (6.0, 12.0, 24.0, 48.0, 96.0)},
    "poisson": {Scale.QUICK: (1.0, 5.0), Scale.PAPER: (1.0, 5.0, 10.0, 20.0, 40.0)},
}
SLIGHTLY: Final = 1.1


def ends(rows: Rows, model: str, column: str) -> tuple[float, float]:
    """With the shortest time, and with the longest."""
    hours = [float(row["free_h"]) for row in rows if row["model"] == model]
    return tuple(mean(rows, column, model=model, free_h=each) for each in (min(hours), max(hours)))  # type: ignore[return-value]


def slightly_worse(rows: Rows) -> bool:
    """By a tenth at most, under both models."""
    both = [ends(rows, model, column) for model in MODELS for column in ("delay", "overhead")]
    return all(longest <= SLIGHTLY * shortest for shortest, longest in both)


def fewer_messages(rows: Rows) -> bool:
    both = [ends(rows, model, "reconfiguration") for model in MODELS]
    return all(longest < shortest for shortest, longest in both)


FIGURE: Final = Figure(
    id="dynatops-fig9",
    figure="Figure 9",
    claim="With more time between changes notifying gets slightly worse, and there are fewer messages for changes.",
    title="By the hours between two changes of the network",
    base=POISSON,
    columns={"delay": "hops, or ms", "overhead": "messages", "reconfiguration": "messages"},
    x="free_h",
    values=HOURS["poisson"],
    series="model",
    names=MODELS,
    shapes=(
        Shape("notifying gets slightly worse at most", slightly_worse),
        Shape("there are fewer messages for changes", fewer_messages),
    ),
)


def points(scale: Scale) -> list[Point]:
    bases = {
        "location": LOCATION[scale],
        "poisson": msgspec.structs.replace(POISSON[scale], rate=0.025, cluster=5),
    }
    return [
        msgspec.structs.asdict(msgspec.structs.replace(bases[model], free_h=hours))
        for model in MODELS
        for hours in HOURS[model][scale]
    ]


EXPERIMENT: Final[Experiment] = replace(FIGURE.experiment(), points=points)
