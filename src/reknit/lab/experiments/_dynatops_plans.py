"""What Figure 10 of DYNATOPS and its Table 1 share: plans from where consistent hashing has put the brokers.

Owns: the plan of one instance, what it saves and how long it takes. Must not know: which sizes are swept.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, cast

import numpy as np

from reknit.lab import plot
from reknit.lab.experiment import Experiment, Findings, Measured, Point, Published, Row, Rows, Scale, Verdict
from reknit.lab.experiments._dynatops import PAPER, mean
from reknit.lab.hashed import hashed_problem
from reknit.lab.interests import Pattern
from reknit.lab.reduce import estimate, group, numbers, spread
from reknit.lab.ways import ring_ways
from reknit.planning.counts import make_account
from reknit.planning.greedy import dynatops_greedy
from reknit.planning.ring import Ints
from reknit.planning.search import Bounds, better_search

__all__ = ["measure", "savings_figure", "timed"]

PATTERNS: Final = ("multimodal", "uniform")
SEARCHES: Final = ("greedy", "better")
TRIALS: Final = 15
"""Of the better search's warm stage, for each broker: as in ``reknit.planning.search`` where there are a thousand."""
ALWAYS: Final = "a plan saves something at every size"
SKEWED: Final = "it saves more of the multimodal pattern than of the uniform one"


def measure(point: Point, seed: int) -> Row:
    """What is saved is a part of what it was, in percent: of the cost, of relayed messages, of delays."""
    return {name: value for name, value in timed(point, seed).items() if name != "seconds"}


def timed(point: Point, seed: int) -> Row:
    """The same, and the processor time that it took, with routes."""
    brokers, topics = int(point["brokers"]), int(point["topics"])
    rng = np.random.default_rng([seed, brokers, topics])
    problem = hashed_problem(cast(Pattern, point["pattern"]), brokers, topics, rng)
    before = np.arange(brokers, dtype=np.int32)
    _load_kernel()
    begun = time.process_time()
    account = make_account(problem, before)
    cost = account.cost
    if point["search"] == "greedy":
        dynatops_greedy(account)
    else:
        better_search(account, rng, Bounds(trials_max=TRIALS * brokers), priced=False)
    taken = time.process_time() - begun
    ways = ring_ways(problem.ring, problem.keys)

    def of(places: Ints) -> tuple[float, float]:
        here = problem.wants[:, np.argsort(places)]
        return float(ways.relays(here).sum()), float((ways.down.hops * here).sum())

    was, now = of(before), of(account.places)
    return {
        "cost_saved": _saved(cost, account.cost),
        "relays_saved": _saved(was[0], now[0]),
        "delay_saved": _saved(was[1], now[1]),
        "seconds": taken,
    }


@cache
def _load_kernel() -> None:
    """What is compiled, or read from the disk, is there from now on, and is no part of any plan's time."""
    tiny = hashed_problem("uniform", 4, 10, np.random.default_rng(0))
    dynatops_greedy(make_account(tiny, np.arange(4, dtype=np.int32)))


def _saved(before: float, after: float) -> float:
    return 100 * (1 - after / before) if before else 0.0


def savings_figure(id_: str, figure: str, x: str, sizes: Mapping[Scale, Sequence[int]], fixed: Row) -> Experiment:
    def points(scale: Scale) -> list[Point]:
        return [
            {"brokers": 0, "topics": 0, **fixed, x: size, "pattern": pattern, "search": search}
            for pattern in PATTERNS
            for search in SEARCHES
            for size in sizes[scale]
        ]

    return Experiment(
        id=id_,
        paper=PAPER,
        figure=figure,
        claim="A plan always improves on consistent hashing, and more where subscriptions are skewed.",
        published={name: Published(1.0, "1: it does, 0: not", "in words") for name in (ALWAYS, SKEWED)},
        seeds={Scale.QUICK: 2, Scale.PAPER: 10},
        points=points,
        measure=measure,
        reduce=lambda rows: _reduce(rows, x),
        plot=lambda rows: _draw(rows, x),
    )


def _reduce(rows: Rows, x: str) -> Findings:
    found: dict[str, Measured] = {}
    for (pattern, search, size), some in group(rows, "pattern", "search", x).items():
        for column in ("cost_saved", "relays_saved", "delay_saved"):
            each = estimate(numbers(some, column))
            found[f"{column}: {pattern}, {search}, {x} {size}"] = Measured(each.mean, "%", each.low, each.high)
    greedy = [row for row in rows if row["search"] == "greedy"]
    always = all(float(row["cost_saved"]) > 0 for row in greedy)
    skewed = mean(greedy, "cost_saved", pattern="multimodal") > mean(greedy, "cost_saved", pattern="uniform")
    found[ALWAYS] = Measured(float(always), "1: it does, 0: not")
    found[SKEWED] = Measured(float(skewed), "1: it does, 0: not")
    return Findings(found, Verdict.AS_CLAIMED if always and skewed else Verdict.NOT_AS_CLAIMED)


def _draw(rows: Rows, x: str) -> Any:
    chart = plot.new_figure(13.0, 5.2, f"Saved against consistent hashing, by {x}", "mean and extremes over seeds")
    for axes, column in zip(chart.subplots(1, 2), ("relays_saved", "delay_saved"), strict=True):
        plot.dress(axes, column.replace("_", " "), x, "%")
        for number, ((pattern, search), some) in enumerate(group(rows, "pattern", "search").items()):
            curve = {float(size): spread(numbers(each, column)) for (size,), each in group(some, x).items()}
            plot.band(axes, curve, plot.PALETTE[number], label=f"{pattern}, {search}", marker="o", markersize=4)
        axes.set_xscale("log")
        axes.legend(frameon=False, fontsize=8)
    return chart
