"""PATH, Figure 4: how many events arrive while links are replaced, and that all do afterwards.

Half of the brokers form a stable core, whose clients keep their subscriptions; the clients of the others come and go.
The share of the events delivered to the core, by the time at which they were published, drops when a link is lost and
must return to exactly 1 as soon as routes have followed; and it must be 1 before the first and behind the last change.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from reknit.core.overlay.shapes import adjacency
from reknit.lab import plot
from reknit.lab.experiment import Experiment, Findings, Measured, Point, Published, Row, Rows, Scale, Verdict
from reknit.lab.experiments._overhead import PAPER
from reknit.lab.reduce import Estimate, estimate, group, mean_by_seed, spread
from reknit.lab.replacement import REPLACED_AFTER_S, Churn, chance, reach_s, run_world
from reknit.lab.worlds import CHARACTERS, World, draw_publications, draw_world

__all__ = ["EXPERIMENT"]

STRATEGIES: Final = ("strawman", "deferred", "path", "path-batched")
SPAN_S: Final = 10.0
BIN_S: Final = 0.05
CHURN_PER_S: Final = 1.0
"""Subscriptions and unsubscriptions of each broker outside of the core; the paper does not say."""
PATTERNS: Final = 10
GRID: Final[Mapping[Scale, tuple[int, float]]] = {Scale.QUICK: (40, 5.0), Scale.PAPER: (100, 50.0)}
"""Brokers, and events per second and broker."""

AT_REST: Final = "delivered while nothing moves"
LOWEST: Final = "delivered, lowest"
OVERALL: Final = "delivered, overall"


class Setting(msgspec.Struct, frozen=True):
    strategy: str
    brokers: int
    publish_per_s: float


def points(scale: Scale) -> list[Point]:
    brokers, per_s = GRID[scale]
    return [{"strategy": strategy, "brokers": brokers, "publish_per_s": per_s} for strategy in STRATEGIES]


def measure(point: Point, seed: int) -> Row:
    setting = msgspec.convert(dict(point), Setting)
    rng = chance(seed, setting.brokers, "world")
    world, churn = _draw(setting.brokers, rng)
    run = run_world(world, setting.strategy, f"{seed}/{setting.brokers}", churn)
    members = sorted(adjacency(world.edges))
    published = draw_publications(members, setting.publish_per_s, 0.0, SPAN_S, chance(seed, "events"))
    counts = [[0, 0] for _ in range(round(SPAN_S / BIN_S))]  # by time: owed, delivered
    owed_at_rest = got_at_rest = 0
    spans = list(_moving(world))
    for at, broker, event in published:
        owed = [name for name, bits in world.wants.items() if bits & event]
        got = run.travel(at, broker, event).delivered
        place = counts[int(at / BIN_S)]
        place[0] += len(owed)
        place[1] += len(got)
        if not any(start <= at <= end for start, end in spans):
            owed_at_rest += len(owed)
            got_at_rest += len(got)
    shares = [got / owed if owed else 1.0 for owed, got in counts]
    return {
        "at_rest": got_at_rest / owed_at_rest,
        "owed_at_rest": owed_at_rest,
        "lowest": min(shares),
        "overall": sum(got for _, got in counts) / sum(owed for owed, _ in counts),
        **{f"at_{place * BIN_S:.2f}": share for place, share in enumerate(shares)},
    }


def _draw(brokers: int, rng: random.Random) -> tuple[World, list[Churn]]:
    """Half of the brokers are the core; half of the core, and half of the others, have subscribers."""
    world = draw_world("random", brokers, 0.5, PATTERNS, rng)
    members = sorted(adjacency(world.edges))
    core = dict.fromkeys(rng.sample(members, brokers // 2))
    stable = {name: bits for name, bits in world.wants.items() if name in core}
    fickle = [name for name in world.wants if name not in core]
    return msgspec.structs.replace(world, wants=stable), sorted(_churn(fickle, rng), key=lambda each: each.at_s)


def _churn(fickle: list[str], rng: random.Random) -> Iterator[Churn]:
    for name in fickle:
        wanted: dict[int, None] = {}
        at = 0.0
        while (at := at + rng.expovariate(CHURN_PER_S)) < SPAN_S:
            character = rng.choice(list(wanted)) if len(wanted) >= PATTERNS else rng.randrange(CHARACTERS)
            yield Churn(at, name, character, character not in wanted)
            if character in wanted:
                del wanted[character]
            else:
                wanted[character] = None


def _moving(world: World) -> Iterator[tuple[float, float]]:
    """From as long before a loss as an event may be under way, until routes have followed along the longest path."""
    reach = reach_s(world)
    for each in world.replacements:
        yield each.at_s - reach, each.at_s + REPLACED_AFTER_S + 3 * reach


# --- what comes out of it


def reduce(rows: Rows) -> Findings:
    """As claimed if the losses end with each change: nothing is lost while nothing moves."""
    path = [row for row in rows if row["strategy"] == "path"]
    holds = all(row["at_rest"] == 1.0 for row in rows)
    drops = all(float(row["lowest"]) < 1.0 for row in path)
    measured = {
        AT_REST: _measured(path, "at_rest", 100, "%"),
        LOWEST: _measured(path, "lowest", 100, "%"),
        OVERALL: _measured(path, "overall", 100, "%"),
    }
    for name in STRATEGIES:
        some = [row for row in rows if row["strategy"] == name]
        measured[f"{OVERALL}: {name}"] = _measured(some, "overall", 100, "%")
        measured[f"{AT_REST}: {name}"] = _measured(some, "at_rest", 100, "%")
    return Findings(measured, Verdict.AS_CLAIMED if holds and drops else Verdict.NOT_AS_CLAIMED)


def _measured(rows: Rows, column: str, factor: float, unit: str) -> Measured:
    found = estimate(mean_by_seed((int(row["seed"]), factor * float(row[column])) for row in rows))
    return Measured(found.mean, unit, found.low, found.high)


# --- what it looks like


def draw(rows: Rows) -> Any:
    seeds, brokers = len(group(rows, "seed")), rows[0]["brokers"]
    subtitle = f"{brokers} brokers, half of them a stable core; mean and extremes over seeds ({seeds})"
    figure = plot.new_figure(12.5, 8.6, "Events are lost while a link is replaced, and none afterwards", subtitle)
    panels = figure.subplots(len(STRATEGIES), 1, sharex=True)
    for axes, name, colour in zip(panels, STRATEGIES, plot.PALETTE, strict=False):
        some = [row for row in rows if row["strategy"] == name]
        plot.dress(axes, name, "", "delivered")
        plot.band(axes, _curve(some), colour, linewidth=1.4)
        axes.set_ylim(-0.02, 1.04)
    panels[-1].set_xlabel("seconds", color=plot.INK)
    return figure


def _curve(rows: Rows) -> dict[float, Estimate]:
    places = [round(place * BIN_S, 2) for place in range(round(SPAN_S / BIN_S))]
    return {place: spread([float(row[f"at_{place:.2f}"]) for row in rows]) for place in places}


EXPERIMENT: Final = Experiment(
    id="path-fig4",
    paper=PAPER,
    figure="Figure 4",
    claim="The share of events that are delivered drops temporarily when a link is replaced, and then comes back to "
    "exactly 100 %.",
    published={
        AT_REST: Published(100.0, "%", "section 5.2, exactly"),
        LOWEST: Published(None, "%", "no number; it drops"),
    },
    seeds={Scale.QUICK: 3, Scale.PAPER: 30},
    points=points,
    measure=measure,
    reduce=reduce,
    plot=draw,
)
