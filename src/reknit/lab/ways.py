"""The ways of events in a network with a root for each topic, and what an event costs on them.

A topic has a root. From it the network's own routes lead to every node, and form a tree; the topic's tree is the part
of it that leads to subscribers. To the root every node has a way, too, which need not be the same one back. Both are
*slopes*: by topic and node, the next node nearer to the root, and how many hops there are. What is measured is the
same for every network then, whatever its routes: a ring (``ring_ways``) or digits (``digits``).

Owns: slopes, messages and delays on them. Must not know: why a route is as it is, who subscribes, or brokers that move.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from reknit.planning.notification import Bools, Floats
from reknit.planning.ring import Ints, Ring, Routes, hops_ahead

__all__ = ["Slope", "Ways", "ring_ways"]


@dataclass(frozen=True, eq=False)
class Slope:
    """By topic and node, nearer to the root: at the root itself, the root and no hop."""

    nearer: Ints
    hops: Ints

    @classmethod
    def down_to(cls, roots: Ints, nearer: Ints) -> Slope:
        """Hops are counted by going there."""
        topics, nodes = nearer.shape
        here = np.tile(np.arange(nodes, dtype=np.int32), (topics, 1))
        hops = np.zeros_like(here)
        while (under_way := here != roots[:, None]).any():
            if hops.max() > nodes:
                raise ValueError("some way never comes to its root")
            hops += under_way
            here = np.take_along_axis(nearer, here, axis=1)
        return cls(nearer, hops)

    @cached_property
    def levels(self) -> list[tuple[Ints, Ints]]:
        """Topics and nodes that are so many hops away, from one on."""
        order = np.argsort(self.hops, axis=None, kind="stable")
        ends = np.cumsum(np.bincount(self.hops.ravel()))
        parts = [order[one:other] for one, other in pairwise(ends.tolist())]
        nodes = self.hops.shape[1]
        return [((part // nodes).astype(np.int32), (part % nodes).astype(np.int32)) for part in parts]

    def delays(self, trips: Floats | None) -> Floats:
        """By topic and node: half of each round trip on the way, or one for a hop where all are alike."""
        if trips is None:
            return self.hops.astype(np.float64)
        found = np.zeros(self.hops.shape)
        for topics, nodes in self.levels:
            before = self.nearer[topics, nodes]
            found[topics, nodes] = found[topics, before] + trips[nodes, before] / 2
        return found

    def leading_to(self, wanted: Bools) -> Bools:
        """By topic and node: whether it is on the way from the root to a node that wants the topic."""
        found = wanted.copy()
        for topics, nodes in reversed(self.levels):
            some = found[topics, nodes]
            found[topics[some], self.nearer[topics[some], nodes[some]]] = True
        return found


@dataclass(frozen=True, eq=False)
class Ways:
    down: Slope
    up: Slope

    @cached_property
    def membership(self) -> Ints:
        """By topic and node: messages of a join or a leave, which goes up to the root and down again."""
        return self.up.hops + self.down.hops

    def messages(self, wanted: Bools) -> Ints:
        """By topic: what one event takes from the root to all nodes that want it."""
        reached = self.down.leading_to(wanted).sum(axis=1)
        found: Ints = np.maximum(reached - 1, 0).astype(np.int32)
        return found

    def relays(self, wanted: Bools) -> Ints:
        """By topic: those of the messages that go to a node which does not want it."""
        on_way = self.down.leading_to(wanted) & ~wanted & (self.down.hops > 0)
        found: Ints = on_way.sum(axis=1).astype(np.int32)
        return found


def ring_ways(ring: Ring, keys: Sequence[int]) -> Ways:
    """Nodes are places. Down a route leads to a node; up to a key, so by way of the place before the root."""
    size, roots = len(ring), np.array([ring.owner(key) for key in keys], dtype=np.int32)
    distinct, rows = np.unique(roots, return_inverse=True)
    routes = Routes.on(ring, distinct.tolist())
    exact = np.array([ring.ids[root] == key for root, key in zip(roots, keys, strict=True)], dtype=np.bool_)
    goals = np.where(exact, roots, (roots - 1) % size)[:, None]
    nodes = np.arange(size, dtype=np.int32)[None, :]
    nearer = (nodes + hops_ahead(ring)[nodes, (goals - nodes) % size]) % size
    there = (nodes == goals) | (nodes == roots[:, None])
    nearer = np.where(there, roots[:, None], nearer).astype(np.int32)
    return Ways(Slope(routes.parents[rows], routes.depths[rows]), Slope.down_to(roots, nearer))
