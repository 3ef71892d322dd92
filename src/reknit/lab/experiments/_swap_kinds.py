"""SWAP, Figure 12: the bytes of one SwapLink, by the kind of what was said.

Owns: findings and pictures that 12a and 12b share. Must not know: when either claim holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from reknit.core.routing.strategies import RoutingName
from reknit.lab import plot
from reknit.lab.experiment import Measured, Point, Rows, Scale
from reknit.lab.experiments._swap import (
    FORWARDING,
    GLOBAL,
    KB,
    PUB,
    RECONF,
    ROUTINGS,
    SMALL,
    TOTAL,
    measured,
    setting,
)
from reknit.lab.population import KINDS_STEP
from reknit.lab.reduce import group, numbers, spread
from reknit.lab.swapping import KINDS_SAID, TABLES

__all__ = ["ALL", "MESSAGES", "PUBLICATIONS", "TRAVELLED", "draw", "findings", "points", "share_of_tables"]

ALL: Final = "one SwapLink"
MESSAGES: Final = "its messages, without tables"
TRAVELLED: Final = "tables that travel"
PUBLICATIONS: Final = "pub"
KINDS_DRAWN: Final = (*(kind for kind in KINDS_SAID if kind != TABLES), TABLES, PUB)
HEADROOM: Final = 4.0
"""Above the highest bar, for its number."""
_NAMES: Final = {GLOBAL: "complete knowledge", FORWARDING: "subscription forwarding"}


def points(scale: Scale, routing: RoutingName) -> list[Point]:
    """One: the paper's default scenario, or a small one with tables that are large enough to matter."""
    if scale is Scale.QUICK:
        return [setting(SMALL, routing=routing, subscriptions=10, kinds=KINDS_STEP)]
    return [setting(routing=routing)]


def findings(rows: Rows) -> Iterator[tuple[str, Measured]]:
    yield ALL, measured(rows, f"{TOTAL}_bytes", KB, "KB")
    yield MESSAGES, measured(rows, f"{RECONF}_bytes", KB, "KB")
    yield TRAVELLED, measured(rows, f"{TABLES}_bytes", KB, "KB")
    yield PUBLICATIONS, measured(rows, f"{PUB}_bytes", KB, "KB")
    for kind in KINDS_SAID:
        if kind != TABLES:
            yield kind, measured(rows, f"{kind}_bytes")
    yield "copies of events of no use", measured(rows, "copies", unit="for each swap")
    yield "on all links, in silence", measured(rows, "link_bytes", KB, "KB")
    yield "until it is done", measured(rows, "milliseconds", unit="ms")


def share_of_tables(rows: Rows) -> float:
    """In percent."""
    tables, total = (measured(rows, f"{each}_bytes").value for each in (TABLES, TOTAL))
    return 100 * tables / total


def draw(rows: Rows, title: str) -> Any:
    first = rows[0]
    subtitle = (
        f"{first['brokers']} brokers and clients, {first['subscriptions']} subscriptions each; "
        f"mean and extremes over seeds ({len(group(rows, 'seed'))})"
    )
    figure = plot.new_figure(9.5, 6.0, title, subtitle)
    axes = figure.subplots()
    plot.dress(axes, _NAMES[_routing(rows)], "", "bytes of one SwapLink")
    values = [spread(numbers(rows, f"{kind}_bytes")) for kind in KINDS_DRAWN]
    reach = [[each.mean - each.low for each in values], [each.high - each.mean for each in values]]
    colours = [plot.PALETTE[0]] * (len(KINDS_DRAWN) - 2) + [plot.PALETTE[1], plot.PALETTE[2]]
    axes.bar(range(len(values)), [each.mean for each in values], yerr=reach, color=colours, ecolor=plot.INK, width=0.7)
    axes.set_xticks(range(len(values)), KINDS_DRAWN)
    axes.set_yscale("symlog", linthresh=1.0)
    axes.set_ylim(0.0, HEADROOM * max(each.high for each in values))
    for place, each in enumerate(values):
        axes.annotate(f"{each.mean:,.0f}", (place, each.high), ha="center", va="bottom", fontsize=9, color=plot.INK)
    return figure


def _routing(rows: Rows) -> RoutingName:
    return next(name for name in ROUTINGS if name == rows[0]["routing"])
