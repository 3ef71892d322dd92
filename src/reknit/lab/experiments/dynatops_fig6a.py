"""DYNATOPS, Figure 6a: what it takes to keep the brokers' subscriptions, by the size of clusters."""

from __future__ import annotations

from typing import Final

from reknit.lab.experiment import Row, Rows, Scale
from reknit.lab.experiments._dynatops import LOCATION, Figure, Saving, Shape, mean

__all__ = ["EXPERIMENT"]

CLUSTERS: Final = {Scale.QUICK: (2, 5, 15), Scale.PAPER: (2, 5, 10, 20, 50)}


def at_ten(row: Row) -> bool:
    """Ten brokers in a cluster, or five where there are few."""
    return row["cluster"] == (10 if row["cell"] == 1 else 5)


def falls_then_rises(rows: Rows) -> bool:
    """The least is neither at the smallest clusters nor at the largest."""
    sizes = sorted({int(row["cluster"]) for row in rows if row["system"] == "DYNATOPS"})
    means = [mean(rows, "management", system="DYNATOPS", cluster=size) for size in sizes]
    return min(means) < min(means[0], means[-1])


OTHERS: Final = ("Bayeux (static)", "Bayeux (loc)", "GeoPS")
EXPERIMENT: Final = Figure(
    id="dynatops-fig6a",
    figure="Figure 6a",
    claim="Placement by interest takes over 40 % less to manage subscriptions; least at clusters of middle size.",
    title="Messages to manage subscriptions",
    base=LOCATION,
    columns={"management": "messages"},
    x="cluster",
    values=CLUSTERS,
    names=(*OTHERS, "DYNATOPS"),
    savings=tuple(Saving("management", "DYNATOPS", other, 40.0, "sections 1 and 6.3.1", at_ten) for other in OTHERS),
    shapes=(Shape("it falls with the size of clusters, then rises", falls_then_rises),),
).experiment()
