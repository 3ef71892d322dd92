"""CAMCAST's trade-off: what reliability at the root costs in messages, by each of the four parameters.

One parameter is turned at a time, the others stay as in the paper's simulations. Reliability is how often all of the
root's processes get an event, reception how many of them do. The formulas are the corrected ones; that for reception is
for communities in which gossip takes off, and is not asked about others.
"""

from __future__ import annotations

from math import sqrt
from typing import Any, Final

import msgspec

from reknit.community.formulas import Level, fan_out, reception, reliability_as_sent
from reknit.lab import plot
from reknit.lab.communities import Chain, disseminate
from reknit.lab.experiment import Experiment, Findings, Measured, Point, Published, Row, Rows, Scale, Verdict
from reknit.lab.experiments._camcast import PAPER
from reknit.lab.reduce import group, numbers

__all__ = ["EXPERIMENT"]

TURNED: Final[dict[str, tuple[float, ...]]] = {
    "g": (1.0, 2.0, 5.0, 10.0, 20.0),
    "a": (1.0, 2.0, 3.0),
    "z": (1.0, 3.0, 6.0),
    "c": (-2.0, 0.0, 2.0, 5.0),
}
ERRORS: Final = 4.0
FINITE: Final = 0.03
"""By so much a community of a few differs from the formula, which is for many."""
TAKES_OFF: Final = 2.0
"""Messages of one process that arrive: with fewer, how many get an event is decided by the first few who do."""


class Setting(msgspec.Struct, frozen=True):
    turned: str
    value: float
    root: int = 10
    middle: int = 100
    bottom: int = 1000

    def chain(self) -> Chain:
        value: Any = int(self.value) if self.turned == "z" else self.value
        changed: dict[str, Any] = {self.turned: value}
        return Chain((self.root, self.middle, self.bottom), **changed)


def points(scale: Scale) -> list[Point]:
    sizes = {"root": 5, "middle": 20, "bottom": 100} if scale is Scale.QUICK else {}
    return [
        msgspec.structs.asdict(Setting(turned, value, **sizes)) for turned, values in TURNED.items() for value in values
    ]


def measure(point: Point, seed: int) -> Row:
    at = msgspec.convert(dict(point), Setting)
    found = disseminate(at.chain(), f"{seed}/{at.turned}/{at.value}")
    return {
        "reliable": 100.0 * (found.reached[0] == found.members[0]),
        "received": 100 * found.reached[0] / found.members[0],
        "messages": sum(found.inside) + sum(found.upward),
        "inside": sum(found.inside),
        "upward": sum(found.upward),
        "parasites": found.parasites,
    }


def reduce(rows: Rows) -> Findings:
    """As claimed if reliability and reception are what the formulas say for each setting, within chance; and g and c
    buy reliability."""
    found: dict[str, Measured] = {}
    holds = not any(row["parasites"] for row in rows)
    reliable: dict[tuple[str, float], float] = {}
    for (turned, value), some in group(rows, "turned", "value").items():
        name = f"{turned} = {float(value):g}"
        at = msgspec.convert({field: some[0][field] for field in Setting.__struct_fields__}, Setting)
        for column, what, formula in COLUMNS:
            mean, expected = sum(numbers(some, column)) / len(some), 100 * formula(_levels(at), 0)
            found[f"{name}: {what} at the root"] = Measured(mean, "%")
            found[f"{name}: {what} by the formula"] = Measured(expected, "%")
            holds &= _is_near(mean, expected, len(some)) or (column == "received" and not _takes_off(at))
        reliable[str(turned), float(value)] = sum(numbers(some, "reliable")) / len(some)
        found[f"{name}: messages"] = Measured(sum(numbers(some, "messages")) / len(some), "")
    buys = all(reliable[turned, TURNED[turned][-1]] > reliable[turned, TURNED[turned][0]] for turned in "gc")
    return Findings(found, Verdict.AS_CLAIMED if holds and buys else Verdict.NOT_AS_CLAIMED)


COLUMNS: Final = (("reliable", "reliability", reliability_as_sent), ("received", "reception", reception))


def _is_near(mean: float, expected: float, events: int) -> bool:
    chance = ERRORS * sqrt(expected * (100 - expected) / events)
    return abs(mean - expected) <= chance + 100 * FINITE


def _levels(at: Setting) -> list[Level]:
    chain = at.chain()
    return [Level(size, chain.c, chain.g, chain.a, chain.z, chain.p_succ) for size in chain.sizes]


def _takes_off(at: Setting) -> bool:
    return all(fan_out(level.population, level.c) * level.p_succ >= TAKES_OFF for level in _levels(at))


def draw(rows: Rows) -> Any:
    """What c buys is paid for inside communities; what the others buy between them, with few messages."""
    figure = plot.new_figure(
        10.5, 6.5, "What reliability costs", "events that all of the root get; dotted: reception. Labels: the value"
    )
    axes = figure.subplots()
    plot.dress(
        axes, "", "messages for one event that pay for it: inside communities for c, between them for g, a, z", "%"
    )
    for number, ((turned,), line) in enumerate(group(rows, "turned").items()):
        paid = "inside" if turned == "c" else "upward"
        costs, reliable, received = [], [], []
        for (value,), some in group(line, "value").items():
            at = [sum(numbers(some, column)) / len(some) for column in (paid, "reliable", "received")]
            costs.append(at[0])
            reliable.append(at[1])
            received.append(at[2])
            axes.annotate(
                f"{float(value):g}", at[:2], fontsize=8, color=plot.INK, xytext=(3, -9), textcoords="offset points"
            )
        color = plot.PALETTE[number]
        axes.plot(costs, reliable, marker="osv^"[number], color=color, label=str(turned))
        axes.plot(costs, received, linestyle=":", color=color)
    axes.set_xscale("log")
    axes.legend(frameon=False, fontsize=9, loc="lower right")
    return figure


EXPERIMENT: Final = Experiment(
    id="camcast-tuning",
    paper=PAPER,
    figure="Abstract; section 4.5",
    claim="Processes can trade, for each community, the message complexity for the reliability of dissemination.",
    published={
        f"g = 5: {what} at the root": Published(None, "%", "no number; the trade-off is described in words")
        for _, what, _ in COLUMNS
    },
    seeds={Scale.QUICK: 20, Scale.PAPER: 100},
    points=points,
    measure=measure,
    reduce=reduce,
    plot=draw,
)
