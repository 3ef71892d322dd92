"""CAMCAST, Table 1: rounds until an event has reached all communities, beside plain gossip and PMcast.

A round is one hop. Counted is the round in which the last process gets the event, over the runs that reach the root;
the publisher does not send upward for certain. Where the paper's numbers come from a formula it is not said which
(rows 2 and 3); plain gossip is simulated here, and what PMcast would need is computed with parameters that are our
own.
"""

from __future__ import annotations

from math import ceil
from typing import Any, Final

from reknit.community.formulas import pmcast_rounds
from reknit.lab import plot
from reknit.lab.experiment import Experiment, Findings, Measured, Published, Rows, Scale, Verdict
from reknit.lab.experiments._camcast import PAPER
from reknit.lab.experiments._camcast_tables import HIERARCHIES, measure, points
from reknit.lab.reduce import estimate, group, numbers

__all__ = ["EXPERIMENT"]

CAMCAST: Final = {"1000, 100, 10": 8.91, "100 (j = 2)": 8.83, "100 (j = 4)": 13.08}
GOSSIP: Final = {"1000, 100, 10": 4.63, "100 (j = 2)": 4.39, "100 (j = 4)": 4.31}
PMCAST: Final = {"1000, 100, 10": 6.61, "100 (j = 2)": 5.44, "100 (j = 4)": 5.89}

ROUNDS_TOLERANCE: Final = 1.2
DEPTH: Final = 3
DELEGATES: Final = 3
FAN: Final = 4 * 0.85
"""PMcast's: four messages in each round, of which the channel loses some."""


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
        plain = estimate(numbers(some, "plain_rounds"))
        found[f"gossip, {name}"] = Measured(plain.mean, "rounds", plain.low, plain.high)
        found[f"PMcast by formula, {name}"] = Measured(_pmcast(name), "rounds")
        found[f"reached the root, {name}"] = Measured(100 * len(whole) / len(some), "% of events")
    near = all(abs(means[name] - CAMCAST[name]) <= ROUNDS_TOLERANCE for name in HIERARCHIES)
    more = means["100 (j = 4)"] > means["100 (j = 2)"]
    return Findings(found, Verdict.AS_CLAIMED if near and more else Verdict.NOT_AS_CLAIMED)


def _pmcast(name: str) -> float:
    branching = ceil(sum(HIERARCHIES[name]) ** (1 / DEPTH))
    return pmcast_rounds(branching, DEPTH, DELEGATES, FAN)


def draw(rows: Rows) -> Any:
    figure = plot.new_figure(9.5, 5.5, "Rounds until all communities have an event", "measured, and as published (x)")
    axes = figure.subplots()
    plot.dress(axes, "", "", "rounds")
    for number, (column, published) in enumerate((("rounds", CAMCAST), ("plain_rounds", GOSSIP))):
        groups = group(rows, "hierarchy")
        places = [place + 0.2 * number for place in range(len(HIERARCHIES))]
        heights = [estimate(numbers(groups[name,], column)).mean for name in HIERARCHIES]
        axes.bar(places, heights, width=0.18, color=plot.PALETTE[number], label=("CAMCAST", "gossip")[number])
        axes.plot(places, [published[name] for name in HIERARCHIES], "x", color=plot.INK)
    axes.set_xticks([place + 0.1 for place in range(len(HIERARCHIES))], list(HIERARCHIES))
    axes.legend(frameon=False, fontsize=9)
    return figure


EXPERIMENT: Final = Experiment(
    id="camcast-table1",
    paper=PAPER,
    figure="Table 1",
    claim="The number of rounds grows with the levels of the hierarchy, and is near that of plain gossip for each.",
    published={
        **{f"CAMCAST, {name}": Published(value, "rounds", "Table 1, row 1") for name, value in CAMCAST.items()},
        **{f"gossip, {name}": Published(value, "rounds", "Table 1, row 2") for name, value in GOSSIP.items()},
        **{
            f"PMcast by formula, {name}": Published(value, "rounds", "Table 1, row 3") for name, value in PMCAST.items()
        },
    },
    seeds={Scale.QUICK: 3, Scale.PAPER: 100},
    points=points,
    measure=measure,
    reduce=reduce,
    plot=draw,
)
