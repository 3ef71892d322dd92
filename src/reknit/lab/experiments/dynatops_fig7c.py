"""DYNATOPS, Figure 7c: messages for one event, by how often users change what they want."""

from __future__ import annotations

from typing import Final

from reknit.lab.experiment import Scale
from reknit.lab.experiments._dynatops import POISSON, Figure, Saving

__all__ = ["EXPERIMENT"]

RATES: Final = {Scale.QUICK: (0.025, 0.2), Scale.PAPER: (0.025, 0.05, 0.1, 0.2, 0.4)}
OTHERS: Final = ("Bayeux (static)", "TCO")
EXPERIMENT: Final = Figure(
    id="dynatops-fig7c",
    figure="Figure 7c",
    claim="An event takes over 50 % fewer messages than in Bayeux and TCO.",
    title="Messages for one event",
    base=POISSON,
    columns={"overhead": "messages"},
    x="rate",
    values=RATES,
    names=(*OTHERS, "CHash", "DYNATOPS (UP)", "DYNATOPS (BNR)", "DYNATOPS", "DYNATOPS (search)"),
    savings=tuple(Saving("overhead", "DYNATOPS", other, 50.0, "section 6.3.1") for other in OTHERS),
).experiment()
