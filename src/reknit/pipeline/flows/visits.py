"""``visits``: from check-ins to visits, linger times and pairs, with the statistics that DYNATOPS gives."""

from __future__ import annotations

from reknit.pipeline import visits as made
from reknit.pipeline.checkins import CHECKINS, Window
from reknit.pipeline.flow import Bars, Flow, Step

__all__ = ["FLOW"]

FLOW = Flow(
    name="visits",
    about="check-ins to cells of a grid, to visits, linger times and pairs (DYNATOPS, section 6.1.1 and Figure 5)",
    parameters=Window,
    inputs=(CHECKINS,),
    steps=(
        Step("visits", "runs of check-ins in one cell", ("checkins",), made.visits, made.VISITS, carries="rows"),
        Step("pairs", "users and the cells they visited", ("visits",), made.pairs, made.PAIRS, carries="visits"),
        Step("cells", "by cell: visits, users, check-ins", ("pairs",), made.cells, made.CELLS, carries="users"),
        Step("repeats", "Figure 5a", ("pairs",), made.repeats, made.REPEATS, carries="pairs"),
        Step("lingers", "Figure 5b", ("visits",), made.lingers, made.LINGERS, carries="visits", takes=made.CLOSED),
        Step("statistics", "section 6.1.1", ("visits", "pairs", "cells"), made.statistics, made.STATISTICS),
    ),
    charts=(
        Bars("repeats.png", "repeats", "repeats", "pairs", "Pairs of user and cell, by number of visits"),
        Bars("lingers.png", "lingers", "linger", "visits", "Visits that are not open, by linger time"),
    ),
)
