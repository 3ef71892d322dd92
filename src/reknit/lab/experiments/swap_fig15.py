"""SWAP, Figure 15: what events cost because of one SwapLink, by the time between two publications of a client.

While the three brokers give all that comes from outside to both others themselves, some copies go where nobody wants
them. The fewer events there are in the few hundredths of a second that a swap takes, the fewer such copies.
"""

from __future__ import annotations

from typing import Any, Final

from reknit.lab.experiment import Experiment, Findings, Measured, Point, Published, Rows, Scale, Verdict
from reknit.lab.experiments._swap import (
    FORWARDING,
    GLOBAL,
    KB,
    PAPER,
    PERIOD_S,
    PUB,
    SMALL,
    TOTAL,
    Setting,
    by,
    measure,
    measured,
    setting,
)
from reknit.lab.experiments._swap_curve import draw_lines, line_name, lines, values
from reknit.lab.population import KINDS

__all__ = ["EXPERIMENT"]

PARAMETER: Final = "period_s"
SHARE: Final = "pub, of all"
SHARE_MAX: Final = 1.0


def points(scale: Scale) -> list[Point]:
    if scale is Scale.QUICK:
        return [setting(SMALL, period_s=period, swaps=20) for period in (0.02, 0.1, PERIOD_S)]
    paper = Setting(swaps=20)
    return [
        *(setting(paper, period_s=period) for period in (0.1, 0.25, PERIOD_S, 2.0)),
        *(setting(paper, period_s=period, routing=GLOBAL) for period in (0.1, PERIOD_S)),
    ]


def reduce(rows: Rows) -> Findings:
    """As claimed if it falls all the way, and is next to nothing beside the tables in the default scenario."""
    found = dict(values(rows, PARAMETER, f"{PUB}_bytes", KB, "KB"))
    falls = all(_falls(line) for line in lines(rows).values())
    default = [row for row in rows if row["routing"] == FORWARDING and row[PARAMETER] == PERIOD_S]
    share = 100 * measured(default, f"{PUB}_bytes").value / measured(default, f"{TOTAL}_bytes").value
    found[SHARE] = Measured(share, "%")
    return Findings(found, Verdict.AS_CLAIMED if falls and share < SHARE_MAX else Verdict.NOT_AS_CLAIMED)


def _falls(rows: Rows) -> bool:
    curve = list(by(rows, PARAMETER, f"{PUB}_bytes").values())
    return curve == sorted(curve, reverse=True) and curve[-1] < curve[0]


def draw(rows: Rows) -> Any:
    title = "What events cost because of one SwapLink"
    return draw_lines(rows, title, PARAMETER, "seconds between two publications of a client", f"{PUB}_bytes", "bytes")


EXPERIMENT: Final = Experiment(
    id="swap-fig15",
    paper=PAPER,
    figure="Figure 15",
    claim="The traffic that a SwapLink adds to publications drops as these become rarer, and is negligible beside the "
    "tables.",
    published={
        SHARE: Published(None, "%", "no number; negligible"),
        f"{line_name((GLOBAL, KINDS))}: {PERIOD_S} {PARAMETER}": Published(0.0, "KB", "section VI, none"),
    },
    seeds={Scale.QUICK: 3, Scale.PAPER: 30},
    points=points,
    measure=measure,
    reduce=reduce,
    plot=draw,
)
