"""DYNATOPS, Figure 7d: what changes of the network cost, by how often users change what they want."""

from __future__ import annotations

from typing import Final

from reknit.lab.experiment import Row, Rows, Scale
from reknit.lab.experiments._dynatops import POISSON, Figure, Saving, Shape, mean

__all__ = ["EXPERIMENT"]

RATES: Final = {Scale.QUICK: (0.025, 0.2), Scale.PAPER: (0.025, 0.05, 0.1, 0.2, 0.4)}


def fastest(row: Row) -> bool:
    return float(row["rate"]) >= 0.2


def less_sensitive(rows: Rows) -> bool:
    """From the slowest users to the fastest it grows by a smaller factor than TCO's."""
    rates = [float(row["rate"]) for row in rows]
    least, most = min(rates), max(rates)
    ours, theirs = (
        mean(rows, "reconfiguration", system=system, rate=most)
        / max(mean(rows, "reconfiguration", system=system, rate=least), 1.0)
        for system in ("DYNATOPS", "TCO")
    )
    return ours < theirs


EXPERIMENT: Final = Figure(
    id="dynatops-fig7d",
    figure="Figure 7d",
    claim="Changing the network costs over 80 % less than in TCO where users change fast, and depends less on it.",
    title="Messages to change the network",
    base=POISSON,
    columns={"reconfiguration": "messages"},
    x="rate",
    values=RATES,
    names=("TCO", "DYNATOPS (BNR)", "DYNATOPS"),
    savings=(Saving("reconfiguration", "DYNATOPS", "TCO", 80.0, "section 6.3.1, where users change fast", fastest),),
    shapes=(Shape("it depends less on how fast users change than TCO's", less_sensitive),),
).experiment()
