"""What one SwapLink costs in bytes: the shared part of SWAP's figures 12 to 15.

Everything is measured on brokers that do it: a network of the paper's size, in which random links are swapped, first in
silence, then while clients publish. The parts of the overhead are those of the paper's Figure 12: the messages of the
primitive by kind, the tables that travel in the swap, and *pub*: copies of events that were of no use, and what stands
beside those that were.

Owns: points, measuring and the columns of a row. Must not know: which figure it is.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from itertools import pairwise
from typing import Final

import msgspec

from reknit.core.routing.strategies import RoutingName
from reknit.lab.crowd import Crowd
from reknit.lab.experiment import Measured, Point, Row, Rows
from reknit.lab.population import KINDS, draw_population
from reknit.lab.reduce import estimate, group, mean_by_seed
from reknit.lab.swapping import KINDS_SAID, TABLES, run_swaps

__all__ = [
    "BROKERS",
    "FORWARDING",
    "GLOBAL",
    "KB",
    "MB",
    "PAPER",
    "PERIOD_S",
    "PUB",
    "RECONF",
    "ROUTINGS",
    "SAID",
    "SMALL",
    "SUBSCRIPTIONS",
    "TOTAL",
    "Setting",
    "by",
    "measure",
    "measured",
    "setting",
    "slopes",
]

PAPER: Final = (
    "Reconfiguration Primitives for Self-adapting Overlays in Distributed Publish-Subscribe Systems "
    "(Di Nitto, Dubois, Margara)"
)
FORWARDING: Final[RoutingName] = "subscription-forwarding"
GLOBAL: Final[RoutingName] = "global-table"
ROUTINGS: Final = (GLOBAL, FORWARDING)
PERIOD_S: Final = 0.75
SUBSCRIPTIONS: Final = 10
BROKERS: Final = 100
SWAPS: Final = 10
"""In silence, and as many while clients publish; with 30 seeds that is 300 of each, and the paper has 100."""
KB: Final = 1e3
MB: Final = 1e6

RECONF: Final = "reconf"
"""Messages without tables."""
SAID: Final = "said"
"""Messages with tables."""
PUB: Final = "pub"
TOTAL: Final = "total"


class Setting(msgspec.Struct, frozen=True):
    """One point: the default scenario of the paper, unless something else is said."""

    routing: RoutingName = FORWARDING
    brokers: int = BROKERS
    subscriptions: int = SUBSCRIPTIONS
    """Of each client."""
    kinds: int = KINDS
    period_s: float = PERIOD_S
    swaps: int = SWAPS


SMALL: Final = Setting(brokers=20, subscriptions=5, kinds=100, swaps=5)
"""For a quick look."""


def setting(base: Setting = Setting(), **changes: object) -> Point:
    return msgspec.structs.asdict(msgspec.structs.replace(base, **changes))


def measure(point: Point, seed: int) -> Row:
    """All in bytes for one swap. Whatever else differs, networks of one size are swapped alike."""
    at = msgspec.convert(dict(point), Setting)
    name = f"{seed}/{at.brokers}"
    population = draw_population(at.brokers, at.subscriptions, at.kinds, random.Random(f"{name}/population"))
    found = run_swaps(Crowd(population, at.routing, name), at.swaps, at.period_s, random.Random(f"{name}/swaps"))
    reconf = sum(size for kind, size in found.bytes.items() if kind != TABLES)
    pub = found.copies_bytes + found.steering_bytes
    return {
        **{f"{kind}_bytes": found.bytes[kind] for kind in KINDS_SAID},
        f"{RECONF}_bytes": reconf,
        f"{SAID}_bytes": reconf + found.bytes[TABLES],
        f"{PUB}_bytes": pub,
        f"{TOTAL}_bytes": reconf + found.bytes[TABLES] + pub,
        "copies": found.copies,
        "copies_bytes": found.copies_bytes,
        "messages": found.messages,
        "link_bytes": found.link_bytes,
        "milliseconds": 1000 * found.seconds,
    }


def measured(rows: Rows, column: str, divisor: float = 1.0, unit: str = "bytes") -> Measured:
    found = estimate(mean_by_seed((int(row["seed"]), float(row[column]) / divisor) for row in rows))
    return Measured(found.mean, unit, found.low, found.high)


def by(rows: Rows, parameter: str, column: str) -> dict[float, float]:
    """By the values of a parameter, in rising order: the mean of a column."""
    return {float(value): measured(some, column).value for (value,), some in group(rows, parameter).items()}


def slopes(curve: Mapping[float, float]) -> list[float]:
    """From each place of a curve to the next."""
    return [(curve[right] - curve[left]) / (right - left) for left, right in pairwise(sorted(curve))]
