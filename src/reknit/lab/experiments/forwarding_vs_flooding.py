"""Subscription forwarding beside flooding: how many messages does an event cost, and what does knowing the way cost?

Each run is a random tree of brokers. A share of them, the *density*, has a client that wants the one topic; each has
asked for it in one of four widths (``severity >= 1`` to ``severity >= 4``), so that there is something to cover. Events
of this topic, all severe enough for everybody, come from random brokers. The trace tells for each event over which
links it went and to whom it was delivered. Beside it stands the least that is possible on this tree: the links of the
smallest subtree that connects the publisher's broker with the brokers that want the event.

The price of forwarding is counted on the same runs: entries that a broker holds on behalf of others, messages about
subscriptions, and bytes. All strategies get the same trees, subscriptions and events for the same seed.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from reknit.core.overlay.shapes import Edge, adjacency
from reknit.core.routing.strategies import RoutingName
from reknit.lab import plot
from reknit.lab.experiment import Experiment, Findings, Measured, Point, Published, Row, Rows, Scale, Verdict
from reknit.lab.reduce import Estimate, estimate, group, mean_by_seed, numbers, spread
from reknit.lab.scenarios import QuietNetwork, count_kinds, quiet_options, tree_of
from reknit.lab.subtree import subtree_links
from reknit.model.event import Event, EventId
from reknit.model.pattern import Pattern
from reknit.trace.records import Kind, Record

__all__ = ["EXPERIMENT"]

STRATEGIES: Final[Mapping[str, tuple[RoutingName, bool]]] = {
    "flooding": ("flooding", False),
    "forwarding": ("subscription-forwarding", False),
    "forwarding with covering": ("subscription-forwarding", True),
    "global table": ("global-table", False),
}
FORWARDING: Final = ("forwarding", "forwarding with covering")
WIDTHS: Final = 4
TOPIC: Final = "plant/hall/machine"
PAYLOAD_BYTES: Final = 100
LOW_DENSITY_MAX: Final = 0.1
"""Up to here an event counts as wanted by few."""


class Setting(msgspec.Struct, frozen=True):
    """One point."""

    strategy: str
    brokers: int
    density: float
    events: int


class World(msgspec.Struct, frozen=True):
    """All that the seed decides: the same for each strategy."""

    edges: list[Edge]
    wants: dict[str, Pattern]  # broker -> what its client wants
    events: list[tuple[str, Event]]  # the broker where it is published, and the event


# --- what is measured where


_GRID: Final[Mapping[Scale, tuple[tuple[int, ...], tuple[float, ...], int]]] = {
    Scale.QUICK: ((10, 30, 100), (0.02, 0.1, 0.3, 1.0), 10),
    Scale.PAPER: ((10, 20, 50, 100, 200), (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0), 20),
}
"""Numbers of brokers, densities, events in each run."""


def points(scale: Scale) -> list[Point]:
    """A density of less than one broker is none, so small networks have fewer points."""
    sizes, densities, events = _GRID[scale]
    return [
        {"strategy": strategy, "brokers": brokers, "density": density, "events": events}
        for brokers in sizes
        for density in densities
        if density * brokers >= 1
        for strategy in STRATEGIES
    ]


def measure(point: Point, seed: int) -> Row:
    setting = msgspec.convert(dict(point), Setting)
    world = draw(setting, random.Random(f"{seed}/{setting.brokers}/{setting.density}/world"))
    routing, covering = STRATEGIES[setting.strategy]
    network = QuietNetwork(world.edges, quiet_options(routing, covering), f"{seed}/{setting.brokers}")
    before = network.link_bytes
    for broker, pattern in world.wants.items():
        network.subscribe(broker, f"reader at {broker}", pattern)
    network.settle()
    subscribed = network.link_bytes
    for broker, event in world.events:
        network.publish(broker, "writer", event)
    network.settle()
    return {
        "subscribers": len(world.wants),
        **_count_events(world, network.records),
        **_count_price(setting, network),
        "subscription_bytes": subscribed - before,
        "bytes_per_event": (network.link_bytes - subscribed) / setting.events,
    }


def draw(setting: Setting, rng: random.Random) -> World:
    brokers, edges = tree_of("random", setting.brokers, rng)
    chosen = rng.sample(brokers, round(setting.density * setting.brokers))
    wants = {broker: Pattern.parse(TOPIC, f"severity >= {rng.randint(1, WIDTHS)}") for broker in chosen}
    events = [
        (rng.choice(brokers), Event(TOPIC, rng.randbytes(PAYLOAD_BYTES), {"severity": rng.randint(WIDTHS, 9)}))
        for _ in range(setting.events)
    ]
    return World(edges, wants, events)


def _count_events(world: World, records: Iterable[Record]) -> Row:
    """Event by event, so that one that went too far cannot hide behind another that did not get there."""
    forwarded: Counter[EventId] = Counter()
    delivered: dict[EventId, list[str]] = {}
    for record in records:
        if record.event is not None and record.kind is Kind.FORWARDED:
            forwarded[record.event.id] += 1
        elif record.event is not None and record.kind is Kind.DELIVERED:
            delivered.setdefault(record.event.id, []).append(record.node)
    neighbours = adjacency(world.edges)
    ideal = {event.id: subtree_links(neighbours, broker, world.wants) for broker, event in world.events}
    owed = sorted(world.wants)
    return {
        "messages_per_event": forwarded.total() / len(ideal),
        "ideal_per_event": sum(ideal.values()) / len(ideal),
        "excess_max": max(forwarded[each] - least for each, least in ideal.items()),
        "messages_max": max(forwarded[each] for each in ideal),
        "messages_min": min(forwarded[each] for each in ideal),
        "events_misdelivered": sum(sorted(delivered.get(each, [])) != owed for each in ideal),
    }


def _count_price(setting: Setting, network: QuietNetwork) -> Row:
    kinds = count_kinds(network.records)
    routes = kinds[Kind.ROUTE_ADDED] - kinds[Kind.ROUTE_REMOVED]
    return {
        "routes_per_broker": routes / setting.brokers,
        "known_per_broker": len(network.ear.known) / setting.brokers,
        "subscription_messages": network.ear.subscription_messages,
    }


# --- what it says

EXCESS: Final = "most messages beyond the ideal, forwarding"
ABOVE: Final = "runs in which forwarding sends more than flooding"
FLOODED: Final = "messages per event of flooding, over brokers less one"
MISDELIVERED: Final = "events delivered wrongly, all strategies"
SAVED: Final = f"messages saved against flooding, density up to {LOW_DENSITY_MAX:.0%}, largest network"
SHRUNK: Final = "table entries with covering, over those without"
TOLD: Final = "subscription messages of forwarding, over those of a global table"


def reduce(rows: Rows) -> Findings:
    """As claimed if no event of forwarding went over a link that it did not need, and every event arrived."""
    forwarding = [row for row in rows if row["strategy"] in FORWARDING]
    flooding = [row for row in rows if row["strategy"] == "flooding"]
    excess = max(numbers(forwarding, "excess_max"))
    above = _runs_above_flooding(rows)
    flooded = [float(row["messages_per_event"]) / (float(row["brokers"]) - 1) for row in flooding]
    wrong = sum(numbers(rows, "events_misdelivered"))
    holds = excess == 0 and above == 0 and wrong == 0 and _flooding_goes_everywhere(flooding)
    measured = {
        EXCESS: Measured(excess, "messages"),
        ABOVE: Measured(above, "runs"),
        FLOODED: Measured(estimate(flooded).mean, "", min(flooded), max(flooded)),
        MISDELIVERED: Measured(wrong, "events"),
        SAVED: _measured(_saved(rows), "%"),
        SHRUNK: _measured(_ratios(rows, "routes_per_broker", "forwarding with covering", "forwarding")),
        TOLD: _measured(_ratios(rows, "subscription_messages", "forwarding", "global table")),
    }
    return Findings(measured, Verdict.AS_CLAIMED if holds else Verdict.NOT_AS_CLAIMED)


def _measured(values: Iterable[tuple[int, float]], unit: str = "") -> Measured:
    found = estimate(mean_by_seed(values))
    return Measured(found.mean, unit, found.low, found.high)


def _pairs(rows: Rows) -> list[dict[str, Row]]:
    """The runs of the same world side by side, by strategy."""
    worlds = group(rows, "brokers", "density", "seed").values()
    return [{str(row["strategy"]): row for row in world} for world in worlds]


def _runs_above_flooding(rows: Rows) -> int:
    return sum(
        float(world[name]["messages_per_event"]) > float(world["flooding"]["messages_per_event"])
        for world in _pairs(rows)
        for name in FORWARDING
    )


def _flooding_goes_everywhere(flooding: Rows) -> bool:
    return all(row["messages_min"] == row["messages_max"] == int(row["brokers"]) - 1 for row in flooding)


def _saved(rows: Rows) -> Iterator[tuple[int, float]]:
    """In percent, for each run with few subscribers in the largest network."""
    largest = max(int(row["brokers"]) for row in rows)
    for world in _pairs([row for row in rows if row["brokers"] == largest]):
        run = world["forwarding"]
        if float(run["density"]) <= LOW_DENSITY_MAX:
            yield int(run["seed"]), 100 * (1 - float(run["messages_per_event"]) / (largest - 1))


def _ratios(rows: Rows, column: str, one: str, other: str) -> Iterator[tuple[int, float]]:
    for world in _pairs(rows):
        if below := float(world[other][column]):
            yield int(world[other]["seed"]), float(world[one][column]) / below


# --- what it looks like

DENSITY: Final = "density: share of brokers with a subscriber"
_BROAD: Final[dict[str, Any]] = {"linewidth": 9, "alpha": 0.25, "solid_capstyle": "butt"}
_COLOURS: Final = dict(zip(STRATEGIES, (plot.INK, *plot.PALETTE), strict=False))
_MARKERS: Final = dict(zip(STRATEGIES, "sovD", strict=True))


def draw_figure(rows: Rows) -> Any:
    title = "An event travels only where somebody wants it"
    seeds = len(group(rows, "seed"))
    subtitle = (
        f"Subscription forwarding beside flooding in random trees of brokers; mean and extremes over seeds ({seeds})"
    )
    figure = plot.new_figure(12.5, 8.6, title, subtitle)
    messages, payback, entries, told = figure.subplots(2, 2).flat
    largest = max(int(row["brokers"]) for row in rows)
    priced = [_with_price(row, world["flooding"]) for world in _pairs(rows) for row in world.values()]
    priced = [row for row in priced if row["brokers"] == largest and row["strategy"] != "flooding"]
    _draw_messages(messages, rows)
    plot.dress(payback, f"When it has paid off, {largest} brokers", DENSITY, "events until it has saved its bytes")
    _draw_strategies(payback, [row for row in priced if float(row["density"]) < 1], "payback")
    never = {"ha": "right", "va": "center", "transform": payback.get_xaxis_transform(), "fontsize": 9}
    payback.text(1.12, 0.2, "never at 100 %:\nall want all", color=plot.INK, **never)
    plot.dress(entries, f"The price in memory, {largest} brokers", DENSITY, "entries per broker on behalf of others")
    _draw_strategies(entries, priced, "held")
    plot.dress(told, f"The price in messages, {largest} brokers", DENSITY, "messages per subscription")
    _draw_strategies(told, priced, "told")
    for axes in figure.axes:
        plot.as_percent(axes, sorted({float(row["density"]) for row in rows}))
        plot.log_numbers(axes)
    return figure


def _with_price(row: Row, flooding: Row) -> Row:
    """Beside what was counted: what a broker holds, what a subscription costs, and after how many events it pays."""
    saved = float(flooding["bytes_per_event"]) - float(row["bytes_per_event"])
    return {
        **row,
        "held": float(row["routes_per_broker"]) + float(row["known_per_broker"]),
        "told": float(row["subscription_messages"]) / float(row["subscribers"]),
        "payback": float(row["subscription_bytes"]) / saved if saved > 0 else math.inf,
    }


def _curve(rows: Rows, column: str) -> dict[float, Estimate]:
    return {float(density): spread(numbers(each, column)) for (density,), each in group(rows, "density").items()}


def _draw_messages(axes: Any, rows: Rows) -> None:
    shares = f"{DENSITY} (at least one broker)"
    plot.dress(axes, "Messages that an event costs", shares, "messages per event")
    sizes = sorted({int(row["brokers"]) for row in rows})
    for size, colour in zip(sizes, plot.shades(len(sizes)), strict=True):
        some = [row for row in rows if row["brokers"] == size]
        forwarding = [row for row in some if row["strategy"] == "forwarding"]
        flooding = _curve([row for row in some if row["strategy"] == "flooding"], "messages_per_event")
        ideal = _curve(forwarding, "ideal_per_event")
        axes.plot(list(ideal), [each.mean for each in ideal.values()], color=colour, **_BROAD)
        axes.plot(list(flooding), [each.mean for each in flooding.values()], color=colour, linestyle=(0, (4, 2)))
        plot.band(axes, _curve(forwarding, "messages_per_event"), colour, marker="o", markersize=4.5, linewidth=1.8)
        place = {"xytext": (7, 0), "textcoords": "offset points", "va": "center"}
        axes.annotate(f"{size} brokers", (1.0, size - 1), color=colour, fontsize=9, **place)
    _explain_lines(axes)


def _explain_lines(axes: Any) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=plot.INK, linestyle=(0, (4, 2)), label="flooding"),
        Line2D([], [], color=plot.INK, marker="o", markersize=4.5, linewidth=1.8, label="subscription forwarding"),
        Line2D([], [], color=plot.INK, **_BROAD, label="smallest subtree"),
    ]
    axes.legend(handles=handles, frameon=False, fontsize=9, loc="lower left")


def _draw_strategies(axes: Any, rows: Rows, column: str) -> None:
    for name in [name for name in STRATEGIES if name != "flooding"]:
        curve = _curve([row for row in rows if row["strategy"] == name], column)
        style = {"marker": _MARKERS[name], "markersize": 5, "linewidth": 1.8, "label": name}
        plot.band(axes, curve, _COLOURS[name], **style)
    axes.legend(frameon=False, fontsize=9)


_IMPLIED: Final = "no number; the claim implies {}"

EXPERIMENT: Final = Experiment(
    id="forwarding-vs-flooding",
    paper="Minimizing the Reconfiguration Overhead in Content-Based Publish-Subscribe (Cugola, Frey, Murphy, Picco)",
    figure="Section 2, Figure 1",
    claim="Subscription forwarding sends an event only along routes towards subscribers: it needs as many messages as "
    "the smallest subtree that connects them with the publisher has links, and never more than flooding, which needs "
    "one for each broker but the first.",
    published={
        EXCESS: Published(None, "messages", _IMPLIED.format(0)),
        ABOVE: Published(None, "runs", _IMPLIED.format(0)),
        FLOODED: Published(None, "", _IMPLIED.format(1)),
        MISDELIVERED: Published(None, "events", _IMPLIED.format(0)),
        SAVED: Published(None, "%", "no number"),
        SHRUNK: Published(None, "", "no number"),
        TOLD: Published(None, "", "no number"),
    },
    seeds={Scale.QUICK: 3, Scale.PAPER: 30},
    points=points,
    measure=measure,
    reduce=reduce,
    plot=draw_figure,
)
