"""The cost of a configuration where round trips differ, kept up while brokers change places (Eq. 2, 4 and 11).

Relays do not depend on how far brokers are from each other: for them it is ``compiled``, with no weight for delays. Of
delays each hop of all trees is counted once: how many events times subscribers go over it (``flows``), by the two
places of the hop. Two brokers that change places change the length of all hops at both; and where only one of them
wants a topic, its subscriber has another way. That way is walked, hop by hop, with the two where they would be.

Owns: delays by round trips. Must not know: which swaps are made. The plain computation (``notification``) is beside it
as the oracle. Only importable where numba is installed, like ``compiled``.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numba import njit

from reknit.planning.compiled import Compiled
from reknit.planning.notification import Floats, Problem
from reknit.planning.ring import Ints

__all__ = ["Distant"]


class Distant:
    def __init__(self, problem: Problem, places: Ints) -> None:
        if problem.trips is None:
            raise ValueError("without round trips, there is a quicker account")
        self.problem = problem
        self.relays = Compiled(replace(problem, delay_weight=0.0, trips=None), places)
        self.places = self.relays.places
        self.half = np.ascontiguousarray(problem.trips, dtype=np.float64) / 2
        self._settle()

    def _settle(self) -> None:
        relays, weight = self.relays, self.problem.delay_weight
        self.flows = np.zeros((len(self.places), len(self.places)))
        _flows(self.flows, relays.roots, relays.parents, relays.behind, self.problem.events)
        at = relays.brokers
        self.cost = relays.cost + weight * float((self.flows * self.half[np.ix_(at, at)]).sum())

    def broker_costs(self) -> Floats:
        relays, at = self.relays, self.relays.brokers
        delays = np.zeros(len(self.places))
        _delays(delays, at, relays.roots, relays.parents, relays.has, self.problem.events, self.half)
        found: Floats = relays.broker_costs() + self.problem.delay_weight * delays[self.places]
        return found

    def gains(self, broker: int) -> Floats:
        costs = np.zeros(len(self.places))
        relays, here = self.relays, int(self.places[broker])
        trees = (relays.roots, relays.parents, relays.has, self.problem.events)
        _costs(here, costs, relays.brokers, self.flows, self.half, *trees)
        found: Floats = relays.gains(broker) - self.problem.delay_weight * costs[self.places]
        return found

    def gain(self, broker: int, other: int) -> float:
        return float(self.gains(broker)[other])

    def swap(self, broker: int, other: int) -> None:
        self.relays.swap(broker, other)
        self._settle()


@njit(cache=True)
def _flows(flows, roots, parents, behind, events):  # type: ignore[no-untyped-def]
    """By the two places of a hop: events times the subscribers to whom they go that way."""
    for topic in range(parents.shape[0]):
        for place in range(parents.shape[1]):
            if place != roots[topic] and behind[topic, place]:
                flows[parents[topic, place], place] += events[topic] * behind[topic, place]


@njit(cache=True)
def _delays(delays, at, roots, parents, has, events, half):  # type: ignore[no-untyped-def]
    """By place, of whoever is there; clockwise from the root every place comes behind the one before it on its way."""
    size = parents.shape[1]
    far = np.zeros(size)
    for topic in range(parents.shape[0]):
        root = roots[topic]
        far[root] = 0.0
        for number in range(1, size):
            place = (root + number) % size
            before = parents[topic, place]
            far[place] = far[before] + half[at[before], at[place]]
            if has[topic, place]:
                delays[place] += events[topic] * far[place]


@njit(cache=True)
def _way(topic, place, here, there, at, roots, parents, half):  # type: ignore[no-untyped-def]
    """How long it is from the root if the brokers here and there have changed places."""
    length = 0.0
    while place != roots[topic]:
        before = parents[topic, place]
        one = at[there] if before == here else at[here] if before == there else at[before]
        other = at[there] if place == here else at[here] if place == there else at[place]
        length += half[one, other]
        place = before
    return length


@njit(cache=True)
def _costs(here, costs, at, flows, half, roots, parents, has, events):  # type: ignore[no-untyped-def]
    """By place: what delays cost more if the brokers there and here change places."""
    size, mine = len(at), at[here]
    for there in range(size):
        if there == here:
            continue
        other, more = at[there], flows[here, there] * (half[at[there], mine] - half[mine, at[there]])
        more += flows[there, here] * (half[mine, other] - half[other, mine])
        for place in range(size):
            if place not in (here, there):
                third = at[place]
                more += (flows[here, place] - flows[there, place]) * (half[other, third] - half[mine, third])
                more += (flows[place, here] - flows[place, there]) * (half[third, other] - half[third, mine])
        for topic in range(has.shape[0]):
            if has[topic, here] != has[topic, there]:
                way = _way(topic, there, here, there, at, roots, parents, half)
                way -= _way(topic, here, here, there, at, roots, parents, half)
                more += events[topic] * (way if has[topic, here] else -way)
        costs[there] = more
