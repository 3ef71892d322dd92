"""A ring of places as a value: who owns a key, and the way from each root to every other place.

Places are the node ids of a ring in their order, and stay what they are when brokers change theirs. Of the routes that
begin at one root each is the beginning of those that lead on: a hop goes to the farthest finger that is not beyond the
goal, so on the way to a later goal the same fingers are chosen until the ways part. All routes from a root form a tree,
then, and what is behind a place in it is a stretch of the ring that begins there. A topic's tree is the part of its
root's tree that leads to subscribers (DYNATOPS, section 3).

Owns: fingers, routes and the trees of all routes. Must not know: subscriptions, costs, brokers.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from reknit.model.ring import BITS, next_hop

__all__ = ["Ints", "NoRing", "Ring", "Routes", "hops_ahead"]

Ints: TypeAlias = npt.NDArray[np.int32]


class NoRing(ValueError):
    """The ids form no ring."""


class Ring:
    """Places ``0 .. n - 1`` in the order of their ids."""

    def __init__(self, ids: Sequence[int], bits: int = BITS) -> None:
        self.bits = bits
        self.ids = tuple(sorted(ids))
        if not self.ids:
            raise NoRing("a ring has at least one place")
        for one, other in zip(self.ids, self.ids[1:], strict=False):
            if one == other:
                raise NoRing(f"two places have the ring id {one}")
        if self.ids[0] < 0 or self.ids[-1] >> bits:
            raise NoRing(f"an id of {bits} bits lies from 0 to {(1 << bits) - 1}")
        self.fingers = self._fingers()

    def __len__(self) -> int:
        return len(self.ids)

    def owner(self, key: int) -> int:
        """The place that a key belongs to."""
        return bisect_left(self.ids, key) % len(self.ids)

    def _fingers(self) -> tuple[tuple[int, ...], ...]:
        """By place, without itself; the nearest first."""
        ids, size = np.array(self.ids, dtype=np.uint64), len(self.ids)
        steps = np.left_shift(np.uint64(1), np.arange(self.bits, dtype=np.uint64))
        keys = (ids[:, None] + steps[None, :]) & np.uint64((1 << self.bits) - 1)
        owners = np.searchsorted(ids, keys) % size
        hops = np.sort((owners - np.arange(size)[:, None]) % size, axis=1)
        return tuple(
            tuple((place + hop) % size for hop in dict.fromkeys(row) if hop) for place, row in enumerate(hops.tolist())
        )

    def route(self, start: int, goal: int) -> list[int]:
        """All places on the way, with both ends: hop by hop, as brokers do it."""
        way = [start]
        while (here := way[-1]) != goal:
            known = [self.ids[other] for other in self.fingers[here]]
            hop = next_hop(self.ids[here], known[0], known, self.ids[goal], self.bits)
            way.append(self.owner(hop))
        return way


@dataclass(frozen=True, slots=True)
class Routes:
    """The trees of all routes from some roots: a row for each root, a column for each place."""

    roots: Ints
    parents: Ints
    """The place before, on the way from the root; of the root itself, the root."""
    depths: Ints
    ends: Ints
    """How far from the root, clockwise, the stretch ends that is behind a place."""

    @classmethod
    def on(cls, ring: Ring, roots: Sequence[int]) -> Routes:
        size, starts = len(ring), np.array(roots, dtype=np.int32)
        goals = np.broadcast_to(np.arange(size, dtype=np.int32), (len(starts), size))
        hops = hops_ahead(ring)
        here = np.repeat(starts[:, None], size, axis=1)
        parents, depths = here.copy(), np.zeros_like(here)
        while (under_way := here != goals).any():
            parents = np.where(under_way, here, parents)
            here = (here + hops[here, (goals - here) % size]) % size
            depths += under_way
        offsets = (goals - starts[:, None]) % size
        return cls(starts, parents, depths, (offsets + _sizes(parents, depths)).astype(np.int32))


def hops_ahead(ring: Ring) -> Ints:
    """By place and by how many places farther the goal is: how many places the next hop goes on."""
    size = len(ring)
    found = np.zeros((size, size), dtype=np.int32)
    ahead = np.arange(1, size)
    for place, fingers in enumerate(ring.fingers):
        steps = (np.array(fingers, dtype=np.int32) - place) % size
        if size > 1:
            found[place, 1:] = steps[np.searchsorted(steps, ahead, side="right") - 1]
    return found


def _sizes(parents: Ints, depths: Ints) -> Ints:
    """How many places are behind each one, with itself: from the deepest ones upwards."""
    sizes = np.ones_like(parents)
    for depth in range(int(depths.max(initial=0)), 0, -1):
        rows, places = np.nonzero(depths == depth)
        np.add.at(sizes, (rows, parents[rows, places]), sizes[rows, places])
    return sizes
