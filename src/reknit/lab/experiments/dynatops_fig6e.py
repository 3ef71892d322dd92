"""DYNATOPS, Figure 6e: messages for one event, by system, where users move."""

from __future__ import annotations

from typing import Final

from reknit.lab.experiment import Scale
from reknit.lab.experiments._dynatops import BAYEUX, LOCATION, Figure, Saving

__all__ = ["EXPERIMENT"]

SYSTEMS: Final = (*BAYEUX, "GeoPS", "DYNATOPS (UP)", "DYNATOPS (BNR)", "DYNATOPS", "DYNATOPS (trips)")
EXPERIMENT: Final = Figure(
    id="dynatops-fig6e",
    figure="Figure 6e",
    claim="An event takes 40 % fewer messages than in Bayeux, and 20 % fewer than in GeoPS.",
    title="Messages for one event",
    base=LOCATION,
    columns={"overhead": "messages"},
    x="free_h",
    values={Scale.QUICK: (12.0,), Scale.PAPER: (12.0,)},
    names=SYSTEMS,
    savings=(
        *(Saving("overhead", "DYNATOPS", other, 40.0, "section 6.3.1") for other in BAYEUX),
        Saving("overhead", "DYNATOPS", "GeoPS", 20.0, "section 6.3.1"),
    ),
).experiment()
