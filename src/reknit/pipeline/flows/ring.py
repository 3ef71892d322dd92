"""``ring``: what notifying costs on a ring of brokers, and DYNATOPS' mapping of brokers to places."""

from __future__ import annotations

from reknit.pipeline import mapping as made
from reknit.pipeline.flow import Flow, Step

__all__ = ["FLOW"]

FLOW = Flow(
    name="ring",
    about="the cost of notifying on a ring of brokers, and where each should be (DYNATOPS, section 5)",
    parameters=made.Mapped,
    inputs=(made.WANTS, made.RATES, made.NETWORK),
    steps=(
        Step(
            "needs",
            "by topic: events, and who wants it",
            ("wants", "rates"),
            made.needs,
            made.NEEDS,
            carries="rows",
            leaves=made.unwanted,
        ),
        Step("places", "by broker: where it is, and should be", ("needs", "network"), made.places, made.PLACES),
        Step(
            "costs", "before and after, and the change itself", ("needs", "places", "network"), made.costs, made.COSTS
        ),
    ),
)
