"""One run: a world's links are replaced, one after the other, by one strategy; and what that has cost.

The brokers are the real ones, in the simulator. All links take the same time, so that events can travel afterwards over
what the trace tells (``history``). A link that goes is gone for both of its ends at once, with what was in flight;
0.1 s later the new one is there, and the first end of the old one is told the path.

Owns: how a world is run with a strategy. Must not know: figures.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from reknit.core.io import Input, Received
from reknit.core.overlay.change import make_change
from reknit.core.overlay.options import ChangeOptions
from reknit.core.overlay.shapes import Edge, adjacency, find_path
from reknit.lab.history import History, Travel, travel, windows
from reknit.lab.overhead import lower_bound, weigh
from reknit.lab.scenarios import NotSettled, quiet_options
from reknit.lab.worlds import CHARACTERS, World, characters_of, event_of, pattern_of, replaced
from reknit.model.pattern import Pattern
from reknit.sim.cluster import Cluster
from reknit.sim.network import NetworkOptions
from reknit.trace.records import Record
from reknit.wire.codec import decode
from reknit.wire.messages import Change, Data

__all__ = [
    "LATENCY_S",
    "REPLACED_AFTER_S",
    "STRATEGIES",
    "Churn",
    "Run",
    "bound_of",
    "chance",
    "diameter",
    "reach_s",
    "run_world",
]

LATENCY_S = 0.001
"""Of every link: the paper names none. Far below the 0.1 s after which a link is replaced."""
REPLACED_AFTER_S = 0.1
DEFER_S = 0.2
"""Longer than it takes to have the new link and to spread over it, shorter than from one change to the next."""
SETTLE_S_MAX = 600.0
PAUSE_S = 0.15
"""Between two movements of one change there is no longer pause than until the new link is there."""

STRATEGIES: Mapping[str, tuple[str, bool]] = {
    "strawman": ("strawman", False),
    "deferred": ("deferred", False),
    "deferred, notified": ("deferred", True),
    "path": ("path", False),
    "path-batched": ("path-batched", False),
}
"""By label: the strategy, and whether it is notified."""


class Churn(msgspec.Struct, frozen=True):
    """At ``at_s`` a client comes to want a character, or wants it no more."""

    at_s: float
    broker: str
    character: int
    wanted: bool


@dataclass(slots=True)
class _Ear:
    """What has been said."""

    weight: float = 0.0
    kinds: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class Run:
    history: History
    world: World
    weight: float
    """Of all that was said because links were replaced."""
    kinds: Counter[str]
    """How many messages of each kind."""
    link_bytes: int
    """On all links, greetings of the new ones and acknowledgements included."""
    began: float
    """The world's second 0, in the time of the history."""
    records: list[Record]
    """The trace."""

    def travel(self, published_s: float, broker: str, event: int) -> Travel:
        return travel(self.history, self.world.wants, self.began + published_s, broker, event, LATENCY_S)

    def moving(self) -> list[tuple[float, float]]:
        """When tables were not at rest, in the world's seconds."""
        moved = [at for at in self.history.moved if at >= self.began]
        return [(start - self.began, end - self.began) for start, end in windows(moved, PAUSE_S)]


def run_world(
    world: World,
    label: str,
    seed: str,
    churn: Sequence[Churn] = (),
    events: Sequence[tuple[float, str, int]] = (),
) -> Run:
    """``events``: published in the simulator itself, where that is wanted; all others can travel afterwards."""
    strategy, notified = STRATEGIES[label]
    options = msgspec.structs.replace(
        quiet_options("subscription-forwarding"), changes=ChangeOptions(defer_s=DEFER_S, notified=notified)
    )
    network = NetworkOptions(latency_s_min=LATENCY_S, latency_s_max=LATENCY_S)
    cluster = Cluster(world.edges, options, network, seed)
    cluster.start_all()
    for name, bits in world.wants.items():
        cluster.attach(name, f"at {name}", _patterns(bits))
    _settle(cluster)
    ear, began, before = _listen(cluster), cluster.kernel.now, cluster.network.traffic.bytes
    for number, each in enumerate(world.replacements):
        change = make_change(f"r{number}", strategy, each.head, each.tail)
        cluster.kernel.at(began + each.at_s, cluster.vanish, change)
        cluster.kernel.at(began + each.at_s + REPLACED_AFTER_S, _replace, cluster, change)
    for change_of_mind in churn:
        cluster.kernel.at(began + change_of_mind.at_s, _churn, cluster, change_of_mind)
    for at_s, broker, bits in events:
        cluster.kernel.at(began + at_s, cluster.publish, broker, "writer", event_of(bits))
    times = [*(each.at_s for each in world.replacements), *(each.at_s for each in churn), 0.0]
    cluster.kernel.run(until=began + max(times))
    _settle(cluster)
    history = History(cluster.records, _bits(), world.wants)
    link_bytes = cluster.network.traffic.bytes - before
    return Run(history, world, ear.weight, ear.kinds, link_bytes, began, cluster.records)


def _bits() -> dict[Pattern, int]:
    return {pattern_of(character): 1 << character for character in range(CHARACTERS)}


def _patterns(bits: int) -> list[Pattern]:
    return [pattern_of(character) for character in characters_of(bits)]


def _replace(cluster: Cluster, change: Change) -> None:
    cluster.appear(change)
    if change.strategy.startswith("path"):
        cluster.substitute(change)


def _churn(cluster: Cluster, churn: Churn) -> None:
    deed = cluster.subscribe if churn.wanted else cluster.unsubscribe
    deed(churn.broker, f"fickle at {churn.broker}", pattern_of(churn.character))


def _settle(cluster: Cluster) -> None:
    if not cluster.settle(SETTLE_S_MAX):
        raise NotSettled(cluster.restlessness())


def _listen(cluster: Cluster) -> _Ear:
    ear = _Ear()

    def overhear(node: str, given: Input) -> None:
        if isinstance(given, Received):
            frame = decode(given.frame)
            if isinstance(frame, Data):
                for message in frame.messages:
                    ear.weight += weigh(message)
                    ear.kinds[type(message).__name__] += 1
        cluster.give(node, given)

    cluster.network.give = overhear
    return ear


def bound_of(world: World) -> float:
    """The least that any algorithm would have to send in this world."""
    edges, weight = world.edges, 0.0
    for replacement in world.replacements:
        weight += lower_bound(edges, world.wants, replacement)
        edges = replaced(edges, replacement)
    return weight


def diameter(edges: Sequence[Edge]) -> int:
    """The links of the longest path of a tree."""
    far = _farthest(edges, edges[0][0])
    return len(find_path(edges, far, _farthest(edges, far))) - 1


def _farthest(edges: Sequence[Edge], start: str) -> str:
    adjacent, reached = adjacency(edges), {start: None}
    frontier = [start]
    for name in frontier:
        fresh = [other for other in adjacent[name] if other not in reached]
        reached.update(dict.fromkeys(fresh))
        frontier += fresh
    return frontier[-1]


def reach_s(world: World) -> float:
    """The longest that an event can be on its way, in any of the trees that this world goes through."""
    edges, longest = world.edges, diameter(world.edges)
    for replacement in world.replacements:
        edges = replaced(edges, replacement)
        longest = max(longest, diameter(edges))
    return longest * LATENCY_S


def chance(*names: object) -> random.Random:
    """The same for the same names, whatever else is drawn."""
    return random.Random("/".join(map(str, names)))
