"""SSBR-Greedy and DYNATOPS-Greedy: Algorithms 3 and 4 of DYNATOPS, as they must be read to do what the text says.

Algorithm 3 has lost the marks that tell its two costs apart. There are two: that of the configuration at hand, and that
of the best neighbour found so far; the loop goes on while the second is below the first. The neighbours of a
configuration are the swaps of the broker with the highest cost of its own (Eq. 12) with each other one. Algorithm 4
then picks, of all configurations on the way, the one whose benefit exceeds its cost most; the first, where nothing has
changed, is among them with neither, so nothing is changed unless something is gained.

Owns: these two algorithms. Must not know: how costs are kept. ``search`` goes on where these stop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reknit.planning.change import change_cost, moved
from reknit.planning.counts import Account
from reknit.planning.ring import Ints

__all__ = ["SWAPS_MAX", "Found", "Move", "best_of", "best_swap", "dynatops_greedy", "is_less", "ssbr_greedy"]

SWAPS_MAX = 10_000
"""Of one run: a bound, not a goal. Each swap lowers the cost, so none comes twice."""

ROUNDING = 1e-9
"""Sums of floats that differ by less than this part are equal: or a search would go round in circles."""


@dataclass(frozen=True, slots=True)
class Move:
    """A step on the way: two brokers that changed places, and the cost from then on."""

    broker: int
    other: int
    cost: float


@dataclass(frozen=True, slots=True)
class Found:
    """The configuration that is best to change to. ``swaps``: how many of the way's steps lead there."""

    places: Ints
    cost: float
    swaps: int
    benefit: float
    price: float

    @property
    def utility(self) -> float:
        return self.benefit - self.price


def is_less(cost: float, than: float) -> bool:
    return cost < than - ROUNDING * abs(than)


def best_swap(account: Account, broker: int) -> tuple[int, float]:
    """With whom the broker should change places, and what that saves; of equal ones the first."""
    gains = account.gains(broker)
    other = int(np.argmax(gains))
    return other, float(gains[other])


def ssbr_greedy(account: Account, swaps_max: int = SWAPS_MAX) -> list[Move]:
    """The way of improvement from where the account stands; it stands at the end of it afterwards."""
    way: list[Move] = []
    while len(way) < swaps_max:
        worst = int(np.argmax(account.broker_costs()))
        other, gain = best_swap(account, worst)
        if not is_less(account.cost - gain, account.cost):
            break
        account.swap(worst, other)
        way.append(Move(worst, other, account.cost))
    return way


def best_of(places: Ints, cost: float, way: Sequence[Move], topics: int) -> Found:
    """Step two of Algorithm 4. ``places``, ``cost``: where the way begins."""
    best = Found(places, cost, 0, 0.0, 0.0)
    now = places.copy()
    for number, step in enumerate(way, 1):
        now[step.broker], now[step.other] = now[step.other], now[step.broker]
        price = change_cost(len(places), topics, moved(places, now))
        if cost - step.cost - price > best.utility:
            best = Found(now.copy(), step.cost, number, cost - step.cost, price)
    return best


def dynatops_greedy(account: Account, swaps_max: int = SWAPS_MAX) -> Found:
    places, cost = account.places.copy(), account.cost
    return best_of(places, cost, ssbr_greedy(account, swaps_max), len(account.problem.keys))
