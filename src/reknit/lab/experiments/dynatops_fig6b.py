"""DYNATOPS, Figure 6b: how evenly brokers are loaded, by the size of clusters and the weight of load."""

from __future__ import annotations

from typing import Final

from reknit.lab.experiment import Rows, Scale
from reknit.lab.experiments._dynatops import LOCATION, Figure, Shape, mean

__all__ = ["EXPERIMENT"]

CLUSTERS: Final = {Scale.QUICK: (2, 5, 15), Scale.PAPER: (2, 5, 10, 20, 50)}


def uneven_without_weight(rows: Rows) -> bool:
    least, most = _ends(rows)
    return _spread(rows, 0.0, most) > _spread(rows, 0.0, least)


def even_with_weight(rows: Rows) -> bool:
    _, most = _ends(rows)
    return _spread(rows, 10.0, most) < 0.5 * _spread(rows, 0.0, most)


def _ends(rows: Rows) -> tuple[int, int]:
    sizes = [int(row["cluster"]) for row in rows]
    return min(sizes), max(sizes)


def _spread(rows: Rows, weight: float, cluster: int) -> float:
    return mean(rows, "load_spread", load_weight=weight, cluster=cluster)


EXPERIMENT: Final = Figure(
    id="dynatops-fig6b",
    figure="Figure 6b",
    claim="Similarity alone loads brokers unevenly, most of all in large clusters; a weight for load mends that.",
    title="Standard deviation of the brokers' subscriptions",
    base=LOCATION,
    columns={"load_spread": "subscriptions"},
    x="cluster",
    values=CLUSTERS,
    series="load_weight",
    names=(0.0, 1.0, 5.0, 10.0),
    fixed={"system": "DYNATOPS (UP)"},
    shapes=(
        Shape("without a weight, larger clusters are less even", uneven_without_weight),
        Shape("a weight makes the largest clusters much more even", even_with_weight),
    ),
).experiment()
