"""The cost of a configuration, kept up while brokers change places: only topics that one of the two wants are touched.

For each topic and place it is counted how many subscribers are behind the place on the tree of all routes from the
root: a place is on the topic's tree if there is one. When a subscriber goes from one place to another, the places on
its old way with nobody else behind them leave the tree, and those on its new way with nobody behind them come to it.
So every place has a price: with a subscriber, what its leaving saves; without one, what its coming costs. One thing
is missing, where the two ways share a part that only this subscriber needed: it was counted as saved, and is needed
still. The new way meets the tree at the first place from below with somebody behind it; only if that is one
subscriber (``lone``), and the one that goes, there is such a part (``shared``). A topic that both brokers want, or
neither, keeps its tree, and its delays where all hops are equal: a swap touches the others only.

Owns: cost, brokers' costs and the gain of each swap, kept incrementally. Must not know: which swaps are made. The plain
computation (``notification``) is beside it as the oracle. Where round trips differ it is ``distant``, with numba.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol, TypeAlias

import numpy as np

from reknit.planning import notification
from reknit.planning.notification import Floats, Problem, check_places
from reknit.planning.ring import Ints

__all__ = ["Account", "Counts", "Means", "Plain", "compiled_is_there", "make_account"]

NOBODY = -1
"""Where no subscriber's place could be."""

Means: TypeAlias = Literal["plain", "arrays", "compiled"]


class Account(Protocol):
    """What a search sees of a problem: where brokers are now, what that costs, and what swaps would save."""

    problem: Problem
    places: Ints
    cost: float

    def broker_costs(self) -> Floats: ...

    def gains(self, broker: int) -> Floats:
        """By broker: what it saves that the two change places."""

    def gain(self, broker: int, other: int) -> float: ...

    def swap(self, broker: int, other: int) -> None: ...


class Plain:
    """Everything is computed anew, each time."""

    def __init__(self, problem: Problem, places: Ints) -> None:
        self.problem = problem
        self.places = check_places(places, problem.ring)
        self.cost = notification.cost(problem, self.places)

    def broker_costs(self) -> Floats:
        return notification.broker_costs(self.problem, self.places)

    def gains(self, broker: int) -> Floats:
        return np.array([self.gain(broker, other) for other in range(len(self.places))])

    def gain(self, broker: int, other: int) -> float:
        return self.cost - notification.cost(self.problem, _swapped(self.places, broker, other))

    def swap(self, broker: int, other: int) -> None:
        self.places = _swapped(self.places, broker, other)
        self.cost = notification.cost(self.problem, self.places)


class Counts:
    """By arrays: the gains of one broker's swaps with all others at once."""

    def __init__(self, problem: Problem, places: Ints) -> None:
        if problem.trips is not None:
            raise ValueError("where round trips differ, a swap changes more than these counts know")
        self.problem = problem
        self.places = check_places(places, problem.ring)
        self.brokers = np.argsort(self.places).astype(np.int32)  # by place
        routes, rows = problem.routes, problem.rows
        size = len(problem.ring)
        self.roots = np.array(problem.roots, dtype=np.int32)
        self.parents = routes.parents[rows]
        self.depths = routes.depths[rows]
        self.ends = routes.ends[rows]
        self.offsets = ((np.arange(size, dtype=np.int32)[None, :] - self.roots[:, None]) % size).astype(np.int32)
        self.has = np.ascontiguousarray(problem.wants[:, self.brokers])  # by topic and place
        shape = self.has.shape
        self.behind = np.zeros(shape, dtype=np.int32)
        self.prices = np.zeros(shape)
        self.lone = np.full(shape, NOBODY, dtype=np.int32)
        self.shared = np.zeros(shape)
        self._refresh(np.arange(shape[0]))
        self.cost = float(self.place_costs().sum())

    # --- looking in

    def place_costs(self) -> Floats:
        """What is paid for the broker at each place."""
        problem = self.problem
        relays = (self.behind > 0) & ~self.has
        if not problem.root_counts:
            relays[np.arange(len(self.roots)), self.roots] = False
        paid = np.where(self.has, problem.delay_weight * self.depths, relays)
        found: Floats = problem.events @ paid
        return found

    def broker_costs(self) -> Floats:
        return self.place_costs()[self.places]

    def gains(self, broker: int) -> Floats:
        return -self._costs(int(self.places[broker]))[self.places]

    def gain(self, broker: int, other: int) -> float:
        here, there = int(self.places[broker]), int(self.places[other])
        topics = np.flatnonzero(self.has[:, here] != self.has[:, there])
        given = self.has[topics, here]
        old, new = np.where(given, here, there), np.where(given, there, here)
        costs = self.prices[topics, new] - self.prices[topics, old]
        costs += np.where(self.lone[topics, new] == old, self.shared[topics, new], 0.0)
        return -float(costs.sum())

    def _costs(self, here: int) -> Floats:
        """By place: what it costs that the brokers there and here change places."""
        mine = self.has[:, here]
        signs = np.where(mine, 1.0, -1.0)
        apart = np.where(self.has != mine[:, None], self.prices - self.prices[:, here][:, None], 0.0)
        costs: Floats = signs @ apart
        given = np.flatnonzero(mine)
        costs += np.where(self.lone[given] == here, self.shared[given], 0.0).sum(axis=0)
        taken = np.flatnonzero(~mine & (self.lone[:, here] != NOBODY))
        np.add.at(costs, self.lone[taken, here], self.shared[taken, here])
        return costs

    # --- a swap

    def swap(self, broker: int, other: int) -> None:
        self.cost -= self.gain(broker, other)
        one, two = int(self.places[broker]), int(self.places[other])
        self.places[broker], self.places[other] = two, one
        self.brokers[one], self.brokers[two] = other, broker
        topics = np.flatnonzero(self.has[:, one] != self.has[:, two])
        self.has[topics, one], self.has[topics, two] = self.has[topics, two], self.has[topics, one]
        self._refresh(topics)

    def _refresh(self, topics: Any) -> None:
        """Count anew for these topics. Ways to the root are summed up by doubling: each step looks twice as far."""
        has, offsets = self.has[topics], self.offsets[topics]
        places, rows = np.arange(has.shape[1], dtype=np.int32)[None, :], np.arange(len(has))[:, None]
        behind, whose = self._behind(topics, has), self._behind(topics, has * places)
        jumps, inner = self.parents[topics], offsets != 0
        zeros, ones = ((behind == 0) & inner).astype(np.int32), ((behind == 1) & inner).astype(np.int32)
        anchors = np.where((behind > 0) | ~inner, places, jumps)
        for _ in range(int(self.depths.max(initial=0)).bit_length()):
            zeros, ones = zeros + zeros[rows, jumps], ones + ones[rows, jumps]
            anchors, jumps = anchors[rows, anchors], jumps[rows, jumps]
        events = self.problem.events[topics][:, None]
        at_root = ~inner & (not self.problem.root_counts)  # a subscriber there has no message on its account
        nodes = np.where(has, ones, zeros) + at_root
        alone = ~has & (behind[rows, anchors] == 1)
        self.behind[topics] = behind
        self.prices[topics] = events * (nodes + self.problem.delay_weight * self.depths[topics])
        self.lone[topics] = np.where(alone, whose[rows, anchors], NOBODY)
        self.shared[topics] = np.where(alone, events * ones[rows, anchors], 0.0)

    def _behind(self, topics: Any, values: Any) -> Ints:
        """By topic and place, the sum over the stretch of the ring that is behind the place."""
        rows, size = np.arange(len(values))[:, None], values.shape[1]
        clockwise = (self.roots[topics][:, None] + np.arange(size)[None, :]) % size
        sums = np.zeros((len(values), size + 1), dtype=np.int32)
        np.cumsum(values[rows, clockwise], axis=1, out=sums[:, 1:])
        found: Ints = sums[rows, self.ends[topics]] - sums[rows, self.offsets[topics]]
        return found


def make_account(problem: Problem, places: Ints, means: Means | None = None) -> Account:
    """The quickest that there is, unless one is asked for. Arrays know no round trips: then it is the plain one."""
    compiled = means == "compiled" or (means is None and compiled_is_there())
    if problem.trips is not None and compiled:
        from reknit.planning.distant import Distant

        return Distant(problem, places)
    if problem.trips is not None or means == "plain":
        return Plain(problem, places)
    if compiled:
        from reknit.planning.compiled import Compiled

        return Compiled(problem, places)
    return Counts(problem, places)


def compiled_is_there() -> bool:
    from importlib.util import find_spec

    return find_spec("numba") is not None


def _swapped(places: Ints, broker: int, other: int) -> Ints:
    found = places.copy()
    found[broker], found[other] = places[other], places[broker]
    return found
