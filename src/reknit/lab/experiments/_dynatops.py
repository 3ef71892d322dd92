"""What the figures of DYNATOPS's evaluation share: systems under one of its two models, by one parameter.

Owns: the two bases, the points, savings and shapes as claims, the picture. Must not know: what a figure claims.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from reknit.lab import plot
from reknit.lab.contest import Contest, run_contest
from reknit.lab.experiment import Cell, Experiment, Findings, Measured, Point, Published, Row, Rows, Scale, Verdict
from reknit.lab.reduce import estimate, group, mean_by_seed, numbers, spread

__all__ = ["BAYEUX", "LOCATION", "PAPER", "POISSON", "Figure", "Saving", "Shape", "mean"]

PAPER: Final = "DYNATOPS"
BAYEUX: Final = ("Bayeux (static)", "Bayeux (loc)", "Bayeux (loc+PNS)")
POISSON: Final = {
    Scale.QUICK: Contest("DYNATOPS", users=3000, brokers=40, topics=200, modes=20, hours=10, free_h=5.0, cluster=5),
    Scale.PAPER: Contest("DYNATOPS", cluster=5),
}
"""Section 6.1.2, and Figures 8 and 9 for T_free and the size of clusters."""
LOCATION: Final = {
    Scale.QUICK: Contest(
        "DYNATOPS", "location", users=1500, hours=192, cell=4, step_h=12.0, cluster=5, load_weight=0.0, update_h=12.0,
        free_h=12.0,
    ),
    Scale.PAPER: Contest(
        "DYNATOPS", "location", users=40_000, hours=2208, step_h=6.0, load_weight=0.0, update_h=12.0, free_h=12.0
    ),
}  # fmt: skip
"""Section 6.1.1 and Figure 6. At quick scale a cell has four degrees, so there are 75 brokers and 75 topics."""
BY_INTEREST: Final = ("DYNATOPS", "DYNATOPS (UP)", "DYNATOPS (search)", "DYNATOPS (trips)")
COLOURS: Final = (*plot.PALETTE, plot.INK, "#9a9a9a")
"""One for each system of a figure."""


def mean(rows: Rows, column: str, **where: Cell) -> float:
    found = [float(row[column]) for row in rows if all(row[name] == value for name, value in where.items())]
    return sum(found) / len(found)


@dataclass(frozen=True, slots=True)
class Saving:
    """So many percent less than another system, or more, in the mean over all points that both have."""

    column: str
    ours: str
    theirs: str
    percent: float
    note: str = ""
    at: Callable[[Row], bool] = lambda row: True

    @property
    def name(self) -> str:
        return f"{self.column}: {self.ours} below {self.theirs}"

    def by_seed(self, rows: Rows) -> list[float]:
        some = [row for row in rows if self.at(row) or row["system"] not in BY_INTEREST]
        theirs = {seed: mean(each, self.column, system=self.theirs) for (seed,), each in group(some, "seed").items()}
        ours = [row for row in some if row["system"] == self.ours]
        pairs = [(int(row["seed"]), 100 * (1 - float(row[self.column]) / theirs[row["seed"]])) for row in ours]
        return mean_by_seed(pairs)


@dataclass(frozen=True, slots=True)
class Shape:
    """What the paper says in words."""

    name: str
    holds: Callable[[Rows], bool]


@dataclass(frozen=True, slots=True)
class Figure:
    """``x``: the parameter; ``series``: what has a curve of its own. ``columns``: a panel for each."""

    id: str
    figure: str
    claim: str
    title: str
    base: Mapping[Scale, Contest]
    columns: Mapping[str, str]
    """With the unit of each."""
    x: str
    values: Mapping[Scale, Sequence[Cell]]
    series: str = "system"
    names: Sequence[Cell] = ("DYNATOPS",)
    savings: tuple[Saving, ...] = ()
    shapes: tuple[Shape, ...] = ()
    fixed: Mapping[str, Cell] = field(default_factory=dict)
    logarithmic: bool = False

    def experiment(self) -> Experiment:
        published = {each.name: Published(each.percent, "% less", each.note) for each in self.savings}
        published |= {each.name: Published(1.0, "1: it does, 0: not", "in words") for each in self.shapes}
        return Experiment(
            id=self.id,
            paper=PAPER,
            figure=self.figure,
            claim=self.claim,
            published=published,
            seeds={Scale.QUICK: 2, Scale.PAPER: 10},
            points=self.points,
            measure=measure,
            reduce=self.reduce,
            plot=self.draw,
        )

    def points(self, scale: Scale) -> list[Point]:
        return [
            msgspec.structs.asdict(msgspec.structs.replace(self.base[scale], **self.setting(name, value)))
            for name in self.names
            for value in (self.values[scale] if self._follows(name) else self.values[scale][:1])
        ]

    def setting(self, name: Cell, value: Cell) -> dict[str, Any]:
        return {**self.fixed, self.series: name, self.x: value}

    def _follows(self, name: Cell) -> bool:
        """Whether the parameter is one of this system at all."""
        return self.x != "cluster" or self.series != "system" or name in BY_INTEREST

    def reduce(self, rows: Rows) -> Findings:
        found: dict[str, Measured] = {}
        for (name, value), some in group(rows, self.series, self.x).items():
            for column, unit in self.columns.items():
                each = estimate(mean_by_seed((int(row["seed"]), float(row[column])) for row in some))
                found[f"{column}: {name}, {self.x} {value}"] = Measured(each.mean, unit, each.low, each.high)
        verdicts = []
        for saving in self.savings:
            each = estimate(saving.by_seed(rows))
            found[saving.name] = Measured(each.mean, "% less", each.low, each.high)
            verdicts.append(each.mean >= saving.percent)
        for shape in self.shapes:
            verdicts.append(shape.holds(rows))
            found[shape.name] = Measured(float(verdicts[-1]), "1: it does, 0: not")
        return Findings(found, Verdict.AS_CLAIMED if all(verdicts) else Verdict.NOT_AS_CLAIMED)

    def draw(self, rows: Rows) -> Any:
        seeds = len(group(rows, "seed"))
        figure = plot.new_figure(
            6.5 * len(self.columns) + 1, 5.5, self.title, f"mean and extremes over seeds ({seeds})"
        )
        panels = figure.subplots(1, len(self.columns), squeeze=False)[0]
        for axes, (column, unit) in zip(panels, self.columns.items(), strict=True):
            plot.dress(axes, column if len(self.columns) > 1 else "", self.x.replace("_", " "), unit)
            values = [value for (value,) in group(rows, self.x)]
            if len(values) == 1 or isinstance(values[0], str):
                self._bars(axes, rows, column, values)
            else:
                self._curves(axes, rows, column)
            if self.logarithmic:
                plot.log_numbers(axes)
            axes.legend(frameon=False, fontsize=8)
        plot.remark(figure, self._said(rows))
        return figure

    def _curves(self, axes: Any, rows: Rows, column: str) -> None:
        for number, name in enumerate(self.names):
            some = [row for row in rows if row[self.series] == name]
            curve = {float(value): spread(numbers(each, column)) for (value,), each in group(some, self.x).items()}
            colour = COLOURS[number]
            if len(curve) == 1:
                [only] = curve.values()
                axes.axhline(only.mean, color=colour, linestyle="--", label=str(name))
            else:
                label = str(name) if self.series == "system" else f"{self.series.replace('_', ' ')} {name}"
                plot.band(axes, curve, colour, label=label, marker="o", markersize=4)

    def _bars(self, axes: Any, rows: Rows, column: str, values: Sequence[Cell]) -> None:
        width = 0.8 / len(self.names)
        for number, name in enumerate(self.names):
            places = [place + width * number for place in range(len(values))]
            heights = [mean(rows, column, **{self.series: name, self.x: value}) for value in values]
            axes.bar(places, heights, width=0.9 * width, color=COLOURS[number], label=str(name))
        axes.set_xticks([place + 0.4 - width / 2 for place in range(len(values))], [str(value) for value in values])

    def _said(self, rows: Rows) -> list[str]:
        words = {True: "holds here", False: "does not hold here"}
        lines = [
            f"{each.name}: {estimate(each.by_seed(rows)).mean:.0f} %, published {each.percent:g} %"
            for each in self.savings
        ]
        return lines + [f"{words[each.holds(rows)]}: {each.name}" for each in self.shapes]


def measure(point: Point, seed: int) -> Row:
    return {**run_contest(msgspec.convert(dict(point), Contest), f"{seed}")}
