"""Who is there when links are swapped and brokers leave: the default scenario of SWAP, section VI.

As many clients as brokers, on half of the brokers; the others only forward. An event has five attributes, of which one,
its *cell*, differs from event to event; a subscription has five constraints, of which one asks for a range of cells,
one thousandth of all. The texts of the others are as long as it takes to reach the sizes of the paper.

How much of what clients ask for is the same decides how large tables grow, and the paper does not say: ``kinds`` is how
many different subscriptions there are to choose from.

Owns: what chance decides. Must not know: brokers, what is measured.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache, lru_cache

import msgspec

from reknit.core.overlay.shapes import Edge, names, shape_edges
from reknit.model.event import Attributes, Event
from reknit.model.pattern import Pattern

__all__ = ["KINDS", "KINDS_STEP", "Population", "draw_cell", "draw_population", "event_of", "latencies", "pattern_of"]

LATENCY_S_MIN = 0.001
LATENCY_S_MAX = 0.005
FORWARDERS = 0.5
"""The share of brokers without clients."""

KINDS_STEP = 1000
"""A subscription matches one event of so many; ``kinds`` is a multiple of it, or less."""
KINDS = 4 * KINDS_STEP
"""So that tables stop growing at about a hundred subscriptions for each of a hundred clients, as the paper has it."""

PATTERNS_MAX = 1 << 15
"""Subscriptions that are kept: many clients have the same, and to read one takes longer than all else about it."""

TOPIC = "news"
TEXT_CHARS = 168
PAYLOAD = bytes(28)
"""With these an event takes 0.76 KB and a subscription 0.77 KB on the wire."""
_TEXTS: Attributes = {
    name: (f"{name} " * TEXT_CHARS)[:TEXT_CHARS] for name in ("agency", "branch", "country", "district")
}


class Population(msgspec.Struct, frozen=True):
    edges: list[Edge]
    homes: dict[str, str]
    """By client, its broker."""
    wants: dict[str, list[int]]
    """By client, the kinds of its subscriptions."""
    kinds: int


def draw_population(brokers: int, subscriptions: int, kinds: int, rng: random.Random) -> Population:
    """``subscriptions``: how many different ones each client has."""
    members = names(brokers)
    edges = shape_edges("random", members, rng)
    served = rng.sample(members, brokers - round(FORWARDERS * brokers))
    homes = {f"c{number}": rng.choice(served) for number in range(1, brokers + 1)}
    wants = {client: rng.sample(range(kinds), subscriptions) for client in homes}
    return Population(edges, homes, wants, kinds)


def latencies(seed: str) -> Callable[[str, str], float]:
    """For each two brokers how long a frame takes between them: the same for the same names."""

    @cache
    def of(low: str, high: str) -> float:
        return random.Random(f"{seed}/{low}/{high}").uniform(LATENCY_S_MIN, LATENCY_S_MAX)

    return lambda one, other: of(min(one, other), max(one, other))


@lru_cache(PATTERNS_MAX)
def pattern_of(kind: int, kinds: int) -> Pattern:
    texts = [f"{name} = '{text}'" for name, text in _TEXTS.items()]
    return Pattern.parse(TOPIC, " AND ".join([f"cell BETWEEN {kind} AND {kind + _width(kinds) - 1}", *texts]))


def draw_cell(kinds: int, rng: random.Random) -> int:
    return rng.randrange(kinds + _width(kinds) - 1)


def event_of(cell: int) -> Event:
    return Event(TOPIC, PAYLOAD, {"cell": cell, **_TEXTS})


def _width(kinds: int) -> int:
    """Where there are fewer kinds than it takes, a subscription matches one event of so many as there are."""
    return max(1, kinds // KINDS_STEP)
