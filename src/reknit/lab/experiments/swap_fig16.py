"""SWAP, Figure 16: what it costs to remove a broker, by the subscriptions of each of its clients.

The sessions of its clients move to its neighbour. Only the clients of brokers that leave have the number of
subscriptions that is swept; all others have the default one, for what they want is not moved. (So a network can be
simulated in which a client has ten thousand.) All is given for one client, since brokers differ in how many they have.
"""

from __future__ import annotations

import random
from typing import Any, Final

import msgspec

from reknit.core.routing.strategies import RoutingName
from reknit.lab import plot
from reknit.lab.crowd import Crowd
from reknit.lab.draining import PARTS, find_leavers, run_drains, with_subscriptions
from reknit.lab.experiment import Experiment, Findings, Measured, Point, Published, Row, Rows, Scale, Verdict
from reknit.lab.experiments._swap import (
    BROKERS,
    FORWARDING,
    GLOBAL,
    KB,
    MB,
    PAPER,
    PERIOD_S,
    SUBSCRIPTIONS,
    TOTAL,
    by,
    measured,
    slopes,
)
from reknit.lab.population import KINDS_STEP, draw_population
from reknit.lab.reduce import group, numbers, spread

__all__ = ["EXPERIMENT"]

PARAMETER: Final = "subscriptions"
MANY_KINDS: Final = 160 * KINDS_STEP
"""So many that clients with ten thousand want mostly different things: what several want is told once."""
FEWER_BROKERS: Final = 20
"""Where many subscriptions spread: in forwarding, nobody besides the two takes part."""
LINEAR_MAX: Final = 1.25
"""It counts as linear if no subscription costs more than so many times what another does."""
CONSTANT: Final = "without subscriptions, one broker"
MOST: Final = "10000 subscriptions of each client, one broker"


class Setting(msgspec.Struct, frozen=True):
    """One point."""

    routing: RoutingName = FORWARDING
    brokers: int = BROKERS
    subscriptions: int = SUBSCRIPTIONS
    kinds: int = 16 * KINDS_STEP
    drains: int = 4
    period_s: float = PERIOD_S


def points(scale: Scale) -> list[Point]:
    if scale is Scale.QUICK:
        small = Setting(brokers=12, kinds=KINDS_STEP, drains=2)
        some = [msgspec.structs.replace(small, subscriptions=count) for count in (0, 5, 20, 80)]
        some += [msgspec.structs.replace(small, subscriptions=count, routing=GLOBAL) for count in (0, 20)]
    else:
        few = Setting(brokers=FEWER_BROKERS, drains=1, kinds=MANY_KINDS)
        some = [Setting(subscriptions=count) for count in (0, 1, 10, 100)]
        some += [msgspec.structs.replace(few, subscriptions=count) for count in (0, 100, 1000, 10_000)]
        some += [Setting(subscriptions=count, routing=GLOBAL) for count in (0, 10)]
    return [msgspec.structs.asdict(each) for each in some]


def measure(point: Point, seed: int) -> Row:
    """In bytes, for one broker that leaves and for one client of it."""
    at = msgspec.convert(dict(point), Setting)
    name = f"{seed}/{at.brokers}"
    rng = random.Random(f"{name}/drains")
    population = draw_population(at.brokers, SUBSCRIPTIONS, at.kinds, random.Random(f"{name}/population"))
    leavers = find_leavers(population, at.drains, rng)
    crowd = Crowd(with_subscriptions(population, leavers, at.subscriptions, rng), at.routing, name)
    found = run_drains(crowd, leavers, at.period_s)
    total = sum(found.bytes.values()) + found.copies_bytes
    return {
        **{f"{part}_bytes": found.bytes[part] / found.clients for part in PARTS},
        "pub_bytes": found.copies_bytes / found.clients,
        f"{TOTAL}_bytes": total / found.clients,
        "broker_bytes": total,
        "clients": found.clients,
        "milliseconds": 1000 * found.seconds,
    }


# --- what comes out of it


def reduce(rows: Rows) -> Findings:
    """As claimed if each subscription costs about the same, however many there are."""
    found = _named(rows)
    holds = True
    for (routing, brokers), line in group(rows, "routing", "brokers").items():
        for (count,), some in group(line, PARAMETER).items():
            name = f"{routing}, {brokers} brokers: {count} {PARAMETER}"
            found[name] = measured(some, f"{TOTAL}_bytes", KB, "KB for each client")
        rise = slopes(by(line, PARAMETER, f"{TOTAL}_bytes"))
        found[f"{routing}, {brokers} brokers: one subscription"] = Measured(rise[-1] / KB, "KB")
        holds &= max(rise) < LINEAR_MAX * min(rise)
    return Findings(found, Verdict.AS_CLAIMED if holds else Verdict.NOT_AS_CLAIMED)


def _named(rows: Rows) -> dict[str, Measured]:
    found: dict[str, Measured] = {}
    own = [row for row in rows if row["routing"] == FORWARDING]
    found[CONSTANT] = measured([row for row in own if row[PARAMETER] == 0], "broker_bytes", KB, "KB")
    if most := [row for row in own if row[PARAMETER] == 10_000]:
        found[MOST] = measured(most, "broker_bytes", MB, "MB")
    found["clients of a broker that leaves"] = measured(own, "clients", unit="")
    found["until it has left"] = measured(own, "milliseconds", unit="ms")
    return found


# --- what it looks like


def draw(rows: Rows) -> Any:
    subtitle = f"for each client that moves; mean and extremes over seeds ({len(group(rows, 'seed'))})"
    figure = plot.new_figure(9.5, 6.0, "A broker that leaves, by what its clients subscribe to", subtitle)
    axes = figure.subplots()
    plot.dress(axes, "", "subscriptions of each client", "bytes for each client")
    for number, ((routing, brokers), line) in enumerate(group(rows, "routing", "brokers").items()):
        curve = {
            float(str(count)): spread(numbers(some, f"{TOTAL}_bytes"))
            for (count,), some in group(line, PARAMETER).items()
        }
        style = {"marker": "osv^"[number % 4], "markersize": 5, "linewidth": 1.8}
        plot.band(axes, curve, plot.PALETTE[number], label=f"{routing}, {brokers} brokers", **style)
    axes.set_xscale("symlog", linthresh=1.0)
    axes.set_yscale("log")
    axes.legend(frameon=False, fontsize=9)
    return figure


EXPERIMENT: Final = Experiment(
    id="swap-fig16",
    paper=PAPER,
    figure="Figure 16",
    claim="What it costs to remove a broker grows linearly with the subscriptions of its clients.",
    published={
        CONSTANT: Published(0.11, "KB", "section VI"),
        MOST: Published(10.0, "MB", "section VI, more than"),
    },
    seeds={Scale.QUICK: 3, Scale.PAPER: 30},
    points=points,
    measure=measure,
    reduce=reduce,
    plot=draw,
)
