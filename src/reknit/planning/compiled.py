"""The same counts, by a compiled kernel: what ``counts`` does with arrays, in loops that numba makes machine code of.

Owns: the kernel. Must not know: which swaps are made. Only importable where numba is installed (the extra ``plan``);
what was compiled is kept beside the module, so that the next process does not wait for it."""

from __future__ import annotations

import numpy as np
from numba import njit

from reknit.planning.counts import NOBODY, Counts
from reknit.planning.notification import Floats, Problem
from reknit.planning.ring import Ints

__all__ = ["Compiled"]


class Compiled(Counts):
    def __init__(self, problem: Problem, places: Ints) -> None:
        self._weights = (np.ascontiguousarray(problem.events), float(problem.delay_weight), problem.root_counts)
        super().__init__(problem, places)

    def gain(self, broker: int, other: int) -> float:
        here, there = int(self.places[broker]), int(self.places[other])
        return -float(_cost(here, there, self.has, self.prices, self.lone, self.shared))

    def place_costs(self) -> Floats:
        costs = np.zeros(len(self.places))
        _place_costs(costs, self.has, self.behind, self.depths, self.offsets, *self._weights)
        return costs

    def _costs(self, here: int) -> Floats:
        costs = np.zeros(len(self.places))
        _costs(here, costs, self.has, self.prices, self.lone, self.shared)
        return costs

    def _refresh(self, topics: Ints) -> None:
        made = (self.behind, self.prices, self.lone, self.shared)
        _refresh(topics, self.roots, self.has, self.parents, self.depths, *made, *self._weights)


@njit(cache=True)
def _cost(here, there, has, prices, lone, shared):  # type: ignore[no-untyped-def]
    """Of a swap of two places."""
    cost = 0.0
    for topic in range(has.shape[0]):
        if has[topic, here] != has[topic, there]:
            old, new = (here, there) if has[topic, here] else (there, here)
            cost += prices[topic, new] - prices[topic, old]
            if lone[topic, new] == old:
                cost += shared[topic, new]
    return cost


@njit(cache=True)
def _costs(here, costs, has, prices, lone, shared):  # type: ignore[no-untyped-def]
    """Of swaps with each place. Without branches inside, so that the processor does several places at once."""
    for topic in range(has.shape[0]):
        mine, price = has[topic, here], prices[topic, here]
        sign = 1.0 if mine else -1.0
        for place in range(has.shape[1]):
            costs[place] += (has[topic, place] ^ mine) * sign * (prices[topic, place] - price)
        if mine:
            for place in range(has.shape[1]):
                costs[place] += (lone[topic, place] == here) * shared[topic, place]
        elif lone[topic, here] != NOBODY:
            costs[lone[topic, here]] += shared[topic, here]


@njit(cache=True)
def _place_costs(  # type: ignore[no-untyped-def]
    costs, has, behind, depths, offsets, events, delay_weight, root_counts
):
    for topic in range(has.shape[0]):
        for place in range(has.shape[1]):
            relays = behind[topic, place] > 0 and (root_counts or offsets[topic, place] != 0)
            delay = delay_weight * depths[topic, place]
            costs[place] += events[topic] * (delay if has[topic, place] else relays)


@njit(cache=True)
def _refresh(  # type: ignore[no-untyped-def]
    topics, roots, has, parents, depths, behind, prices, lone, shared, events, delay_weight, root_counts
):
    """Clockwise from the root every place comes behind the one before it on its way, counter-clockwise before it."""
    size = has.shape[1]
    zeros, ones, whose = np.zeros(size, np.int32), np.zeros(size, np.int32), np.zeros(size, np.int32)
    anchors = np.zeros(size, np.int32)
    for topic in topics:
        root, count = roots[topic], events[topic]
        for place in range(size):
            behind[topic, place] = has[topic, place]
            whose[place] = place if has[topic, place] else 0
        for number in range(size - 1, 0, -1):
            place = (root + number) % size
            before = parents[topic, place]
            behind[topic, before] += behind[topic, place]
            whose[before] += whose[place]
        for number in range(size):
            place = (root + number) % size
            before, several, own = parents[topic, place], behind[topic, place], has[topic, place]
            if number == 0:
                zeros[place], ones[place], anchors[place] = 0, 0, place
            else:
                zeros[place] = zeros[before] + (several == 0)
                ones[place] = ones[before] + (several == 1)
                anchors[place] = place if several > 0 else anchors[before]
            nodes = (ones[place] if own else zeros[place]) + (number == 0 and not root_counts)
            prices[topic, place] = count * (nodes + delay_weight * depths[topic, place])
            alone = not own and behind[topic, anchors[place]] == 1
            lone[topic, place] = whose[anchors[place]] if alone else NOBODY
            shared[topic, place] = count * ones[anchors[place]] if alone else 0.0
