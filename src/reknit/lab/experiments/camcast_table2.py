"""CAMCAST, Table 2: parasite events of an event that is published in the root's community, beside gossip and PMcast.

A parasite is a message that a process receives and does not want. In communities there is none. In plain gossip there
are ``(n - N) floor(ln n + c) p_succ`` of them on average, which is what the paper's numbers are. In PMcast those get
some who stand for others; the paper does not give its parameters, so these are measured with our own, and judged by
nothing but that there are any.
"""

from __future__ import annotations

from typing import Any, Final

from reknit.community.formulas import parasites_of_broadcast
from reknit.lab import plot
from reknit.lab.communities import Chain
from reknit.lab.experiment import Experiment, Findings, Measured, Published, Rows, Scale, Verdict
from reknit.lab.experiments._camcast import PAPER
from reknit.lab.experiments._camcast_tables import HIERARCHIES, measure, points
from reknit.lab.reduce import estimate, group, numbers

__all__ = ["EXPERIMENT"]

GOSSIP: Final = {"1000, 100, 10": 11216, "100 (j = 2)": 1699, "100 (j = 4)": 3739}
PMCAST: Final = {"1000, 100, 10": 453, "100 (j = 2)": 369, "100 (j = 4)": 615}
RIVALS: Final = (("gossip", "plain_parasites", GOSSIP), ("PMcast", "pmcast_parasites", PMCAST))
"""The table's rows 2 and 3: a name, the column of what was measured, what was published."""
TOLERANCE: Final = 0.01


def reduce(rows: Rows) -> Findings:
    """As claimed if communities have none at all, and gossip has those of the paper within 1 %, and PMcast any."""
    found: dict[str, Measured] = {}
    near = True
    for name, sizes in HIERARCHIES.items():
        some = group(rows, "hierarchy")[name,]
        means: dict[str, float] = {}
        for rival, column, _ in RIVALS:
            each = estimate(numbers(some, column))
            means[rival] = each.mean
            found[f"{rival}, {name}"] = Measured(each.mean, "parasites", each.low, each.high)
        terms = Chain(sizes)
        theory = parasites_of_broadcast(sum(sizes), sizes[0], terms.c, terms.p_succ)
        found[f"CAMCAST, {name}"] = Measured(sum(numbers(some, "parasites")), "in all runs")
        found[f"gossip by formula, {name}"] = Measured(theory, "parasites")
        near &= abs(means["gossip"] - GOSSIP[name]) <= TOLERANCE * GOSSIP[name] and means["PMcast"] > 0
    none = not any(row["parasites"] for row in rows)
    return Findings(found, Verdict.AS_CLAIMED if near and none else Verdict.NOT_AS_CLAIMED)


def draw(rows: Rows) -> Any:
    figure = plot.new_figure(9.5, 5.5, "Parasite events", "measured, and as published (x); CAMCAST has none")
    axes = figure.subplots()
    plot.dress(axes, "", "", "messages received and not wanted")
    groups = group(rows, "hierarchy")
    for number, (rival, column, published) in enumerate(RIVALS):
        places = [place + 0.3 * number for place in range(len(HIERARCHIES))]
        heights = [estimate(numbers(groups[name,], column)).mean for name in HIERARCHIES]
        axes.bar(places, heights, width=0.28, color=plot.PALETTE[number + 1], label=rival)
        axes.plot(places, [published[name] for name in HIERARCHIES], "x", color=plot.INK)
    axes.set_xticks([place + 0.15 for place in range(len(HIERARCHIES))], list(HIERARCHIES))
    plot.log_numbers(axes)
    axes.legend(frameon=False, fontsize=9)
    return figure


EXPERIMENT: Final = Experiment(
    id="camcast-table2",
    paper=PAPER,
    figure="Table 2",
    claim="Communities have no parasite events, where plain gossip has thousands.",
    published={
        **{f"CAMCAST, {name}": Published(0, "in all runs", "Table 2, row 1") for name in HIERARCHIES},
        **{
            f"{rival}, {name}": Published(value, "parasites", f"Table 2, row {number}")
            for number, (rival, _, values) in enumerate(RIVALS, 2)
            for name, value in values.items()
        },
    },
    seeds={Scale.QUICK: 3, Scale.PAPER: 100},
    points=points,
    measure=measure,
    reduce=reduce,
    plot=draw,
)
