"""EPIDEMIC, section 5: what its discussion says beside the curves, each in the one setting that decides it.

Owns: the settings, and what each sentence says of them. Must not know: how an algorithm works.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from reknit.lab import plot
from reknit.lab.epidemic import FIXED, Setting
from reknit.lab.experiment import Experiment, Findings, Measured, Point, Published, Rows, Scale, Verdict
from reknit.lab.experiments._epidemic import PAPER, measure
from reknit.lab.reduce import estimate, group, mean_by_seed

__all__ = ["EXPERIMENT"]

_BASES: Final = {
    Scale.QUICK: Setting("push", brokers=8, patterns=8, publish_per_s=10.0, span_s=1.2, drain_s=1.8, gossip_s=0.1),
    Scale.PAPER: Setting("push", brokers=50, span_s=8.0, drain_s=4.0),
}
_SMALL: Final = {Scale.QUICK: 8, Scale.PAPER: 60}
"""A buffer that is too small: events leave it before they are asked for."""

Scenes = Mapping[str, Mapping[str, float | int | str]]
Seen = Mapping[tuple[str, str], float]
"""By scene and quantity: the mean over seeds."""

_QUANTITIES: Final = {"delivered": (100, "%"), "overhead": (1, "messages"), "latency_s": (1, "s")}


def _scenes(scale: Scale) -> Scenes:
    small, base = _SMALL[scale], _BASES[scale]
    loaded = {"publish_per_s": 10 * base.publish_per_s, "span_s": base.span_s / 4}
    return {
        "push": {},
        "push, 1 pattern per event": {"matched": 1},
        "push, half as many patterns": {"patterns": base.patterns // 2},
        "combined, small buffer, first in first out": {"algorithm": "combined", "buffer": small, "cache": "en-route"},
        "combined, small buffer, strangers first": {
            "algorithm": "combined",
            "buffer": small,
            "cache": "strangers-first",
        },
        "combined, small buffer, by chance": {"algorithm": "combined", "buffer": small, "cache": "probabilistic"},
        "push, small buffer, short interval": {"buffer": small},
        "push, small buffer, long interval": {"buffer": small, "gossip_s": 4 * base.gossip_s},
        "push, large buffer, long interval": {"gossip_s": 4 * base.gossip_s},
        "push, passed on by half": {"forward": 0.5},
        "push, passed on by all": {"forward": 1.0},
        **{f"{name}, loss 5 %": {"algorithm": name, "loss": 0.05} for name in ("none", *FIXED)},
        **{f"{name}, high load": {"algorithm": name, **loaded} for name in ("push", "combined")},
    }


def points(scale: Scale) -> list[Point]:
    base = _BASES[scale]
    return [
        {"scene": scene, **msgspec.to_builtins(msgspec.structs.replace(base, **changes))}
        for scene, changes in _scenes(scale).items()
    ]


def _matched_dominates(seen: Seen) -> bool:
    """Twice as many of either: an event matches one to three, and so two in the mean, where it does not match one."""
    return seen["push, 1 pattern per event", "latency_s"] < seen["push, half as many patterns", "latency_s"]


def _strangers_first(seen: Seen) -> bool:
    small = "combined, small buffer, "
    return seen[f"{small}strangers first", "delivered"] > seen[f"{small}first in first out", "delivered"]


def _by_chance(seen: Seen) -> bool:
    small = "combined, small buffer, "
    return seen[f"{small}by chance", "delivered"] > seen[f"{small}first in first out", "delivered"]


def _buffer_for_interval(seen: Seen) -> bool:
    """A larger buffer with a longer interval delivers as much as the opposite, for less."""
    large, small = "push, large buffer, long interval", "push, small buffer, short interval"
    cheaper = seen[large, "overhead"] < seen[small, "overhead"]
    return cheaper and seen[large, "delivered"] >= seen[small, "delivered"]


def _less_loss(seen: Seen) -> bool:
    return all(seen[f"{name}, loss 5 %", "delivered"] > seen["none, loss 5 %", "delivered"] for name in FIXED)


def _forward(seen: Seen) -> bool:
    return seen["push, passed on by all", "delivered"] > seen["push, passed on by half", "delivered"]


def _combined_ahead(seen: Seen) -> bool:
    return seen["combined, high load", "delivered"] > seen["push, high load", "delivered"]


def _limited(seen: Seen) -> bool:
    return all(seen[f"{name}, high load", "overhead"] <= 0.3 for name in ("push", "combined"))


CLAIMS: Final[Mapping[str, Callable[[Seen], bool]]] = {
    "what slows push down is the patterns of an event, more than those of the system": _matched_dominates,
    "to discard first what is neither published nor wanted here delivers more": _strangers_first,
    "so does to discard by chance": _by_chance,
    "a larger buffer allows for a longer interval, and so for less gossip": _buffer_for_interval,
    "with 5 % lost, too, every algorithm delivers more than none": _less_loss,
    "the more gossip of push is passed on, the more is delivered": _forward,
    "at high load combined pull is ahead of push": _combined_ahead,
    "at high load the overhead is 30 % or less": _limited,
}


def _seen(rows: Rows) -> dict[tuple[str, str], float]:
    return {
        (str(scene), quantity): estimate(mean_by_seed((int(row["seed"]), float(row[quantity])) for row in some)).mean
        for (scene,), some in group(rows, "scene").items()
        for quantity in _QUANTITIES
    }


def reduce(rows: Rows) -> Findings:
    seen = _seen(rows)
    found = {
        f"{quantity}: {scene}": Measured(_QUANTITIES[quantity][0] * value, _QUANTITIES[quantity][1])
        for (scene, quantity), value in seen.items()
    }
    verdicts = {what: holds(seen) for what, holds in CLAIMS.items()}
    found |= {what: Measured(float(so), "1: it does, 0: not") for what, so in verdicts.items()}
    return Findings(found, Verdict.AS_CLAIMED if all(verdicts.values()) else Verdict.NOT_AS_CLAIMED)


def draw(rows: Rows) -> Any:
    seen, scenes = _seen(rows), [str(scene) for (scene,) in group(rows, "scene")]
    title = "What the discussion says beside the curves"
    figure = plot.new_figure(13.5, 7.6, title, f"mean over seeds ({len(group(rows, 'seed'))})")
    places = range(len(scenes))
    panels = figure.subplots(1, len(_QUANTITIES), sharey=True)
    for axes, (quantity, (factor, unit)) in zip(panels, _QUANTITIES.items(), strict=True):
        plot.dress(axes, quantity.removesuffix("_s"), unit, "")
        axes.barh(places, [factor * seen[scene, quantity] for scene in scenes], color=plot.PALETTE[0])
        axes.set_yticks(places, scenes, fontsize=8)
    words = {True: "holds here", False: "does not hold here"}
    plot.remark(figure, [f"{words[holds(seen)]}: {what}" for what, holds in CLAIMS.items()])
    return figure


EXPERIMENT: Final[Experiment] = Experiment(
    id="epidemic-discussion",
    paper=PAPER,
    figure="section 5",
    claim="Patterns of an event, what is discarded first, buffer and interval together, and load each matter as said.",
    published={what: Published(1.0, "1: it does, 0: not", "in words") for what in CLAIMS},
    seeds={Scale.QUICK: 1, Scale.PAPER: 30},
    points=points,
    measure=measure,
    reduce=reduce,
    plot=draw,
)
