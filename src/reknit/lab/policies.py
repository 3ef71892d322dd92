"""Where users are managed: for good wherever they were at first, where they are, or by interest.

By interest it is Algorithm 1 that decides (``reknit.planning.placement``): a user asks the broker that it has.
Where users have a place, a cluster is responsible for the cells of its brokers; whoever has left these asks the broker
of the cell where it is now.

Owns: these three. Must not know: networks, or what is measured.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from reknit.lab.demand import Change
from reknit.planning.placement import Placement
from reknit.planning.ring import Ints

__all__ = ["ByInterest", "Following", "along_curve", "settle"]

EXCHANGES = 100
"""How often clusters tell each other what they have while everybody comes."""


class Following:
    """``broker_of``: by user, at the moment. One that never changes is static placement."""

    def __init__(self, brokers: int, topics: int, broker_of: Callable[[int], int]) -> None:
        self.placement = Placement(brokers, topics)
        self._broker_of = broker_of

    def put(self, change: Change) -> None:
        self.placement.place(change.user, change.topics, self._broker_of(change.user))

    def step(self, hours: float) -> float:
        return 0.0


class ByInterest:
    """``entry_of``: the broker to ask if a user has none, or has left the cells of its cluster (``bound``)."""

    def __init__(self, placement: Placement, entry_of: Callable[[int], int], update_h: float, bound: bool) -> None:
        self.placement, self._entry_of, self._update_h, self._bound = placement, entry_of, update_h, bound
        self._hours = 0.0

    def put(self, change: Change) -> None:
        self.placement.join(change.user, change.topics, self._asked(change.user))

    def _asked(self, user: int) -> int:
        home, cluster_of = self.placement.home.get(user), self.placement.cluster_of
        if home is not None and not self._bound:
            return home
        entry = self._entry_of(user)
        return home if home is not None and cluster_of[home] == cluster_of[entry] else entry

    def step(self, hours: float) -> float:
        self._hours += hours
        messages = 0.0
        while self._hours >= self._update_h:
            self._hours -= self._update_h
            messages += sum(len(each) * (len(each) - 1) for each in self.placement.members)
        if messages:
            self.placement.exchange()
        return messages


def settle(policy: Following | ByInterest, changes: list[Change]) -> None:
    """Everybody comes, one after the other."""
    pause = max(1, len(changes) // EXCHANGES)
    for number, change in enumerate(changes, 1):
        policy.put(change)
        if number % pause == 0:
            policy.placement.exchange()
    policy.placement.exchange()


def along_curve(rows: int, columns: int, size: int) -> Ints:
    """By cell, its cluster: so many are together that follow each other on Hilbert's curve, so they are near."""
    order = 1
    while 1 << order < max(rows, columns):
        order += 1
    places = [_along(order, cell // columns, cell % columns) for cell in range(rows * columns)]
    ranks = np.argsort(np.argsort(np.array(places)))
    return (ranks // size).astype(np.int32)


def _along(order: int, x: int, y: int) -> int:
    """How far along the curve of this order a cell is."""
    found = 0
    for bit in range(order - 1, -1, -1):
        right, up = x >> bit & 1, y >> bit & 1
        found += (1 << 2 * bit) * (3 * right ^ up)
        if not up:
            if right:
                x, y = (1 << order) - 1 - x, (1 << order) - 1 - y
            x, y = y, x
    return found
