"""The operator of a schedule: links that are added, removed, swapped and replaced, mostly sensibly.

Owns: which change is asked for. Must not know: when, or what is right.
"""

from __future__ import annotations

import random
from typing import get_args

from reknit.core.overlay.change import find_change
from reknit.core.overlay.shapes import Edge, adjacency, find_path
from reknit.core.overlay.strategy import StrategyName
from reknit.sim.cluster import Cluster

__all__ = ["Operator"]

STRATEGIES: tuple[str, ...] = get_args(StrategyName)

STALE = "link to one that has left"


class Operator:
    def __init__(self, cluster: Cluster, rng: random.Random) -> None:
        self.cluster = cluster
        self.rng = rng

    def links(self) -> dict[str, list[str]]:
        """By broker that is alive: whom it holds for a neighbour."""
        nodes = self.cluster.nodes.items()
        return {name: list(node.broker.links.of) for name, node in nodes if node.broker is not None}

    def clear_away(self, counted: dict[str, int]) -> int:
        """Remove links to brokers that have left for good, from those that were down and nobody could tell."""
        nodes, stale = self.cluster.nodes, 0
        for name, broker in [(name, node.broker) for name, node in nodes.items() if node.broker is not None]:
            for peer in [peer for peer, link in broker.links.of.items() if nodes[peer].gone and not link.greeted]:
                self.cluster.remove_link(name, peer)
                stale += 1
        if stale:
            counted[STALE] = counted.get(STALE, 0) + stale
        return stale

    def change_link(self) -> None:
        links = self.links()
        if len(links) < 2:
            return
        edges = [(one, other) for one, others in links.items() for other in others]
        apart = [(one, other) for one in links for other in links if not find_path(edges, one, other)]
        if apart and self.rng.random() < 0.5:
            self._join_twice(apart, edges)
            return
        one, other = self.rng.sample(list(links), 2)
        if other in links[one] and self.rng.random() < 0.5:
            self.cluster.remove_link(one, other)
        else:
            self.cluster.add_link(one, other)

    def swap(self) -> None:
        """Mostly a swap that can be: a broker, a neighbour of it, and another neighbour of that one."""
        links = self.links()
        middles = [name for name, others in links.items() if len(others) > 1]
        if middles and self.rng.random() < 0.95:
            middle = self.rng.choice(middles)
            mover, goal = self.rng.sample(links[middle], 2)
        elif len(links) > 2:
            mover, middle, goal = self.rng.sample(list(links), 3)
        else:
            return
        self.cluster.swap(mover, middle, goal)

    def replace(self) -> None:
        """Any link by any other that makes a tree of the rest; now and then, the path has changed meanwhile."""
        links = self.links()
        edges = sorted({(min(one, other), max(one, other)) for one in links for other in links[one] if other in links})
        if not edges:
            return
        one, other = self.rng.choice(edges)
        old = (one, other) if self.rng.random() < 0.5 else (other, one)
        rest = [edge for edge in edges if set(edge) != set(old)]
        sides = [[name for name in adjacency(edges) if name == end or find_path(rest, end, name)] for end in old]
        new = (self.rng.choice(sides[0]), self.rng.choice(sides[1]))
        change = find_change(edges, self.rng.choice(STRATEGIES), old, new)
        if change is not None and set(new) != set(old):
            head, tail = change.path[: change.near + 1], change.path[change.near + 1 :]
            self.cluster.replace_link(change.strategy, head, tail)

    def _join_twice(self, apart: list[Edge], edges: list[Edge]) -> None:
        """Join two trees by two links at once, of which one must not be."""
        one, other = self.rng.choice(apart)
        self.cluster.add_link(one, other)
        again = [
            (a, b)
            for a, b in apart
            if one != a and other != b and find_path(edges, one, a) and find_path(edges, other, b)
        ]
        if again:
            self.cluster.add_link(*self.rng.choice(again))
