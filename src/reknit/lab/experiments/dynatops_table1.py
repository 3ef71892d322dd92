"""DYNATOPS, Table 1: how long a plan takes. The same seed does not take the same time twice."""

from __future__ import annotations

from typing import Any, Final

from reknit.lab import plot
from reknit.lab.experiment import Experiment, Findings, Measured, Point, Published, Rows, Scale, Verdict
from reknit.lab.experiments._dynatops import PAPER
from reknit.lab.experiments._dynatops_plans import timed
from reknit.lab.reduce import estimate, group, numbers

__all__ = ["EXPERIMENT"]

SECONDS: Final = {
    (10, 100): 0.028,
    (100, 100): 0.184,
    (1000, 100): 96.0,
    (100, 50): 0.098,
    (100, 500): 0.502,
    (100, 5000): 1.9,
}
"""As published, by brokers and topics."""
QUICK_MAX: Final = 10_000


def points(scale: Scale) -> list[Point]:
    return [
        {"brokers": brokers, "topics": topics, "pattern": "uniform", "search": "greedy"}
        for brokers, topics in SECONDS
        if scale is Scale.PAPER or brokers * topics <= QUICK_MAX
    ]


def name_of(brokers: int, topics: int) -> str:
    return f"{brokers:,} brokers, {topics:,} topics"


def reduce(rows: Rows) -> Findings:
    """As claimed where no plan takes longer than the paper's."""
    found: dict[str, Measured] = {}
    slower = False
    for (brokers, topics), some in group(rows, "brokers", "topics").items():
        each = estimate(numbers(some, "seconds"))
        found[name_of(int(brokers), int(topics))] = Measured(each.mean, "s", each.low, each.high)
        slower = slower or each.mean > SECONDS[int(brokers), int(topics)]
    return Findings(found, Verdict.NOT_AS_CLAIMED if slower else Verdict.AS_CLAIMED)


def draw(rows: Rows) -> Any:
    figure = plot.new_figure(9.5, 5.5, "How long a plan takes", "processor time, mean over seeds; beside the paper's")
    axes = figure.subplots()
    plot.dress(axes, "", "brokers / topics", "s")
    groups = group(rows, "brokers", "topics")
    measured = [estimate(numbers(some, "seconds")).mean for some in groups.values()]
    published = [SECONDS[int(brokers), int(topics)] for brokers, topics in groups]
    for number, heights in enumerate((measured, published)):
        places = [place + 0.35 * number for place in range(len(heights))]
        label = ("measured", "published")[number]
        axes.bar(places, heights, width=0.33, color=plot.PALETTE[number], label=label)
    names = [f"{brokers} / {topics}" for brokers, topics in groups]
    axes.set_xticks([place + 0.17 for place in range(len(names))], names)
    plot.log_numbers(axes)
    axes.legend(frameon=False, fontsize=9)
    return figure


EXPERIMENT: Final = Experiment(
    id="dynatops-table1",
    paper=PAPER,
    figure="Table 1",
    claim="Plans for large networks and many topics are quick to compute.",
    published={name_of(*size): Published(seconds, "s", "on a quad core of 2 GHz") for size, seconds in SECONDS.items()},
    seeds={Scale.QUICK: 2, Scale.PAPER: 10},
    points=points,
    measure=timed,
    reduce=reduce,
    plot=draw,
)
