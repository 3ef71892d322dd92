"""What the figures about EPIDEMIC share: settings, how one parameter is swept for every algorithm, and the picture.

Owns: the points, the quantities and their names, the panels. Must not know: what a figure should look like.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from reknit.lab import plot
from reknit.lab.epidemic import ALGORITHMS, Setting, run_setting
from reknit.lab.experiment import Experiment, Findings, Measured, Point, Published, Row, Rows, Scale, Verdict
from reknit.lab.reduce import estimate, group, mean_by_seed, numbers, spread

__all__ = ["PAPER", "PULLS", "Curves", "curves", "figure_of"]

PAPER: Final = "EPIDEMIC"
PULLS: Final = ("subscriber-pull", "publisher-pull", "combined", "random-pull")
QUICK: Final = Setting(
    "none",
    brokers=10,
    patterns=8,
    subscriptions=2,
    publish_per_s=6.0,
    span_s=1.2,
    drain_s=1.8,
    gossip_s=0.05,
    buffer=400,
)
_QUANTITIES: Final = {
    "delivered": (100, "%"),
    "overhead": (1, "messages"),
    "heartbeats": (1, "messages"),
    "latency_s": (1, "s"),
    "messages": (1, "messages"),
    "per_broker_s": (1, "messages / s"),
}
_PANELS: Final = {
    "delivered": "delivered",
    "overhead": "gossip for each event message",
    "heartbeats": "heartbeats for each event message",
    "latency_s": "seconds until a lost event is back",
    "messages": "gossip for each delivery that came back",
    "per_broker_s": "gossip and heartbeats, each broker, each second",
}

Curves = Mapping[str, Mapping[str, Mapping[float, float]]]
"""By quantity and algorithm: from the parameter to the mean over seeds."""


def figure_of(
    id_: str,
    figure: str,
    claim: str,
    parameter: str,
    values: Mapping[Scale, Sequence[float | int]],
    claims: Mapping[str, Callable[[Curves], bool]],
    title: str,
    **fixed: Any,
) -> Experiment:
    """``claims``: what the paper says in words, and whether it holds."""

    def points(scale: Scale) -> list[Point]:
        base = QUICK if scale is Scale.QUICK else Setting("none")
        return [
            msgspec.to_builtins(msgspec.structs.replace(base, **{**fixed, "algorithm": name, parameter: value}))
            for name in ALGORITHMS
            for value in values[scale]
        ]

    def reduce(rows: Rows) -> Findings:
        found = {
            f"{quantity}: {name}, {parameter} {value:g}": _measured(some, quantity)
            for (name, value), some in group(rows, "algorithm", parameter).items()
            for quantity in _QUANTITIES
        }
        shown = curves(rows, parameter)
        verdicts = {what: holds(shown) for what, holds in claims.items()}
        found |= {what: Measured(float(so), "1: it does, 0: not") for what, so in verdicts.items()}
        return Findings(found, Verdict.AS_CLAIMED if all(verdicts.values()) else Verdict.NOT_AS_CLAIMED)

    return Experiment(
        id=id_,
        paper=PAPER,
        figure=figure,
        claim=claim,
        published={what: Published(1.0, "1: it does, 0: not", "in words") for what in claims},
        seeds={Scale.QUICK: 2, Scale.PAPER: 30},
        points=points,
        measure=measure,
        reduce=reduce,
        plot=lambda rows: _with_claims(draw(rows, parameter, title), curves(rows, parameter), claims),
    )


def _with_claims(figure: Any, shown: Curves, claims: Mapping[str, Callable[[Curves], bool]]) -> Any:
    """What the paper says in words stands below the chart, each with whether it holds here."""
    words = {True: "holds here", False: "does not hold here"}
    plot.remark(figure, [f"{words[holds(shown)]}: {what}" for what, holds in claims.items()])
    return figure


def measure(point: Point, seed: int) -> Row:
    setting = msgspec.convert(dict(point), Setting)
    return {**run_setting(setting, f"{seed}").row()}


def curves(rows: Rows, parameter: str) -> Curves:
    found: dict[str, dict[str, dict[float, float]]] = {quantity: {} for quantity in _QUANTITIES}
    for (name, value), some in group(rows, "algorithm", parameter).items():
        for quantity in _QUANTITIES:
            found[quantity].setdefault(str(name), {})[float(value)] = _measured(some, quantity).value
    return found


def _measured(rows: Rows, quantity: str) -> Measured:
    factor, unit = _QUANTITIES[quantity]
    found = estimate(mean_by_seed((int(row["seed"]), factor * float(row[quantity])) for row in rows))
    return Measured(found.mean, unit, found.low, found.high)


def draw(rows: Rows, parameter: str, title: str) -> Any:
    seeds = len(group(rows, "seed"))
    figure = plot.new_figure(13.5, 9.6, title, f"mean and extremes over seeds ({seeds})")
    for axes, (quantity, label) in zip(figure.subplots(2, 3).flat, _PANELS.items(), strict=True):
        plot.dress(axes, label, parameter.replace("_", " "), "")
        for name, colour in zip(ALGORITHMS, (*plot.PALETTE, plot.INK), strict=True):
            some = [row for row in rows if row["algorithm"] == name]
            if not some or (name == "none" and quantity != "delivered"):
                continue
            curve = {
                float(str(value)): spread(numbers(each, quantity)) for (value,), each in group(some, parameter).items()
            }
            plot.band(axes, curve, colour, label=name, marker="o", markersize=4)
        if quantity == "delivered":
            axes.legend(frameon=False, fontsize=8)
    return figure
