"""DYNATOPS, Figure 6d: delay of a delivery, by system, where users move."""

from __future__ import annotations

from typing import Final

from reknit.lab.experiment import Scale
from reknit.lab.experiments._dynatops import BAYEUX, LOCATION, Figure, Saving

__all__ = ["EXPERIMENT"]

SYSTEMS: Final = (*BAYEUX, "GeoPS", "DYNATOPS (UP)", "DYNATOPS (BNR)", "DYNATOPS", "DYNATOPS (trips)")
EXPERIMENT: Final = Figure(
    id="dynatops-fig6d",
    figure="Figure 6d",
    claim="Deliveries take 60 % less time than in Bayeux, and 30 % less than in GeoPS.",
    title="Delay of a delivery",
    base=LOCATION,
    columns={"delay": "ms"},
    x="free_h",
    values={Scale.QUICK: (12.0,), Scale.PAPER: (12.0,)},
    names=SYSTEMS,
    savings=(
        *(Saving("delay", "DYNATOPS", other, 60.0, "section 6.3.1") for other in BAYEUX),
        Saving("delay", "DYNATOPS", "GeoPS", 30.0, "section 6.3.1"),
    ),
).experiment()
