"""Networks that route digit by digit: Tapestry, on which Bayeux runs, and GeoPS's hierarchy of squares.

A node's id is a row of digits. Whoever has a message for another node sends it to one that has one digit more in
common with the goal, from the front; its table has one such node for each level and digit. Which one is a matter of
choice: any, or the nearest of all that would do (proximity neighbour selection). A key that is nobody's id belongs to
the node that is found by taking the next higher digit wherever there is nobody with the one that is wanted (surrogate
routing).

In GeoPS the area is a square of ``2 ** k`` by ``2 ** k`` cells with a server each; a server's digits say in which
quarter it lies, in which quarter of that, and so on. What its hierarchy is really like is not known; this is a
stand-in of ours.

Owns: ids, tables and routes of these. Must not know: topics' subscribers, what is measured.
"""

from __future__ import annotations

import numpy as np

from reknit.lab.ways import Slope, Ways
from reknit.planning.notification import Floats
from reknit.planning.ring import Ints

__all__ = ["Digits", "quarters", "random_ids"]


def random_ids(nodes: int, base: int, rng: np.random.Generator) -> Ints:
    """Different ones, with as many digits as it takes for that to be likely, twice over."""
    length = max(2, 2 * int(np.ceil(np.log(max(nodes, 2)) / np.log(base)) + 1))
    while True:
        ids = rng.integers(base, size=(nodes, length)).astype(np.int32)
        if len(np.unique(ids, axis=0)) == nodes:
            return ids


def quarters(levels: int) -> Ints:
    """The digits of ``2 ** levels`` by as many cells, row by row."""
    side = np.arange(1 << levels)
    rows, columns = np.repeat(side, 1 << levels), np.tile(side, 1 << levels)
    found = [2 * ((rows >> bit) & 1) + ((columns >> bit) & 1) for bit in range(levels - 1, -1, -1)]
    return np.stack(found, axis=1).astype(np.int32)


class Digits:
    """``trips``: with them, the nearest candidate is taken; without, any."""

    def __init__(self, ids: Ints, base: int, rng: np.random.Generator, trips: Floats | None = None) -> None:
        self.ids, self.base = ids, base
        self._rng, self._trips = rng, trips
        self._groups = self._by_prefix()
        self.next_hop = self._next_hops()

    def _by_prefix(self) -> dict[tuple[int, ...], Ints]:
        groups: dict[tuple[int, ...], list[int]] = {}
        for node, digits in enumerate(self.ids.tolist()):
            for length in range(len(digits) + 1):
                groups.setdefault(tuple(digits[:length]), []).append(node)
        return {prefix: np.array(members, dtype=np.int32) for prefix, members in groups.items()}

    def _next_hops(self) -> Ints:
        """By node and goal; of a node to itself, itself."""
        nodes = len(self.ids)
        found = np.tile(np.arange(nodes, dtype=np.int32)[:, None], (1, nodes))
        for node, digits in enumerate(self.ids.tolist()):
            for level, own in enumerate(digits):
                shared = tuple(digits[:level])
                if len(self._groups[shared]) == 1:
                    break
                for digit in (each for each in range(self.base) if each != own):
                    if (group := self._groups.get((*shared, digit))) is not None:
                        found[node, group] = self._entry(node, group)
        return found

    def _entry(self, node: int, candidates: Ints) -> int:
        if self._trips is None:
            return int(self._rng.choice(candidates))
        return int(candidates[np.argmin(self._trips[node, candidates])])

    def owner(self, key: tuple[int, ...]) -> int:
        """The surrogate root: the same from wherever the way begins."""
        prefix: tuple[int, ...] = ()
        for wanted in key:
            digits = [(wanted + step) % self.base for step in range(self.base)]
            prefix = next((*prefix, digit) for digit in digits if (*prefix, digit) in self._groups)
        return int(self._groups[prefix][0])

    def ways(self, roots: Ints) -> Ways:
        """Both by the tables of whoever is on the way: so up and down need not be the same."""
        nodes = len(self.ids)
        goals = np.tile(np.arange(nodes, dtype=np.int32), (len(roots), 1))
        here = np.tile(roots[:, None].astype(np.int32), (1, nodes))
        nearer = here.copy()
        hops = np.zeros_like(here)
        while (under_way := here != goals).any():
            nearer = np.where(under_way, here, nearer)
            here = self.next_hop[here, goals]
            hops += under_way
        up = np.ascontiguousarray(self.next_hop[:, roots].T)
        return Ways(Slope(nearer, hops), Slope.down_to(roots, up))
