"""What the figures of CAMCAST's implementation share: three memberships on real sockets, by how likely events rise.

The paper has c = 0, a = 2, z = 4 and sizes of 84, 27 and 7 (unstructured), 79, 28 and 7 (the others), and one event for
each point, over ten or five runs. Here one gathering is one seed, and each probability has several events on it. Beside
it the abstract's claim is tried, with as many members passing events upward as 7 % of all are, and c = 5: with c = 0 a
community of seven gossips to one other each, and no choice of the rest makes up for that.

Owns: the points, what is measured, the form of a figure. Must not know: which column a figure shows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from reknit.lab import plot
from reknit.lab.experiment import Experiment, Findings, Measured, Point, Published, Row, Rows, Scale, Verdict
from reknit.lab.experiments._camcast import PAPER
from reknit.lab.gathered import try_gathering
from reknit.lab.reduce import estimate, group, numbers, spread

__all__ = ["MEMBERSHIPS", "PROBABILITIES", "LiveFigure", "converges", "headline", "rises_with", "sooner"]

MEMBERSHIPS: Final = ("scamp", "semi-structured", "structured")
PROBABILITIES: Final = (0.01, 0.05, 0.1, 0.2, 0.5, 1.0)
QUICK_PROBABILITIES: Final = (0.05, 0.3, 1.0)
SIZES: Final[dict[str, tuple[int, int, int]]] = {
    "scamp": (7, 27, 84),
    "semi-structured": (7, 28, 79),
    "structured": (7, 28, 79),
}
QUICK_SIZES: Final = (4, 8, 18)
FORWARDERS: Final = (0.0, 0.07 * 118 / 2, 0.07 * 118 / 2)
"""Expected in each of the two lower communities: together as many as 7 % of all processes of the paper are."""
ENOUGH_C: Final = 5.0
LETTERS: Final = {"d": 1, "a": 0}


def points(scale: Scale) -> list[Point]:
    quick = scale is Scale.QUICK
    found: list[Point] = []
    for membership in MEMBERSHIPS:
        root, middle, bottom = QUICK_SIZES if quick else SIZES[membership]
        found.append({"membership": membership, "root": root, "middle": middle, "bottom": bottom, "quick": quick})
    return found


def measure(point: Point, seed: int) -> Row:
    sizes = (int(point["root"]), int(point["middle"]), int(point["bottom"]))
    chosen = QUICK_PROBABILITIES if point["quick"] else PROBABILITIES
    events = 4 if point["quick"] else 10
    membership = str(point["membership"])
    plain = try_gathering(sizes, membership, 0.0, chosen, events, seed)
    row: Row = {"parasites": plain.parasites, "settled": plain.settled}
    for probability, levels in plain.levels.items():
        for letter, level in LETTERS.items():
            for name, value in asdict(levels[level]).items():
                row[f"{letter}_{name}_{probability:g}"] = value
    sure = try_gathering(sizes, membership, ENOUGH_C, (), events, seed, FORWARDERS)
    row["parasites"] = plain.parasites + sure.parasites
    row["forwarding"] = sure.forwarding
    for letter, level in LETTERS.items():
        row[f"{letter}_headline"] = sure.few[level].reliability
    return row


def probabilities(rows: Rows) -> list[float]:
    return sorted(float(name.rpartition("_")[2]) for name in rows[0] if name.startswith("d_reception_"))


def mean(rows: Rows, column: str) -> float:
    return sum(numbers(rows, column)) / len(rows)


# --- when a claim holds

Claim = Callable[[Rows, str], bool]
"""By the rows of one membership, for a community."""


def converges(rows: Rows, letter: str) -> bool:
    """Where everybody passes events upward nearly everybody gets them, and no fewer than with less."""
    last, first = (mean(rows, f"{letter}_reception_{at:g}") for at in (1.0, probabilities(rows)[0]))
    return last >= max(NEARLY_ALL, first)


NEARLY_ALL: Final = 0.99
"""What counts as the 100 % at which the paper's curves end."""


def rises_with(column: str, sign: float = 1.0) -> Claim:
    """More likely to rise: more of it; or less, with a negative sign."""

    def holds(rows: Rows, letter: str) -> bool:
        first, last = (mean(rows, f"{letter}_{column}_{at:g}") for at in (probabilities(rows)[0], 1.0))
        return sign * (last - first) > 0.0

    return holds


def headline(rows: Rows, letter: str) -> bool:
    """With 7 % of the processes passing events upward, each event reaches all of a community."""
    return mean(rows, f"{letter}_headline") == 1.0


def sooner(rows: Rows, letter: str) -> bool:
    """The more likely events rise, the sooner they are there; beside the lowest one at which they are at all."""
    found = [rounds for at in probabilities(rows) if (rounds := mean(rows, f"{letter}_rounds_{at:g}"))]
    return bool(found) and found[-1] <= found[0]


@dataclass(frozen=True, slots=True)
class LiveFigure:
    id: str
    figure: str
    letter: str
    column: str
    claim: str
    title: str
    unit: str
    holds: Claim
    published: Mapping[str, Published]
    factor: float = 100.0

    def experiment(self) -> Experiment:
        return Experiment(
            id=self.id,
            paper=PAPER,
            figure=self.figure,
            claim=self.claim,
            published=self.published,
            seeds={Scale.QUICK: 1, Scale.PAPER: 10},
            points=points,
            measure=measure,
            reduce=self.reduce,
            plot=self.draw,
        )

    def reduce(self, rows: Rows) -> Findings:
        found: dict[str, Measured] = {}
        held = not any(row["parasites"] for row in rows)
        for membership in MEMBERSHIPS:
            some = [row for row in rows if row["membership"] == membership]
            held &= self.holds(some, self.letter)
            for at in probabilities(some):
                each = estimate([self.factor * value for value in numbers(some, self._name(at))])
                found[f"{membership}, p_sel {at:g}"] = Measured(each.mean, self.unit, each.low, each.high)
            few = f"{membership}, a few forwarding, c = 5"
            found[f"{few}: reliability"] = Measured(100 * mean(some, f"{self.letter}_headline"), "% of events")
            found[f"{few}: how many do"] = Measured(100 * mean(some, "forwarding"), "% of processes")
        found["parasite events"] = Measured(sum(numbers(rows, "parasites")), "in all runs")
        return Findings(found, Verdict.AS_CLAIMED if held else Verdict.NOT_AS_CLAIMED)

    def _name(self, probability: float) -> str:
        return f"{self.letter}_{self.column}_{probability:g}"

    def draw(self, rows: Rows) -> Any:
        subtitle = f"community {self.letter}; mean and extremes over {len(group(rows, 'seed'))} gatherings"
        figure = plot.new_figure(9.5, 6.0, self.title, subtitle)
        axes = figure.subplots()
        plot.dress(axes, "", "how likely a member passes an event upward", self.unit)
        for number, membership in enumerate(MEMBERSHIPS):
            some = [row for row in rows if row["membership"] == membership]
            curve = {
                at: spread([self.factor * value for value in numbers(some, self._name(at))])
                for at in probabilities(some)
            }
            plot.band(axes, curve, plot.PALETTE[number], label=membership, marker="osv"[number])
        axes.set_xscale("log")
        axes.legend(frameon=False, fontsize=9)
        return figure
