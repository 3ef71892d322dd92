"""CAMCAST's trade-off: what reception at the root costs in messages, by each of the four parameters.

One parameter is turned at a time, the others stay as in the paper's simulations. The formula is the corrected one.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from reknit.community.formulas import Level, reception
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
        "received": 100 * found.reached[0] / found.members[0],
        "messages": sum(found.inside) + sum(found.upward),
        "upward": sum(found.upward),
        "parasites": found.parasites,
    }


def reduce(rows: Rows) -> Findings:
    """As claimed if reception at the root is what the formula says for each setting, within chance, and g buys it."""
    found: dict[str, Measured] = {}
    holds = not any(row["parasites"] for row in rows)
    by_setting: dict[tuple[str, float], float] = {}
    for (turned, value), some in group(rows, "turned", "value").items():
        mean = sum(numbers(some, "received")) / len(some)
        expected = 100 * _expected(msgspec.convert({k: some[0][k] for k in Setting.__struct_fields__}, Setting))
        by_setting[str(turned), float(value)] = mean
        found[f"{turned} = {float(value):g}: reception at the root"] = Measured(mean, "%")
        found[f"{turned} = {float(value):g}: by the formula"] = Measured(expected, "%")
        found[f"{turned} = {float(value):g}: messages"] = Measured(sum(numbers(some, "messages")) / len(some), "")
        chance = ERRORS * (expected * (100 - expected) / len(some)) ** 0.5
        holds &= abs(mean - expected) <= chance + 100 * FINITE
    buys = by_setting["g", TURNED["g"][-1]] > by_setting["g", TURNED["g"][0]]
    return Findings(found, Verdict.AS_CLAIMED if holds and buys else Verdict.NOT_AS_CLAIMED)


def _expected(at: Setting) -> float:
    chain = at.chain()
    levels = [Level(size, chain.c, chain.g, chain.a, chain.z, chain.p_succ) for size in chain.sizes]
    return reception(levels, 0)


def draw(rows: Rows) -> Any:
    """What c buys is paid for inside communities; what the others buy between them, with few messages."""
    figure = plot.new_figure(
        11.5, 6.0, "What reliability costs", "reception at the root; labels: the parameter's value"
    )
    inside, between = figure.subplots(1, 2, sharey=True)
    plot.dress(inside, "c", "messages for one event", "% of the root's processes that get it")
    plot.dress(between, "g, a and z", "of these, messages from one community to the next", "")
    for number, ((turned,), line) in enumerate(group(rows, "turned").items()):
        axes, column = (inside, "messages") if turned == "c" else (between, "upward")
        curve = []
        for (value,), some in group(line, "value").items():
            at = (sum(numbers(some, column)) / len(some), sum(numbers(some, "received")) / len(some))
            curve.append(at)
            axes.annotate(
                f"{float(value):g}", at, fontsize=8, color=plot.INK, xytext=(3, -9), textcoords="offset points"
            )
        style = {"marker": "osv^"[number], "color": plot.PALETTE[number], "label": str(turned)}
        axes.plot([x for x, _ in curve], [y for _, y in curve], **style)
    for axes in (inside, between):
        axes.legend(frameon=False, fontsize=9, loc="lower right")
    return figure


EXPERIMENT: Final = Experiment(
    id="camcast-tuning",
    paper=PAPER,
    figure="Abstract; section 4.5",
    claim="Processes can trade, for each community, the message complexity for the reliability of dissemination.",
    published={"g = 5: reception at the root": Published(None, "%", "no number; the trade-off is described in words")},
    seeds={Scale.QUICK: 20, Scale.PAPER: 100},
    points=points,
    measure=measure,
    reduce=reduce,
    plot=draw,
)
