"""``synthesize``: check-ins at the scale of DYNATOPS' trace, fitted to its published numbers; and the fit."""

from __future__ import annotations

from reknit.pipeline import synthesize as made
from reknit.pipeline import visits as stays
from reknit.pipeline.checkins import CHECKINS
from reknit.pipeline.flow import Flow, Step

__all__ = ["FLOW"]

FLOW = Flow(
    name="synthesize",
    about="check-ins of people who do not exist, fitted to the numbers that DYNATOPS has published, and the fit",
    parameters=made.Crowd,
    inputs=(),
    steps=(
        Step("checkins", "who was where, when", (), made.checkins, CHECKINS.schema),
        Step("visits", "runs of check-ins in one cell", ("checkins",), stays.visits, stays.VISITS, carries="rows"),
        Step("pairs", "users and the cells they visited", ("visits",), stays.pairs, stays.PAIRS, carries="visits"),
        Step("cells", "by cell: visits, users, check-ins", ("pairs",), stays.cells, stays.CELLS, carries="users"),
        Step("statistics", "section 6.1.1", ("visits", "pairs", "cells"), stays.statistics, stays.STATISTICS),
        Step("fit", "the published numbers beside these", ("statistics",), made.fit, made.FIT),
    ),
)
