"""Recovery that chooses by itself, beside the best fixed choice of algorithm and interval, in places that differ.

What is best where is not the same: a pull towards subscribers needs subscribers, a push suffers from many patterns, a
short interval costs messages and a long one time. In each *scene* every fixed algorithm runs at several intervals. The
best fixed choice of a scene is, by delivery, the one that delivers most in time; by cost, the cheapest of those that
deliver nearly as much. ``auto`` is told nothing of the scene, and is to be within a margin of both.

Owns: the scenes, the margins, the picture. Must not know: how ``auto`` chooses.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from reknit.lab import plot
from reknit.lab.epidemic import FIXED, Setting
from reknit.lab.experiment import Experiment, Findings, Measured, Point, Published, Rows, Scale, Verdict
from reknit.lab.experiments._epidemic import PAPER, measure
from reknit.lab.reduce import estimate, group, mean_by_seed

__all__ = ["EXPERIMENT"]

DELIVERY_MARGIN: Final = 0.002
"""By so much the best fixed choice may deliver more in time."""

COST_MARGIN: Final = 1.1
"""So many times the cheapest may be cheaper, of those that deliver as much."""

NEARLY: Final = 0.01
"""By so much less a fixed choice may deliver than the best, and still count as one that delivers as much."""

_BASE: Final = Setting("auto", brokers=30, span_s=12.0, drain_s=6.0)
SCENES: Final[dict[str, dict[str, float | int]]] = {
    "loss 5 %": {"loss": 0.05},
    "loss 10 %": {},
    "loss 30 %": {"loss": 0.3},
    "50 events/s": {"publish_per_s": 50.0, "span_s": 4.0},
    "1 subscription": {"subscriptions": 1},
    "10 subscriptions": {"subscriptions": 10},
    "12 patterns": {"patterns": 12},
    "1 pattern per event": {"matched": 1},
    "1 to 9 patterns per event": {"matched": 9},
}
"""What is other than by default: what is lost, subscribers per pattern, patterns per event, and how much there is."""

INTERVALS_S: Final = {Scale.QUICK: (0.1,), Scale.PAPER: (0.03, 0.1, 0.4)}
COMPARED: Final = {Scale.QUICK: ("publisher-pull", "combined"), Scale.PAPER: FIXED}
_QUICK: Final = Setting("auto", brokers=8, patterns=6, publish_per_s=20.0, span_s=2.0, drain_s=5.0)
_QUICK_SCENES: Final = {"loss 10 %": {}, "1 subscription": {"subscriptions": 1}}


def points(scale: Scale) -> list[Point]:
    base, scenes = (_QUICK, _QUICK_SCENES) if scale is Scale.QUICK else (_BASE, SCENES)
    found: list[Point] = []
    for scene, changes in scenes.items():
        choices = [(name, interval) for name in COMPARED[scale] for interval in INTERVALS_S[scale]]
        for name, interval in [("auto", base.gossip_s), *choices]:
            setting = msgspec.structs.replace(base, **changes, algorithm=name, gossip_s=interval)
            found.append({"scene": scene, **msgspec.to_builtins(setting)})
    return found


DELIVERS: Final = f"no fixed choice delivers {100 * DELIVERY_MARGIN:g} % more in time"
COSTS: Final = f"none that delivers as much costs less than 1/{COST_MARGIN:g}"


def reduce(rows: Rows) -> Findings:
    found: dict[str, Measured] = {}
    margins = []
    for (scene,), some in group(rows, "scene").items():
        delivered, cost = _means(some, "in_time"), _means(some, "overhead", "heartbeats")
        auto = next(choice for choice in delivered if choice[0] == "auto")
        fixed = [choice for choice in delivered if choice is not auto]
        most = max(fixed, key=delivered.__getitem__)
        enough = [choice for choice in fixed if delivered[choice] >= delivered[most] - NEARLY]
        least = min(enough, key=cost.__getitem__)
        margins.append((delivered[most] - delivered[auto], cost[auto] / cost[least]))
        for what, choice in (("auto", auto), ("most delivered", most), ("least cost", least)):
            named = what if choice is auto else f"{what}: {choice[0]} every {choice[1]:g} s"
            found[f"{scene}: in time, {named}"] = Measured(100 * delivered[choice], "%")
            found[f"{scene}: overhead, {named}"] = Measured(cost[choice], "messages")
    worst_delivery, worst_cost = max(less for less, _ in margins), max(times for _, times in margins)
    found["delivered less than the best fixed choice, at most"] = Measured(100 * worst_delivery, "%")
    found["overhead beside the cheapest that delivers as much, at most"] = Measured(worst_cost, "times")
    verdicts = {DELIVERS: worst_delivery <= DELIVERY_MARGIN, COSTS: worst_cost <= COST_MARGIN}
    found |= {what: Measured(float(so), "1: it does, 0: not") for what, so in verdicts.items()}
    return Findings(found, Verdict.AS_CLAIMED if all(verdicts.values()) else Verdict.NOT_AS_CLAIMED)


def _means(rows: Rows, *quantities: str) -> dict[tuple[str, float], float]:
    """By algorithm and interval: the sum of the quantities, the mean over seeds."""
    return {
        (str(name), float(interval)): estimate(
            mean_by_seed((int(row["seed"]), sum(float(row[each]) for each in quantities)) for row in some)
        ).mean
        for (name, interval), some in group(rows, "algorithm", "gossip_s").items()
    }


def draw(rows: Rows) -> Any:
    """Each choice is a point: what it delivers in time, and what it costs; one panel for each scene."""
    scenes = group(rows, "scene")
    across = min(3, len(scenes))
    down = -(-len(scenes) // across)
    title = "Recovery that chooses by itself, beside each fixed algorithm and interval"
    figure = plot.new_figure(13.5, 1.6 + 3.4 * down, title, f"mean over seeds ({len(group(rows, 'seed'))})")
    colours = dict(zip(("auto", *FIXED), (plot.INK, *plot.PALETTE), strict=False))
    panels = list(figure.subplots(down, across, squeeze=False).flat)
    for axes, ((scene,), some) in zip(panels, scenes.items(), strict=False):
        plot.dress(axes, str(scene), "gossip and heartbeats for each event message", "delivered within 5 s")
        delivered, cost = _means(some, "in_time"), _means(some, "overhead", "heartbeats")
        for name, colour in colours.items():
            places = sorted((cost[choice], delivered[choice]) for choice in delivered if choice[0] == name)
            if places:
                axes.plot(*zip(*places, strict=True), color=colour, marker="o", markersize=5, label=name)
        axes.set_xscale("log")
    panels[0].legend(frameon=False, fontsize=8)
    for axes in panels[len(scenes) :]:
        axes.set_visible(False)
    return figure


EXPERIMENT: Final[Experiment] = Experiment(
    id="epidemic-choice",
    paper=PAPER,
    figure="beyond the paper",
    claim="Recovery that chooses by what it has seen is within a margin of the best fixed choice, in many places.",
    published={what: Published(1.0, "1: it does, 0: not", "asked for") for what in (DELIVERS, COSTS)},
    seeds={Scale.QUICK: 1, Scale.PAPER: 30},
    points=points,
    measure=measure,
    reduce=reduce,
    plot=draw,
)
