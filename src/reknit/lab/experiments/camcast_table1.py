"""CAMCAST, Table 1: rounds until an event has reached all communities, beside plain gossip and PMcast.

A round is one hop. Counted is the round in which the last process gets the event, over the runs that reach the root;
the publisher does not send upward for certain. Where the paper's numbers come from a formula it is not said which
(rows 2 and 3); plain gossip and PMcast are simulated here, PMcast with parameters that are our own, and with what its
formula says of them beside it.
"""

from __future__ import annotations

from math import ceil
from typing import Any, Final

from reknit.community.formulas import pmcast_rounds
from reknit.lab import plot
from reknit.lab.experiment import Experiment, Findings, Measured, Published, Rows, Scale, Verdict
from reknit.lab.experiments._camcast import PAPER, TERMS
from reknit.lab.experiments._camcast_tables import HIERARCHIES, measure, points
from reknit.lab.reduce import estimate, group, numbers
from reknit.lab.rivals import DELEGATES, DEPTH, FAN

__all__ = ["EXPERIMENT"]

CAMCAST: Final = {"1000, 100, 10": 8.91, "100 (j = 2)": 8.83, "100 (j = 4)": 13.08}
GOSSIP: Final = {"1000, 100, 10": 4.63, "100 (j = 2)": 4.39, "100 (j = 4)": 4.31}
PMCAST: Final = {"1000, 100, 10": 6.61, "100 (j = 2)": 5.44, "100 (j = 4)": 5.89}

ROUNDS_TOLERANCE: Final = 1.2
ROWS: Final = (("CAMCAST", "rounds", CAMCAST), ("gossip", "plain_rounds", GOSSIP), ("PMcast", "pmcast_rounds", PMCAST))
"""The table's: a name, the column of what was measured, what was published."""


def reduce(rows: Rows) -> Findings:
    """As claimed if each mean is within 1.2 rounds of the paper's, and more levels take more rounds."""
    found: dict[str, Measured] = {}
    means: dict[str, float] = {}
    for name in HIERARCHIES:
        some = group(rows, "hierarchy")[name,]
        whole = [row for row in some if row["reached_root"]]
        rounds = estimate(numbers(whole, "rounds")) if whole else estimate([0.0])
        means[name] = rounds.mean
        found[f"CAMCAST, {name}"] = Measured(rounds.mean, "rounds", rounds.low, rounds.high)
        for rival, column, _ in ROWS[1:]:
            each = estimate(numbers(some, column))
            found[f"{rival}, {name}"] = Measured(each.mean, "rounds", each.low, each.high)
        found[f"PMcast by formula, {name}"] = Measured(_pmcast(name), "rounds")
        found[f"reached the root, {name}"] = Measured(100 * len(whole) / len(some), "% of events")
    near = all(abs(means[name] - CAMCAST[name]) <= ROUNDS_TOLERANCE for name in HIERARCHIES)
    more = means["100 (j = 4)"] > means["100 (j = 2)"]
    return Findings(found, Verdict.AS_CLAIMED if near and more else Verdict.NOT_AS_CLAIMED)


def _pmcast(name: str) -> float:
    branching = ceil(sum(HIERARCHIES[name]) ** (1 / DEPTH))
    return pmcast_rounds(branching, DEPTH, DELEGATES, FAN * TERMS.p_succ)


def draw(rows: Rows) -> Any:
    figure = plot.new_figure(9.5, 5.5, "Rounds until all communities have an event", "measured, and as published (x)")
    axes = figure.subplots()
    plot.dress(axes, "", "", "rounds")
    for number, (rival, column, published) in enumerate(ROWS):
        groups = group(rows, "hierarchy")
        places = [place + 0.2 * number for place in range(len(HIERARCHIES))]
        heights = [estimate(numbers(groups[name,], column)).mean for name in HIERARCHIES]
        axes.bar(places, heights, width=0.18, color=plot.PALETTE[number], label=rival)
        axes.plot(places, [published[name] for name in HIERARCHIES], "x", color=plot.INK)
    axes.set_xticks([place + 0.2 for place in range(len(HIERARCHIES))], list(HIERARCHIES))
    axes.legend(frameon=False, fontsize=9)
    return figure


EXPERIMENT: Final = Experiment(
    id="camcast-table1",
    paper=PAPER,
    figure="Table 1",
    claim="The number of rounds grows with the levels of the hierarchy, and is near that of plain gossip for each.",
    published={
        f"{rival}, {name}": Published(value, "rounds", f"Table 1, row {number}")
        for number, (rival, _, values) in enumerate(ROWS, 1)
        for name, value in values.items()
    },
    seeds={Scale.QUICK: 3, Scale.PAPER: 100},
    points=points,
    measure=measure,
    reduce=reduce,
    plot=draw,
)
