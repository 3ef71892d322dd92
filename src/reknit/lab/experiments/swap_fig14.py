"""SWAP, Figure 14: what one SwapLink costs, by the size of the network. There are as many clients as brokers.

As in Figure 13, tables grow with the subscriptions of all clients together, until they hold nearly all that there are.
"""

from __future__ import annotations

from typing import Any, Final

from reknit.lab.experiment import Experiment, Findings, Measured, Point, Published, Rows, Scale, Verdict
from reknit.lab.experiments._swap import (
    FORWARDING,
    GLOBAL,
    MB,
    PAPER,
    SMALL,
    TOTAL,
    Setting,
    by,
    measure,
    setting,
    slopes,
)
from reknit.lab.experiments._swap_curve import draw_lines, line_name, lines, values
from reknit.lab.population import KINDS, KINDS_STEP
from reknit.lab.swapping import TABLES

__all__ = ["EXPERIMENT"]

PARAMETER: Final = "brokers"
FEW: Final = KINDS_STEP
FLATTER_MAX: Final = 0.5
"""With few kinds: the last slope, up or down, is at most so much of the first. Networks with more do not get there."""


def points(scale: Scale) -> list[Point]:
    if scale is Scale.QUICK:
        return [setting(SMALL, brokers=count, swaps=10) for count in (6, 20, 80)]
    paper = Setting(swaps=5)
    return [
        *(setting(paper, brokers=count, kinds=FEW) for count in (25, 50, 100, 200, 400)),
        *(setting(paper, brokers=count, kinds=KINDS) for count in (25, 50, 100, 200)),
        *(setting(paper, brokers=count, kinds=KINDS, routing=GLOBAL) for count in (25, 100)),
    ]


def reduce(rows: Rows) -> Findings:
    """As claimed if the tables that travel grow with the network and, where there are few kinds, ever less so."""
    found = dict(values(rows, PARAMETER, f"{TOTAL}_bytes", MB, "MB"))
    holds = True
    for (routing, kinds), line in lines(rows).items():
        if routing == FORWARDING:
            rise = slopes(by(line, PARAMETER, f"{TABLES}_bytes"))
            found[f"last slope beside the first: {line_name((routing, kinds))}"] = Measured(
                100 * rise[-1] / rise[0], "%"
            )
            holds &= rise[0] > 0 and (kinds > FEW or abs(rise[-1]) < FLATTER_MAX * rise[0])
    return Findings(found, Verdict.AS_CLAIMED if holds else Verdict.NOT_AS_CLAIMED)


def draw(rows: Rows) -> Any:
    title = "One SwapLink, by the size of the network"
    return draw_lines(rows, title, PARAMETER, "brokers, and as many clients", f"{TOTAL}_bytes", "bytes")


EXPERIMENT: Final = Experiment(
    id="swap-fig14",
    paper=PAPER,
    figure="Figure 14",
    claim="Where tables travel, the cost of a SwapLink grows with the number of brokers, and flattens as it does with "
    "the number of subscriptions.",
    published={
        f"{line_name((FORWARDING, KINDS))}: 100 {PARAMETER}": Published(1.0, "MB", "section VI, slightly above"),
    },
    seeds={Scale.QUICK: 3, Scale.PAPER: 30},
    points=points,
    measure=measure,
    reduce=reduce,
    plot=draw,
)
