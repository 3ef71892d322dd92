"""DYNATOPS, Figure 6c: how often users are handed over from broker to broker."""

from __future__ import annotations

from typing import Final

from reknit.lab.experiment import Row, Scale
from reknit.lab.experiments._dynatops import LOCATION, Figure, Saving

__all__ = ["EXPERIMENT"]

CLUSTERS: Final = {Scale.QUICK: (2, 5, 15), Scale.PAPER: (2, 5, 10, 20, 50)}


def at_ten(row: Row) -> bool:
    """Ten brokers in a cluster, or five where there are few."""
    return row["cluster"] == (10 if row["cell"] == 1 else 5)


EXPERIMENT: Final = Figure(
    id="dynatops-fig6c",
    figure="Figure 6c",
    claim="Users are handed over 80 % less often than in GeoPS.",
    title="Users handed over",
    base=LOCATION,
    columns={"handovers": "users"},
    x="cluster",
    values=CLUSTERS,
    names=("GeoPS", "DYNATOPS"),
    savings=(Saving("handovers", "DYNATOPS", "GeoPS", 80.0, "section 6.3.1", at_ten),),
).experiment()
