"""SWAP, Figure 13: what one SwapLink costs, by the subscriptions of each client.

Tables hold a subscription once, however many clients share it; so they grow with the subscriptions, and stop growing
when nearly all that there are to choose from are in them. The paper has that at about 100 for each client and does not
say how many there are; so their number is swept, too.
"""

from __future__ import annotations

from typing import Any, Final

from reknit.lab.experiment import Experiment, Findings, Measured, Point, Published, Rows, Scale, Verdict
from reknit.lab.experiments._swap import (
    FORWARDING,
    GLOBAL,
    MB,
    PAPER,
    SAID,
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

__all__ = ["EXPERIMENT"]

PARAMETER: Final = "subscriptions"
FEW: Final = KINDS_STEP
FLAT_MAX: Final = 0.25
"""It counts as flat where it rises by so much of its first slope at most."""
STEADY_MAX: Final = 0.05
"""With complete knowledge: by how much the dearest may exceed the cheapest, for names differ in length."""


def points(scale: Scale) -> list[Point]:
    if scale is Scale.QUICK:
        return [
            *(setting(SMALL, subscriptions=count) for count in (1, 5, 20, 60)),
            *(setting(SMALL, subscriptions=count, routing=GLOBAL) for count in (1, 20)),
        ]
    paper = Setting(swaps=5)
    return [
        *(setting(paper, subscriptions=count, kinds=KINDS) for count in (1, 10, 30, 100, 300)),
        *(setting(paper, subscriptions=count, kinds=FEW) for count in (1, 10, 30, 100)),
        *(setting(paper, subscriptions=count, kinds=KINDS, routing=GLOBAL) for count in (1, 10, 30)),
    ]


def reduce(rows: Rows) -> Findings:
    """As claimed if tables that travel grow and then hardly do, and nothing that is said grows where none travel."""
    found = dict(values(rows, PARAMETER, f"{TOTAL}_bytes", MB, "MB"))
    holds = True
    for (routing, kinds), line in lines(rows).items():
        curve = by(line, PARAMETER, f"{SAID}_bytes")
        rise = slopes(curve)
        if routing == FORWARDING:
            found[f"last slope beside the first: {line_name((routing, kinds))}"] = Measured(
                100 * rise[-1] / rise[0], "%"
            )
            holds &= rise[0] > 0 and rise[-1] < FLAT_MAX * rise[0]
        else:
            holds &= max(curve.values()) < (1 + STEADY_MAX) * min(curve.values())
    return Findings(found, Verdict.AS_CLAIMED if holds else Verdict.NOT_AS_CLAIMED)


def draw(rows: Rows) -> Any:
    title = "One SwapLink, by what clients subscribe to"
    return draw_lines(rows, title, PARAMETER, "subscriptions of each client", f"{TOTAL}_bytes", "bytes")


EXPERIMENT: Final = Experiment(
    id="swap-fig13",
    paper=PAPER,
    figure="Figure 13",
    claim="Where tables travel, the cost of a SwapLink grows linearly with the subscriptions of each client, up to a "
    "threshold beyond which it hardly grows; where none do, it does not depend on them.",
    published={
        f"{line_name((FORWARDING, KINDS))}: 100 {PARAMETER}": Published(None, "MB", "no number; from here on flat"),
        f"{line_name((FORWARDING, KINDS))}: 10 {PARAMETER}": Published(1.0, "MB", "section VI, slightly above"),
    },
    seeds={Scale.QUICK: 3, Scale.PAPER: 30},
    points=points,
    measure=measure,
    reduce=reduce,
    plot=draw,
)
