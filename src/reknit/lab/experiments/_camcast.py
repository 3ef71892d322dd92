"""What the figures of CAMCAST's simulations share: one chain of communities, by the share of processes that have
failed.

Owns: the points, what is measured at each, and the form of a figure with a curve for each community. Must not know:
which column a figure shows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import log, sqrt
from typing import Any, Final

import msgspec

from reknit.community.formulas import fan_out, reliability_inside
from reknit.lab import plot
from reknit.lab.communities import Chain, broadcast, disseminate
from reknit.lab.experiment import Experiment, Findings, Measured, Point, Published, Row, Rows, Scale, Verdict
from reknit.lab.reduce import estimate, group, numbers, spread

__all__ = [
    "LEVELS",
    "PAPER",
    "SIZES",
    "Figure",
    "SetUp",
    "as_reliable_as_theory",
    "column",
    "loses_little",
    "measured",
    "of_alive",
    "plain_reception",
    "share",
]

PAPER: Final = "CAMCAST"
SIZES: Final = (10, 100, 1000)
QUICK_SIZES: Final = (5, 20, 100)
LEVELS: Final = ("a", "d", "g")
"""The paper's names for the three communities, the root first."""


class SetUp(msgspec.Struct, frozen=True):
    """One point. ``failed``: the share of processes; ``weak``: or how likely one takes another for failed."""

    failed: float
    weak: bool = False
    root: int = SIZES[0]
    middle: int = SIZES[1]
    bottom: int = SIZES[2]


def points(scale: Scale, weak: bool) -> list[Point]:
    quick = scale is Scale.QUICK
    shares = [0.0, 0.3, 0.6] if quick else [tenth / 10 for tenth in range(10)]
    sizes = QUICK_SIZES if quick else SIZES
    return [msgspec.structs.asdict(SetUp(failed, weak, *sizes)) for failed in shares]


def stillborn(scale: Scale) -> list[Point]:
    return points(scale, weak=False)


def weakly(scale: Scale) -> list[Point]:
    return points(scale, weak=True)


def measure(point: Point, seed: int) -> Row:
    """One event, published by a process of g that lives; and one in plain gossip among all processes, beside it."""
    at = msgspec.convert(dict(point), SetUp)
    chain = Chain(sizes=(at.root, at.middle, at.bottom), failed=at.failed, weak=at.weak)
    name = f"{seed}/{at.failed}"
    found, plain = disseminate(chain, name), broadcast(chain, f"{name}/plain")
    row: Row = {"rounds": found.rounds, "parasites": found.parasites}
    for level, letter in enumerate(LEVELS):
        row[f"alive_{letter}"] = found.members[level]
        row[f"reached_{letter}"] = found.reached[level]
        row[f"inside_{letter}"] = found.inside[level]
        row[f"upward_{letter}"] = found.upward[level]
    row["plain_alive"], row["plain_reached"] = sum(plain.members), sum(plain.reached)
    return row


# --- what a figure shows


Value = Callable[[Row, str], float]
"""From a row and a community to what the figure shows of it."""


def column(name: str) -> Value:
    return lambda row, letter: float(row[f"{name}_{letter}"])


def share(row: Row, letter: str) -> float:
    """Of the processes that live, in percent."""
    return 100 * float(row[f"reached_{letter}"]) / float(row[f"alive_{letter}"])


def of_alive(row: Row, letter: str) -> float:
    """100 if all that live were reached, else 0: the mean is the paper's reliability."""
    return 100.0 * (row[f"reached_{letter}"] == row[f"alive_{letter}"])


def as_reliable_as_theory(rows: Rows) -> bool:
    """Where nothing has failed, g is: ``exp(-exp(-c))`` with the c that the channel leaves, within what seeds allow."""
    whole = [row for row in rows if row["failed"] == 0.0]
    size = int(whole[0]["bottom"])
    expected = reliability_inside(fan_out(size, TERMS.c) * TERMS.p_succ - log(size))
    found = sum(of_alive(row, "g") for row in whole) / 100 / len(whole)
    return found >= expected - ERRORS * sqrt(expected * (1 - expected) / len(whole))


ERRORS: Final = 4.0
"""Standard errors that chance is allowed."""
TERMS: Final = Chain()


def measured(rows: Rows, value: Value, letter: str, unit: str) -> Measured:
    found = estimate([value(row, letter) for row in rows])
    return Measured(found.mean, unit, found.low, found.high)


@dataclass(frozen=True, slots=True)
class Figure:
    """``holds``: when the claim does, by all rows."""

    id: str
    figure: str
    claim: str
    title: str
    unit: str
    letters: tuple[str, ...]
    value: Value
    holds: Callable[[Rows], bool]
    published: Mapping[str, Published]
    weak: bool = False
    logarithmic: bool = False
    plain: bool = False
    """Whether plain gossip among all processes is drawn beside it."""

    def experiment(self) -> Experiment:
        return Experiment(
            id=self.id,
            paper=PAPER,
            figure=self.figure,
            claim=self.claim,
            published=self.published,
            seeds={Scale.QUICK: 10, Scale.PAPER: 100},
            points=weakly if self.weak else stillborn,
            measure=measure,
            reduce=self.reduce,
            plot=self.draw,
        )

    def reduce(self, rows: Rows) -> Findings:
        found: dict[str, Measured] = {}
        for (failed,), some in group(rows, "failed").items():
            for letter in self.letters:
                found[f"{letter}, {100 * float(failed):g} % failed"] = measured(some, self.value, letter, self.unit)
            found[f"plain gossip, {100 * float(failed):g} % failed: reception"] = Measured(plain_reception(some), "%")
        found["parasite events"] = Measured(sum(numbers(rows, "parasites")), "in all runs")
        clean = not any(row["parasites"] for row in rows)
        return Findings(found, Verdict.AS_CLAIMED if clean and self.holds(rows) else Verdict.NOT_AS_CLAIMED)

    def draw(self, rows: Rows) -> Any:
        subtitle = f"mean and extremes over {len(group(rows, 'seed'))} events"
        figure = plot.new_figure(9.5, 6.0, self.title, subtitle)
        axes = figure.subplots()
        how = "share of processes taken for failed" if self.weak else "share of processes that have failed"
        plot.dress(axes, "", f"{how} (%)", self.unit)
        for number, letter in enumerate(self.letters):
            curve = {
                100 * float(failed): spread([self.value(row, letter) for row in some])
                for (failed,), some in group(rows, "failed").items()
            }
            plot.band(axes, curve, plot.PALETTE[number], label=f"community {letter}", marker="osv"[number])
        if self.plain:
            beside = {100 * float(failed): plain_reception(some) for (failed,), some in group(rows, "failed").items()}
            axes.plot(list(beside), list(beside.values()), color=plot.INK, linestyle="--", label="plain gossip, all")
        if self.logarithmic:
            plot.log_numbers(axes)
        axes.legend(frameon=False, fontsize=9)
        return figure


def plain_reception(rows: Rows) -> float:
    """In percent, of plain gossip among all processes."""
    return 100 * sum(numbers(rows, "plain_reached")) / sum(numbers(rows, "plain_alive"))


def loses_little(rows: Rows) -> bool:
    """With at most 30 % failed, what is lost by that is at most 5 points more than plain gossip's."""
    by_share = {float(failed): some for (failed,), some in group(rows, "failed").items()}
    return all(
        _reception(by_share[0.0]) - _reception(some) <= 5.0 + plain_reception(by_share[0.0]) - plain_reception(some)
        for failed, some in by_share.items()
        if failed <= 0.3
    )


def _reception(rows: Rows) -> float:
    """Of all processes of all communities, in percent."""
    reached = sum(sum(numbers(rows, f"reached_{letter}")) for letter in LEVELS)
    return 100 * reached / sum(sum(numbers(rows, f"alive_{letter}")) for letter in LEVELS)
