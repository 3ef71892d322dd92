"""Recovery that chooses by itself: what arrives within five seconds, and at what price, beside each fixed algorithm."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from reknit.lab import plot
from reknit.lab.epidemic import FIXED, Setting
from reknit.lab.experiment import Experiment, Findings, Measured, Point, Published, Rows, Scale, Verdict
from reknit.lab.experiments._epidemic import PAPER, measure
from reknit.lab.reduce import estimate, group, mean_by_seed, numbers, spread

__all__ = ["EXPERIMENT"]

TARGETS: Final = {0.05: 0.9999, 0.1: 0.999, 0.2: 0.999, 0.3: 0.99}
"""By the share that links lose: what has to arrive within five seconds."""

MESSAGES_MAX: Final = 2.0
"""For each delivery that was lost and comes back."""

MARGIN: Final = 0.01
"""By so much the best fixed algorithm may deliver more."""

NAMES: Final = ("auto", *FIXED)
PLACES: Final = {
    Scale.QUICK: Setting("auto", brokers=8, patterns=6, publish_per_s=20.0, span_s=2.0, drain_s=5.0, gossip_s=0.1),
    Scale.PAPER: Setting("auto", brokers=30, publish_per_s=50.0, span_s=10.0, drain_s=6.0),
}
LOSSES: Final = {Scale.QUICK: (0.05, 0.3), Scale.PAPER: tuple(TARGETS)}
COMPARED: Final = {Scale.QUICK: ("auto", "combined"), Scale.PAPER: NAMES}
_PANELS: Final = {
    "in_time": (100, "%", "delivered within 5 s"),
    "messages": (1, "messages", "messages for each delivery that came back"),
    "latency_s": (1, "s", "seconds until a lost event is back"),
}


def points(scale: Scale) -> list[Point]:
    return [
        msgspec.to_builtins(msgspec.structs.replace(PLACES[scale], algorithm=name, loss=loss))
        for name in COMPARED[scale]
        for loss in LOSSES[scale]
    ]


def _claim(loss: float) -> str:
    return f"with {100 * loss:g} % lost, {100 * TARGETS[loss]:g} % arrive within 5 s"


FEW: Final = f"at most {MESSAGES_MAX:g} messages for each delivery that came back"
CLOSE: Final = f"no fixed algorithm delivers {100 * MARGIN:g} % more in time"


def reduce(rows: Rows) -> Findings:
    found = {
        f"{quantity}: {name}, loss {loss:g}": _measured(some, quantity)
        for (name, loss), some in group(rows, "algorithm", "loss").items()
        for quantity in _PANELS
    }
    means = {key: each.value for key, each in found.items()}
    losses = [float(loss) for (loss,) in group(rows, "loss")]
    names = [str(name) for (name,) in group(rows, "algorithm")]
    in_time = {(name, loss): means[f"in_time: {name}, loss {loss:g}"] / 100 for name in names for loss in losses}
    verdicts = {_claim(loss): in_time["auto", loss] >= TARGETS[loss] for loss in losses}
    verdicts[FEW] = all(means[f"messages: auto, loss {loss:g}"] <= MESSAGES_MAX for loss in losses)
    verdicts[CLOSE] = all(in_time["auto", loss] >= in_time[name, loss] - MARGIN for name in names for loss in losses)
    found |= {what: Measured(float(so), "1: it does, 0: not") for what, so in verdicts.items()}
    return Findings(found, Verdict.AS_CLAIMED if all(verdicts.values()) else Verdict.NOT_AS_CLAIMED)


def _measured(rows: Rows, quantity: str) -> Measured:
    factor, unit, _ = _PANELS[quantity]
    found = estimate(mean_by_seed((int(row["seed"]), factor * float(row[quantity])) for row in rows))
    return Measured(found.mean, unit, found.low, found.high)


def draw(rows: Rows) -> Any:
    seeds = len(group(rows, "seed"))
    title = "Recovery that chooses by itself, beside each fixed algorithm"
    figure = plot.new_figure(13.5, 5.2, title, f"mean and extremes over seeds ({seeds})")
    for axes, (quantity, (_, _, label)) in zip(figure.subplots(1, len(_PANELS)), _PANELS.items(), strict=True):
        plot.dress(axes, label, "loss", "")
        for name, colour in zip(NAMES, plot.PALETTE, strict=True):
            some = [row for row in rows if row["algorithm"] == name]
            curve = {float(str(loss)): spread(numbers(each, quantity)) for (loss,), each in group(some, "loss").items()}
            if curve:
                plot.band(axes, curve, colour, label=name, marker="o", markersize=4)
        if quantity == "in_time":
            axes.legend(frameon=False, fontsize=8)
    return figure


EXPERIMENT: Final[Experiment] = Experiment(
    id="epidemic-auto",
    paper=PAPER,
    figure="beyond the paper",
    claim="Recovery that chooses its algorithm and its interval by what it has seen brings back as much as the best.",
    published={what: Published(1.0, "1: it does, 0: not", "asked for") for what in (*map(_claim, TARGETS), FEW, CLOSE)},
    seeds={Scale.QUICK: 1, Scale.PAPER: 30},
    points=points,
    measure=measure,
    reduce=reduce,
    plot=draw,
)
