"""DYNATOPS, Figure 7a: how often brokers come or cease to want a topic, by how often users do."""

from __future__ import annotations

from typing import Final

from reknit.lab.experiment import Scale
from reknit.lab.experiments._dynatops import POISSON, Figure, Saving

__all__ = ["EXPERIMENT"]

RATES: Final = {Scale.QUICK: (0.025, 0.2), Scale.PAPER: (0.025, 0.05, 0.1, 0.2, 0.4)}
OTHERS: Final = ("Bayeux (static)", "TCO")
EXPERIMENT: Final = Figure(
    id="dynatops-fig7a",
    figure="Figure 7a",
    claim="Brokers change their subscriptions 80 % less often.",
    title="Changes of brokers' subscriptions",
    base=POISSON,
    columns={"changes": "changes"},
    x="rate",
    values=RATES,
    names=(*OTHERS, "DYNATOPS"),
    savings=tuple(Saving("changes", "DYNATOPS", other, 80.0, "section 6.3.1") for other in OTHERS),
).experiment()
