"""Brokers of a crowd that leave, one after the other, while clients publish: what one of them costs (RemoveBroker).

Only leaves with clients are asked to leave. All that the leaving broker and its neighbour say for it is told from other
traffic by its kind; nobody's subscriptions change meanwhile, so words about subscriptions belong to the drain, whoever
says them.

Owns: who leaves, and what is counted for it. Must not know: figures.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from reknit.core.overlay.shapes import adjacency
from reknit.lab.crowd import Crowd, needless_copies
from reknit.lab.population import Population

__all__ = ["PARTS", "Drained", "find_leavers", "run_drains", "with_subscriptions"]

PARTS: Mapping[str, tuple[str, ...]] = {
    "offers": ("Offer",),
    "subscriptions": ("Sub", "Unsub", "Known"),
    "moves": ("Draining", "Welcome", "Opened", "Rest", "Taken", "Told", "Withdraw", "Leave"),
}
"""By part: the messages. Offers name what each client wants; subscriptions are what routing says by itself."""

APART_S = 0.2
WARM_S = 1.0


@dataclass(frozen=True, slots=True)
class Drained:
    """All for one broker that has left."""

    bytes: Mapping[str, float]
    """By part."""
    clients: float
    copies_bytes: float
    """Of events that came to a broker which had nobody to give them to."""
    seconds: float


def find_leavers(population: Population, count: int, rng: random.Random) -> list[str]:
    """So many leaves with clients, or all that there are."""
    served = dict.fromkeys(population.homes.values())
    leaves = [name for name, others in adjacency(population.edges).items() if len(others) == 1 and name in served]
    return rng.sample(leaves, min(count, len(leaves)))


def with_subscriptions(population: Population, brokers: Sequence[str], count: int, rng: random.Random) -> Population:
    """The same, but each client of these brokers has so many subscriptions."""
    clients = [client for client, home in population.homes.items() if home in brokers]
    wants = {client: rng.sample(range(population.kinds), count) for client in clients}
    return msgspec.structs.replace(population, wants=population.wants | wants)


def run_drains(crowd: Crowd, leavers: Sequence[str], period_s: float) -> Drained:
    homes = list(crowd.homes.values())
    crowd.publish_every(period_s)
    crowd.run(WARM_S)
    crowd.settle_books()
    took = 0.0
    for name in leavers:
        began = crowd.now
        crowd.await_reply(crowd.cluster.drain(name))
        took += crowd.now - began
        crowd.run(APART_S)
    crowd.publish_no_more()
    crowd.run(WARM_S)
    count, sizes = len(leavers), crowd.heard.sizes
    return Drained(
        bytes={part: sum(sizes[kind] for kind in kinds) / count for part, kinds in PARTS.items()},
        clients=sum(home in leavers for home in homes) / count,
        copies_bytes=needless_copies(crowd.cluster.records).bytes / count,
        seconds=took / count,
    )
