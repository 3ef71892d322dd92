"""Random swaps in a crowd, one after the other: what one of them costs.

First some in silence: then every byte on a link is one of the swap, greetings and acknowledgements included. Then as
many while clients publish; what the three brokers say is told from all else by its kind, and what events cost beyond
what they always do is read from the trace.

Owns: which swaps are made, and what is counted for them. Must not know: figures.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

from reknit.core.overlay.shapes import Edge, adjacency
from reknit.core.overlay.swap import Step, after
from reknit.lab.crowd import Crowd, needless_copies

__all__ = ["KINDS_SAID", "TABLES", "Swapped", "run_swaps"]

TABLES = "tables"
KINDS_SAID: Mapping[str, str] = {
    "lock": "Lock",
    "lockAck": "LockAck",
    "swap": "Swap",
    "open": "Open",
    "close": "Close",
    "leave": "Leave",
    TABLES: "Side",
}
"""By the paper's name: the message here. The paper has its tables in the swap, and does not say how a link is left."""

APART_S = 0.1
"""Between two swaps: longer than the last words of one take, and acknowledgements."""
WARM_S = 1.0


@dataclass(frozen=True, slots=True)
class Swapped:
    """All per swap."""

    bytes: Mapping[str, float]
    """By kind, as in ``KINDS_SAID``."""
    messages: float
    """Of all these kinds."""
    copies: float
    """Of events that were of no use."""
    copies_bytes: float
    steering_bytes: float
    """What stands beside events that are steered: their mode, and the stamp."""
    link_bytes: float
    """Of one in silence: all that links have carried."""
    seconds: float
    """Until the operator hears that it is done."""


def run_swaps(crowd: Crowd, swaps: int, period_s: float, rng: random.Random) -> Swapped:
    edges = crowd.population.edges
    edges, link_bytes = _in_silence(crowd, edges, swaps, rng)
    crowd.publish_every(period_s)
    crowd.run(WARM_S)
    crowd.settle_books()
    took = 0.0
    for _ in range(swaps):
        step = _draw(edges, rng)
        took += _swap(crowd, step)
        edges = after(edges, step)
    crowd.publish_no_more()
    crowd.run(WARM_S)
    needless, heard = needless_copies(crowd.cluster.records), crowd.heard
    return Swapped(
        bytes={name: heard.sizes[kind] / swaps for name, kind in KINDS_SAID.items()},
        messages=sum(heard.messages[kind] for kind in KINDS_SAID.values()) / swaps,
        copies=needless.copies / swaps,
        copies_bytes=needless.bytes / swaps,
        steering_bytes=heard.sizes["Steered"] / swaps,
        link_bytes=link_bytes / swaps,
        seconds=took / swaps,
    )


def _in_silence(crowd: Crowd, edges: list[Edge], swaps: int, rng: random.Random) -> tuple[list[Edge], int]:
    before = crowd.cluster.network.traffic.bytes
    for _ in range(swaps):
        step = _draw(edges, rng)
        _swap(crowd, step)
        edges = after(edges, step)
    crowd.settle()
    return edges, crowd.cluster.network.traffic.bytes - before


def _draw(edges: list[Edge], rng: random.Random) -> Step:
    """Any link, moved along any other that it meets."""
    neighbours = adjacency(edges)
    middle = rng.choice([name for name, others in neighbours.items() if len(others) > 1])
    mover, goal = rng.sample(neighbours[middle], 2)
    return Step(mover, middle, goal)


def _swap(crowd: Crowd, step: Step) -> float:
    """How long it took."""
    began = crowd.now
    crowd.await_reply(crowd.cluster.swap(*step))
    took = crowd.now - began
    crowd.run(APART_S)
    return took
