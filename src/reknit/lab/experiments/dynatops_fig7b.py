"""DYNATOPS, Figure 7b: delay of a delivery, by how often users change what they want."""

from __future__ import annotations

from typing import Final

from reknit.lab.experiment import Scale
from reknit.lab.experiments._dynatops import POISSON, Figure, Saving

__all__ = ["EXPERIMENT"]

RATES: Final = {Scale.QUICK: (0.025, 0.2), Scale.PAPER: (0.025, 0.05, 0.1, 0.2, 0.4)}
OTHERS: Final = ("Bayeux (static)", "TCO")
EXPERIMENT: Final = Figure(
    id="dynatops-fig7b",
    figure="Figure 7b",
    claim="Deliveries take 10 % less time than in Bayeux and TCO.",
    title="Delay of a delivery",
    base=POISSON,
    columns={"delay": "hops"},
    x="rate",
    values=RATES,
    names=(*OTHERS, "CHash", "DYNATOPS (UP)", "DYNATOPS (BNR)", "DYNATOPS", "DYNATOPS (search)"),
    savings=tuple(Saving("delay", "DYNATOPS", other, 10.0, "section 6.3.1") for other in OTHERS),
).experiment()
