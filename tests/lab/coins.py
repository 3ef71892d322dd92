"""A small experiment for the tests: how often a coin falls on its head."""

from __future__ import annotations

import random
from typing import Any

from reknit.lab import plot
from reknit.lab.experiment import Experiment, Findings, Measured, Point, Published, Row, Rows, Scale, Verdict
from reknit.lab.reduce import estimate, group, numbers, spread


def points(scale: Scale) -> list[Point]:
    return [{"coin": "fair", "throws": throws} for throws in ((4, 16) if scale is Scale.QUICK else (4, 16, 64))]


def measure(point: Point, seed: int) -> Row:
    if seed == 13:
        raise ArithmeticError("the coin stood on its edge")
    rng = random.Random(f"{seed}/{point['throws']}")
    return {"heads": sum(rng.random() < 0.5 for _ in range(int(point["throws"]))) / int(point["throws"])}


def reduce(rows: Rows) -> Findings:
    found = estimate(numbers(rows, "heads"))
    verdict = Verdict.AS_CLAIMED if 0.1 < found.mean < 0.9 else Verdict.NOT_AS_CLAIMED
    return Findings({"heads": Measured(found.mean, "", found.low, found.high)}, verdict)


def draw(rows: Rows) -> Any:
    figure = plot.new_figure(4, 3, "Coins")
    axes = figure.subplots()
    plot.dress(axes, "Heads", "throws", "share")
    curve = {float(throws): spread(numbers(each, "heads")) for (throws,), each in group(rows, "throws").items()}
    plot.band(axes, curve, plot.PALETTE[0])
    return figure


COINS = Experiment(
    id="coins",
    paper="On Coins",
    figure="Figure 1",
    claim="A coin is fair.",
    published={"heads": Published(0.5, "", "Figure 1"), "edges": Published(None)},
    seeds={Scale.QUICK: 3, Scale.PAPER: 5},
    points=points,
    measure=measure,
    reduce=reduce,
    plot=draw,
)
