"""CAMCAST, Table 2: parasite events, when an event is published in the root's community, beside plain gossip.

A parasite is a message that a process receives and does not want. In communities there is none. In plain gossip there
are ``(n - N) floor(ln n + c) p_succ`` of them on average, which is what the paper's numbers are.
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
TOLERANCE: Final = 0.01


def reduce(rows: Rows) -> Findings:
    """As claimed if communities have none at all, and gossip has those of the paper within 1 %."""
    found: dict[str, Measured] = {}
    near = True
    for name, sizes in HIERARCHIES.items():
        some = group(rows, "hierarchy")[name,]
        plain = estimate(numbers(some, "plain_parasites"))
        terms = Chain(sizes)
        theory = parasites_of_broadcast(sum(sizes), sizes[0], terms.c, terms.p_succ)
        found[f"CAMCAST, {name}"] = Measured(sum(numbers(some, "parasites")), "in all runs")
        found[f"gossip, {name}"] = Measured(plain.mean, "parasites", plain.low, plain.high)
        found[f"gossip by formula, {name}"] = Measured(theory, "parasites")
        near &= abs(plain.mean - GOSSIP[name]) <= TOLERANCE * GOSSIP[name]
    none = not any(row["parasites"] for row in rows)
    return Findings(found, Verdict.AS_CLAIMED if near and none else Verdict.NOT_AS_CLAIMED)


def draw(rows: Rows) -> Any:
    figure = plot.new_figure(
        9.5, 5.5, "Parasite events", "plain gossip, measured and as published (x); CAMCAST has none"
    )
    axes = figure.subplots()
    plot.dress(axes, "", "", "messages received and not wanted")
    heights = [estimate(numbers(group(rows, "hierarchy")[name,], "plain_parasites")).mean for name in HIERARCHIES]
    axes.bar(list(HIERARCHIES), heights, width=0.4, color=plot.PALETTE[1])
    axes.plot(list(HIERARCHIES), [GOSSIP[name] for name in HIERARCHIES], "x", color=plot.INK)
    return figure


EXPERIMENT: Final = Experiment(
    id="camcast-table2",
    paper=PAPER,
    figure="Table 2",
    claim="Communities have no parasite events, where plain gossip has thousands.",
    published={
        **{f"CAMCAST, {name}": Published(0, "in all runs", "Table 2, row 1") for name in HIERARCHIES},
        **{f"gossip, {name}": Published(value, "parasites", "Table 2, row 2") for name, value in GOSSIP.items()},
    },
    seeds={Scale.QUICK: 3, Scale.PAPER: 100},
    points=points,
    measure=measure,
    reduce=reduce,
    plot=draw,
)
