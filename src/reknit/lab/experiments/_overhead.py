"""What replacing links costs, by strategy: the shared part of PATH's figures 5, 6 and 7.

All strategies get the same worlds. The overhead of a run is what was said because links were replaced, by the paper's
weights, and the hops of events that went where nobody wanted them. An event can only be misrouted while tables are not
at rest; so events are published only then, and as long before as one may be under way, at the rate of the scenario.
Beside the strategies stands the least that any algorithm would have to say.

Between the loss of a link and its replacement routes towards it lead nowhere; the paper does not say whether events on
these count as misrouted. Here they do. What is left without them is reported besides.

Owns: points, measuring, findings and pictures of these figures. Must not know: which figure it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from reknit.core.overlay.shapes import adjacency
from reknit.lab import plot
from reknit.lab.experiment import Findings, Measured, Point, Row, Rows, Scale, Verdict
from reknit.lab.reduce import Estimate, estimate, group, mean_by_seed, spread
from reknit.lab.replacement import STRATEGIES, Run, bound_of, chance, reach_s, run_world
from reknit.lab.worlds import EVERY_S, FIRST_S, LAST_S, SHAPES, World, draw_publications, draw_world

__all__ = ["EXCEPTIONS", "FEW_PATTERNS", "PAPER", "PATTERNS", "Figure", "measure"]

PAPER: Final = (
    "Minimizing the Reconfiguration Overhead in Content-Based Publish-Subscribe (Cugola, Frey, Murphy, Picco)"
)
PATTERNS: Final = (1, 3, 10)
"""The most that a subscriber wants; the paper has 10."""
FEW_PATTERNS: Final = (min(PATTERNS), max(PATTERNS))
BOUND: Final = "lower bound"
RIVALS: Final = ("strawman", "deferred")
"""Those that path is compared with, setting by setting, whether the paper does so or not."""
EXCEPTIONS: Final = "settings in which path is not ahead"


class Setting(msgspec.Struct, frozen=True):
    """One point."""

    strategy: str
    shape: str
    brokers: int
    patterns: int
    density: float
    publish_per_s: float


@dataclass(frozen=True, slots=True)
class Figure:
    """One of the figures: how dense subscribers are, how many events there are, and what is swept."""

    density: float
    publish_per_s: float
    sizes: Mapping[Scale, tuple[int, ...]]
    sweep_brokers: Mapping[Scale, int]
    sweep_patterns: Mapping[Scale, tuple[int, ...]]
    column: str
    """What is compared: ``overhead`` or ``misrouted``."""
    rivals: tuple[str, ...]
    """Those that the paper says path is ahead of."""
    published: Mapping[str, float]
    """The paper's percentages, for the picture."""
    title: str

    # --- what is measured where

    def points(self, scale: Scale) -> list[Point]:
        return [
            {
                "strategy": strategy,
                "shape": shape,
                "brokers": brokers,
                "patterns": patterns,
                "density": self.density,
                "publish_per_s": self.publish_per_s,
            }
            for shape, brokers, patterns in dict.fromkeys(self._settings(scale))
            for strategy in STRATEGIES
        ]

    def _settings(self, scale: Scale) -> Iterator[tuple[str, int, int]]:
        """The paper's own, by size; then shapes and patterns at one size."""
        for brokers in self.sizes[scale]:
            yield "random", brokers, max(PATTERNS)
        for shape in SHAPES:
            for patterns in self.sweep_patterns[scale]:
                yield shape, self.sweep_brokers[scale], patterns

    # --- what comes out of it

    def reduce(self, rows: Rows) -> Findings:
        """As claimed if on every shape of trees path costs less than its rivals."""
        settings = group(rows, "shape", "patterns", "brokers")
        shapes = group(rows, "shape")
        holds = all(self._is_ahead(some, self.rivals) for some in shapes.values())
        measured = dict(self._main(rows)) | dict(self._by_shape(shapes))
        measured[EXCEPTIONS] = self._behind(settings, self.rivals)
        for rival in RIVALS:
            measured[f"{EXCEPTIONS} of {rival}"] = self._behind(settings, (rival,))
        measured |= dict(self._exceptions(settings))
        return Findings(measured, Verdict.AS_CLAIMED if holds else Verdict.NOT_AS_CLAIMED)

    def _is_ahead(self, rows: Rows, rivals: Sequence[str]) -> bool:
        cost = self._costs(rows)
        return all(cost["path"] < cost[rival] for rival in rivals)

    def _behind(self, settings: Mapping[Any, Rows], rivals: Sequence[str]) -> Measured:
        """In how many settings it is not ahead of all of them."""
        behind = [key for key, some in settings.items() if not self._is_ahead(some, rivals)]
        return Measured(len(behind), f"of {len(settings)}")

    def _costs(self, rows: Rows) -> dict[str, float]:
        return {str(name): _sum(some, self.column) for (name,), some in group(rows, "strategy").items()}

    def _exceptions(self, settings: Mapping[Any, Rows]) -> Iterator[tuple[str, Measured]]:
        """By name: where path is not ahead of each of the others, and by how much."""
        for rival in RIVALS:
            for (shape, patterns, brokers), some in settings.items():
                cost, where = self._costs(some), f"{shape} trees of {brokers}, {patterns} patterns"
                if cost["path"] >= cost[rival]:
                    more, changes = cost["path"] - cost[rival], _sum(some, "changes") / len(cost)
                    unit = f"more per change than {rival}'s {cost[rival] / changes:.2f}"
                    yield f"path is not ahead of {rival}: {where}", Measured(more / changes, unit)

    def _main(self, rows: Rows) -> Iterator[tuple[str, Measured]]:
        own = [row for row in rows if row["shape"] == "random" and row["patterns"] == max(PATTERNS)]
        for name in [*STRATEGIES, BOUND][1:]:
            if self.column == "overhead" or name != BOUND:
                yield name, _measured(self._gains(own, name), self._unit)
        if self.column == "overhead":
            yield "path, best size", self._best(own, "path")
            for name in ("deferred", "path"):
                some = [{**row, "overhead": float(row["said"]) + float(row["obsolete"])} for row in own]
                yield f"{name}, without events into the gap", _measured(self._gains(some, name), self._unit)
        strawman = [row for row in own if row["strategy"] == "strawman"]
        largest = max(int(row["brokers"]) for row in strawman)
        last = [(int(row["seed"]), float(row["messages"])) for row in strawman if row["brokers"] == largest]
        yield f"strawman, messages with {largest} brokers", _measured(last, "messages")

    @property
    def _unit(self) -> str:
        return "% less than the strawman" if self.column == "overhead" else "events per change"

    def _by_shape(self, shapes: Mapping[Any, Rows]) -> Iterator[tuple[str, Measured]]:
        for (shape,), some in shapes.items():
            for (patterns,), few in group(some, "patterns").items():
                for name in ("deferred", "path", "path-batched"):
                    yield f"{name}: {shape} trees, {patterns} patterns", _measured(self._gains(few, name), self._unit)

    def _gains(self, rows: Rows, name: str) -> Iterator[tuple[int, float]]:
        """By world: how much less it costs than the strawman, in percent; or how many events it misroutes."""
        for some in group(rows, "shape", "patterns", "brokers", "seed").values():
            costs = {str(row["strategy"]): row for row in some}
            seed = int(some[0]["seed"])
            if self.column == "misrouted":
                yield seed, float(costs[name]["misrouted"]) / float(costs[name]["changes"])
            elif base := float(costs["strawman"][self.column]):
                cost = float(some[0]["bound"]) if name == BOUND else float(costs[name][self.column])
                yield seed, 100 * (1 - cost / base)

    def _best(self, rows: Rows, name: str) -> Measured:
        by_size = group(rows, "brokers").values()
        return max((_measured(self._gains(some, name), self._unit) for some in by_size), key=lambda each: each.value)

    # --- what it looks like

    def draw(self, rows: Rows) -> Any:
        subtitle = f"{self._subtitle()}; mean and extremes over seeds ({len(group(rows, 'seed'))})"
        figure = plot.new_figure(13.5, 8.6, self.title, subtitle)
        axes = figure.subplot_mosaic([["size", "size", "size"], [*SHAPES]])
        self._draw_sizes(axes["size"], [row for row in rows if row["patterns"] == max(PATTERNS)])
        size = next(row["brokers"] for row in rows if row["shape"] != "random")
        for shape in SHAPES:
            some = [row for row in rows if row["shape"] == shape and row["brokers"] == size]
            self._draw_shape(axes[shape], f"{shape} trees of {size}", some)
        return figure

    def _draw_sizes(self, axes: Any, rows: Rows) -> None:
        plot.dress(axes, f"By size, random trees, {max(PATTERNS)} patterns at most", "brokers", self._label)
        by_size = group([row for row in rows if row["shape"] == "random"], "brokers").items()
        for name in self._drawn():
            curve = {float(str(size)): self._spread(some, name) for (size,), some in by_size}
            plot.band(axes, curve, _COLOURS[name], label=name, **_STYLES[name])
        for name, value in self.published.items():
            axes.axhline(value, color=_COLOURS[name], linestyle=":", linewidth=1.2, label=f"{name}, published")
        axes.legend(frameon=False, fontsize=9, ncols=4)

    def _draw_shape(self, axes: Any, title: str, rows: Rows) -> None:
        """By the patterns that a subscriber has at most, side by side."""
        plot.dress(axes, title, "patterns at most", self._label)
        groups = group(rows, "patterns")
        names = self._drawn()
        for number, name in enumerate(names):
            places = [place + 0.7 * (number / (len(names) - 1) - 0.5) for place in range(len(groups))]
            values = [self._spread(some, name) for some in groups.values()]
            reach = [[each.mean - each.low for each in values], [each.high - each.mean for each in values]]
            style = {"marker": _STYLES[name]["marker"], "markersize": 6, "linestyle": "", "elinewidth": 1.6}
            axes.errorbar(places, [each.mean for each in values], reach, color=_COLOURS[name], **style)
        axes.set_xticks(range(len(groups)), [str(patterns) for (patterns,) in groups])

    def _spread(self, rows: Rows, name: str) -> Estimate:
        return spread([gain for _, gain in self._gains(rows, name)])

    def _subtitle(self) -> str:
        return (
            f"{100 * self.density:g} % of the brokers subscribe, each publishes {self.publish_per_s:g} events/s, "
            f"a link is replaced every {EVERY_S:g} s"
        )

    @property
    def _label(self) -> str:
        return "% less than the strawman" if self.column == "overhead" else "misrouted events per change"

    def _drawn(self) -> list[str]:
        if self.column == "overhead":
            return [*[name for name in STRATEGIES if name != "strawman"], BOUND]
        return list(STRATEGIES)


def measure(point: Point, seed: int) -> Row:
    setting = msgspec.convert(dict(point), Setting)
    names = (seed, setting.shape, setting.brokers, setting.patterns, setting.density)
    world = draw_world(setting.shape, setting.brokers, setting.density, setting.patterns, chance(*names, "world"))
    run = run_world(world, setting.strategy, f"{seed}/{setting.brokers}")
    events, misrouted, obsolete = _misroute(run, world, setting.publish_per_s, names)
    return {
        "overhead": run.weight + misrouted,
        "said": run.weight,
        "misrouted": misrouted,
        "obsolete": obsolete,
        "events": events,
        "bound": bound_of(world),
        "changes": len(world.replacements),
        "messages": sum(run.kinds.values()),
        "bytes": run.link_bytes,
    }


def _misroute(run: Run, world: World, per_s: float, names: tuple[object, ...]) -> tuple[int, int, int]:
    """How many events were published when something moved, and how many hops of theirs were in vain.

    And how many of these would have been in vain even with the link that comes next.
    """
    spans = [(start - reach_s(world), end) for start, end in run.moving()]
    members = sorted(adjacency(world.edges))
    published = draw_publications(members, per_s, FIRST_S - 1, LAST_S + 1, chance(*names, "events"))
    events = misrouted = obsolete = place = 0
    for at, broker, event in published:
        while place < len(spans) and spans[place][1] < at:  # both in the order of time
            place += 1
        if place < len(spans) and spans[place][0] <= at:
            events += 1
            journey = run.travel(at, broker, event)
            misrouted += journey.misrouted
            obsolete += journey.obsolete
    return events, misrouted, obsolete


def _measured(values: Iterable[tuple[int, float]], unit: str) -> Measured:
    found = estimate(mean_by_seed(values))
    return Measured(found.mean, unit, found.low, found.high)


def _sum(rows: Rows, column: str) -> float:
    return sum(float(row[column]) for row in rows)


_COLOURS: Final = dict(zip([*STRATEGIES, BOUND], (plot.INK, *plot.PALETTE), strict=False))
_STYLES: Final[Mapping[str, dict[str, Any]]] = {
    name: {"marker": marker, "markersize": 5, "linewidth": 1.8, "linestyle": "--" if name == BOUND else "-"}
    for name, marker in zip([*STRATEGIES, BOUND], "sov^D_", strict=True)
}
