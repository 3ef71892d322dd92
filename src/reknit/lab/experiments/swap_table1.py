"""SWAP, Table I: which promises hold while links are replaced under concurrent traffic, for each strategy here.

The paper classifies algorithms by what is known of them; here each promise is measured. A promise counts as kept by a
strategy if its checker has found nothing in any run. All strategies get the same trees, clients and replacements.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from reknit.lab import plot
from reknit.lab.experiment import Experiment, Findings, Measured, Point, Published, Row, Rows, Scale, Verdict
from reknit.lab.experiments._swap import PAPER
from reknit.lab.promises import STRATEGIES, SWAP, run_under_traffic
from reknit.lab.reduce import group
from reknit.lab.replacement import chance
from reknit.lab.worlds import draw_world

__all__ = ["EXPERIMENT", "PROMISES", "SUBSCRIPTIONS"]

PROMISES: Final[dict[str, tuple[str, str]]] = {
    "guaranteed delivery": ("lost", "owed"),
    "no duplicates": ("duplicated", "delivered"),
    "FIFO": ("not_fifo", "delivered"),
    "causal order": ("not_causal", "delivered"),
    "minimal delay": ("late", "delivered"),
}
"""By promise: what breaks it, and out of what."""
SUBSCRIPTIONS: Final = {"subscriptions in time": ("told_late", "told")}
"""The paper's minimal delay is for subscriptions, too; they are counted for themselves, since nobody measures these."""
KEPT: Final = "promises kept"
GRID: Final[Mapping[Scale, tuple[int, int]]] = {Scale.QUICK: (8, 4), Scale.PAPER: (12, 8)}
"""Brokers, and how many links are replaced in each run."""
COLUMNS: Final = (
    *("published", "owed", "delivered", "changes", "copies", "ordered", "told"),
    *(broken for broken, _ in (PROMISES | SUBSCRIPTIONS).values()),
)


class Setting(msgspec.Struct, frozen=True):
    """One point."""

    strategy: str
    brokers: int
    changes: int


def points(scale: Scale) -> list[Point]:
    brokers, changes = GRID[scale]
    return [{"strategy": strategy, "brokers": brokers, "changes": changes} for strategy in STRATEGIES]


def measure(point: Point, seed: int) -> Row:
    at = msgspec.convert(dict(point), Setting)
    name = f"{seed}/{at.brokers}"
    world = draw_world("random", at.brokers, 0.0, 1, chance(name, "promises"))
    world = msgspec.structs.replace(world, replacements=world.replacements[: at.changes])
    found = run_under_traffic(world, at.strategy, name)
    return {
        **{column: getattr(found, column) for column in COLUMNS},
        "late_ms_max": 1000 * found.late_s_max,
        "told_late_ms_max": 1000 * found.told_late_s_max,
        **{f"example_{broken}": found.examples.get(broken, "") for broken, _ in (PROMISES | SUBSCRIPTIONS).values()},
    }


# --- what comes out of it


def reduce(rows: Rows) -> Findings:
    """As claimed if the swap keeps all promises, and no other strategy does."""
    found: dict[str, Measured] = {}
    kept: dict[str, int] = {}
    for name, some in _by_strategy(rows):
        kept[name] = sum(_sum(some, broken) == 0 for broken, _ in PROMISES.values())
        found[f"{KEPT}: {name}"] = Measured(kept[name], f"of {len(PROMISES)}")
    for name, some in _by_strategy(rows):
        for promise, (broken, of) in (PROMISES | SUBSCRIPTIONS).items():
            found[f"{promise}: {name}"] = Measured(_sum(some, broken), _unit(some, broken, of))
        found[f"late by at most: {name}"] = Measured(max(float(row["late_ms_max"]) for row in some), "ms")
        late_ms = max(float(row["told_late_ms_max"]) for row in some)
        found[f"subscriptions late by at most: {name}"] = Measured(late_ms, "ms")
        found[f"late for the sake of order: {name}"] = Measured(
            _sum(some, "ordered"), f"of {_sum(some, 'late'):,} late"
        )
        found[f"copies that a broker has dropped: {name}"] = Measured(_sum(some, "copies"), "copies")
    holds = [name for name, count in kept.items() if count == len(PROMISES)] == [SWAP]
    return Findings(found, Verdict.AS_CLAIMED if holds else Verdict.NOT_AS_CLAIMED)


def _by_strategy(rows: Rows) -> Iterator[tuple[str, Rows]]:
    groups = group(rows, "strategy")
    for name in STRATEGIES:
        yield name, groups[name,]


def _unit(rows: Rows, broken: str, of: str) -> str:
    """Out of how many, in how many runs; and the first one that was found."""
    said = f"broken, of {_sum(rows, of):,} {of} in {len(rows)} runs"
    example = next((str(row[f"example_{broken}"]) for row in rows if row[f"example_{broken}"]), "")
    return f"{said}; {example}" if example else said


def _sum(rows: Rows, column: str) -> int:
    return sum(int(row[column]) for row in rows)


# --- what it looks like


def draw(rows: Rows) -> Any:
    published, changes = _sum(rows, "published"), _sum(rows, "changes")
    subtitle = f"violations, of {published:,} events published while {changes:,} links were replaced"
    figure = plot.new_figure(12.0, 5.0, "Which promises hold while links are replaced", subtitle)
    axes, shown = figure.subplots(), PROMISES | SUBSCRIPTIONS
    for place, (name, some) in enumerate(_by_strategy(rows)):
        for column, (broken, of) in enumerate(shown.values()):
            count = _sum(some, broken)
            colour = plot.PALETTE[2] if count == 0 else plot.PALETTE[1]
            axes.barh(place, 0.94, left=column + 0.03, height=0.86, color=colour, alpha=0.35)
            text = "0" if count == 0 else f"{count:,}\n{100 * count / _sum(some, of):.2g} %"
            axes.text(column + 0.5, place, text, ha="center", va="center", fontsize=10, color=plot.INK)
        axes.text(-0.05, place, name, ha="right", va="center", fontsize=11, color=plot.INK)
    axes.set_xticks([column + 0.5 for column in range(len(shown))], list(shown))
    axes.xaxis.tick_top()
    axes.set_yticks([])
    axes.set_ylim(len(STRATEGIES) - 0.5, -0.5)
    axes.set_frame_on(False)
    axes.tick_params(length=0, colors=plot.INK)
    return figure


EXPERIMENT: Final = Experiment(
    id="swap-table1",
    paper=PAPER,
    figure="Table I",
    claim="Only the swap delivers all events, once, in FIFO and causal order, and with minimal delay while links are "
    "replaced.",
    published={
        f"{KEPT}: {SWAP}": Published(len(PROMISES), f"of {len(PROMISES)}", "section III, all"),
        f"{KEPT}: deferred": Published(4, f"of {len(PROMISES)}", "Table I, Picco: all but minimal delay"),
    },
    seeds={Scale.QUICK: 3, Scale.PAPER: 30},
    points=points,
    measure=measure,
    reduce=reduce,
    plot=draw,
)
