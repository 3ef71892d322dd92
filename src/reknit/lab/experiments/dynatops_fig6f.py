"""DYNATOPS, Figure 6f: how notifying depends on the size of clusters."""

from __future__ import annotations

from typing import Final

from reknit.lab.experiment import Rows, Scale
from reknit.lab.experiments._dynatops import LOCATION, Figure, Shape, mean

__all__ = ["EXPERIMENT"]

CLUSTERS: Final = {Scale.QUICK: (2, 5, 15), Scale.PAPER: (2, 5, 10, 20, 50)}


def improves(rows: Rows) -> bool:
    """Both are less with the largest clusters than with the smallest."""
    sizes = [int(row["cluster"]) for row in rows]
    return all(
        mean(rows, column, cluster=max(sizes)) < mean(rows, column, cluster=min(sizes))
        for column in ("delay", "overhead")
    )


EXPERIMENT: Final = Figure(
    id="dynatops-fig6f",
    figure="Figure 6f",
    claim="The larger the clusters, the less notifying costs.",
    title="Notifying, by the size of clusters",
    base=LOCATION,
    columns={"delay": "ms", "overhead": "messages"},
    x="cluster",
    values=CLUSTERS,
    shapes=(Shape("delay and overhead fall with the size of clusters", improves),),
).experiment()
