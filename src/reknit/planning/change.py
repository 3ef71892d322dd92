"""When a change is worth while: Equations 6 to 8 and Algorithm 2 of DYNATOPS.

Owns: the price of a change in messages, the reconfigurability test, the time between changes, and the rates that are
expected. Must not know: how a better configuration is found, or how a change is made.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from reknit.planning.rates import ALPHA, expected_next
from reknit.planning.ring import Ints

__all__ = ["BETA", "Calendar", "Forecast", "change_cost", "change_cost_max", "is_reconfigurable", "moved"]

BETA = 0.1
"""A change is looked for where the cost exceeds this part of the dearest change, as in the paper."""


def moved(before: Ints, after: Ints) -> int:
    """Gamma: how many brokers have another place. A swap counts two."""
    return int(np.count_nonzero(before != after))


def change_cost(brokers: int, topics: int, changed: int) -> float:
    """Eq. 7 with constants of 1 and logarithms to the base of 2.

    It is a bound up to constants. The four steps alone are eight words for each broker; and each branch of the new
    version is grown from its root, so that none is hearsay, but all that go one way together are one message.
    """
    if changed == 0:
        return 0.0
    log = math.log2(brokers)
    return brokers + changed * log**2 + changed * topics * log


def change_cost_max(brokers: int, topics: int) -> float:
    """Every broker has another place."""
    return change_cost(brokers, topics, brokers)


def is_reconfigurable(cost: float, brokers: int, topics: int, beta: float = BETA) -> bool:
    """The test before any search: where notifying costs little, no change can pay."""
    return cost > beta * change_cost_max(brokers, topics)


@dataclass(slots=True)
class Calendar:
    """At least ``free_s`` seconds lie between two changes (T_free). A look is due so long after the last one, too."""

    free_s: float
    looked_at: float | None = None

    def __post_init__(self) -> None:
        if not 0 < self.free_s < math.inf:
            raise ValueError(f"the time between changes is a number of seconds above 0, not {self.free_s}")

    def due_at(self, now: float) -> float:
        return now if self.looked_at is None else self.looked_at + self.free_s

    def look(self, now: float) -> bool:
        """Whether it is time; if so, the next look is due ``free_s`` later."""
        if now < self.due_at(now):
            return False
        self.looked_at = now
        return True


@dataclass(slots=True)
class Forecast:
    """By topic, the events expected in the next period (Eq. 8). The first observation is the first estimate."""

    alpha: float = ALPHA
    rates: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0 < self.alpha <= 1:
            raise ValueError(f"the weight of the latest period lies above 0 and up to 1, not at {self.alpha}")

    def observe(self, counts: Mapping[str, float]) -> None:
        """One period is over; of topics that are not named there was no event."""
        for topic in [*self.rates, *(each for each in counts if each not in self.rates)]:
            seen = float(counts.get(topic, 0.0))
            known = self.rates.get(topic, seen)
            self.rates[topic] = expected_next(known, seen, self.alpha)
