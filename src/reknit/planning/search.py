"""A better search than the paper's: it does not stop where the single worst broker finds no better place.

After SSBR-Greedy, two more stages. *Next-worst*: round after round all brokers, the dearest first, look for the best
swap of theirs, until a round finds none. *Warm*: a bounded local search; a broker that is drawn takes the best of all
its swaps after some noise was added to each, less and less of it, so that it may leave a place where it is stuck.
Then next-worst again, and the best configuration that was seen stands.

Where a change has a price, it is counted in: a swap has to save more than the messages for those that it moves away
from where they were at first, and one that moves them back saves these.

Owns: the order in which swaps are tried. Must not know: how costs are kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from reknit.planning.change import change_cost, moved
from reknit.planning.counts import Account
from reknit.planning.greedy import Found, Move, best_of, is_less, ssbr_greedy
from reknit.planning.notification import Floats
from reknit.planning.ring import Ints

__all__ = ["Bounds", "better_search", "next_worst", "warm"]


@dataclass(frozen=True, slots=True)
class Bounds:
    """How long to look. Numbers of trials, not seconds, so that the same input gives the same plan on any machine."""

    rounds_max: int = 20
    """Of next-worst, each time."""
    trials_max: int = 15_000
    """Of the warm stage."""
    heat: float = 2.0
    """Noise at the beginning of it, in messages for one event of a topic with the average number of events."""

    def __post_init__(self) -> None:
        if self.rounds_max < 0 or self.trials_max < 0 or not 0 <= self.heat < math.inf:
            raise ValueError(f"bounds of a search are numbers from 0 on: {self}")


class _Priced:
    """An account with the price of being away from home."""

    def __init__(self, account: Account, home: Ints, price: float) -> None:
        self.account, self.home, self.price = account, home, price
        self.way: list[Move] = []

    @property
    def value(self) -> float:
        return self.account.cost + self.price * moved(self.home, self.account.places)

    def gains(self, broker: int) -> Floats:
        gains = self.account.gains(broker)
        if self.price:
            places, home, here = self.account.places, self.home, self.account.places[broker]
            away = (places != home[broker]).astype(np.int32) + (here != home)
            at_present = (places != home).astype(np.int32) + (here != home[broker])
            at_present[broker] = away[broker]
            gains -= self.price * (away - at_present)
        return gains

    def swap(self, broker: int, other: int) -> None:
        self.account.swap(broker, other)
        self.way.append(Move(broker, other, self.account.cost))


def better_search(
    account: Account, rng: np.random.Generator, bounds: Bounds | None = None, priced: bool = True
) -> Found:
    """The best configuration to change to; the account stands where the search has ended. ``priced``: see above."""
    bounds = bounds or Bounds()
    home, cost, size, topics = account.places.copy(), account.cost, len(account.places), len(account.problem.keys)
    price = change_cost(size, topics, 1) - size if priced and size > 1 else 0.0
    state = _Priced(account, home, price)
    state.way += ssbr_greedy(account)
    next_worst(state, bounds.rounds_max)
    warm(state, rng, bounds)
    next_worst(state, bounds.rounds_max)
    if priced:
        return best_of(home, cost, state.way, topics)
    return _cheapest(home, cost, state.way)


def next_worst(state: _Priced, rounds_max: int) -> None:
    for _ in range(rounds_max):
        before = state.value
        for broker in np.argsort(-state.account.broker_costs(), kind="stable").tolist():
            gains = state.gains(broker)
            other = int(np.argmax(gains))
            if is_less(state.account.cost - float(gains[other]), state.account.cost):
                state.swap(broker, other)
        if not is_less(state.value, before):
            return


def warm(state: _Priced, rng: np.random.Generator, bounds: Bounds) -> None:
    size, events = len(state.home), state.account.problem.events
    heat = bounds.heat * float(events.mean()) if events.size else 0.0
    for trial in range(bounds.trials_max):
        broker = int(rng.integers(size))
        noise = heat * (1 - trial / bounds.trials_max) * rng.gumbel(size=size)
        other = int(np.argmax(state.gains(broker) + noise))
        if other != broker:
            state.swap(broker, other)


def _cheapest(home: Ints, cost: float, way: list[Move]) -> Found:
    """Of all configurations on the way, whatever it costs to change to it."""
    costs = [cost, *(step.cost for step in way)]
    swaps = min(range(len(costs)), key=costs.__getitem__)
    places = home.copy()
    for step in way[:swaps]:
        places[step.broker], places[step.other] = places[step.other], places[step.broker]
    return Found(places, costs[swaps], swaps, cost - costs[swaps], 0.0)
