"""What it costs to notify: Equations 1 to 5 and 10 to 12 of DYNATOPS, computed plainly from routes.

Owns: the problem as a value (a ring, who wants which topic, how many events are expected) and its cost. Must not know:
how a better configuration is found. This is the oracle: it walks every route anew, each time.

The way from a publisher to the root is left out, as in the paper. A message that an unsubscribed broker relays costs
one; the root relays nothing to itself, unless ``root_counts``. A hop takes one unit, or half of the round trip between
the two brokers where ``trips`` has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from reknit.planning.ring import Ints, Ring, Routes

__all__ = ["Bools", "Floats", "NoConfiguration", "Problem", "broker_costs", "check_places", "cost", "relays_and_delay"]

Floats: TypeAlias = npt.NDArray[np.float64]
Bools: TypeAlias = npt.NDArray[np.bool_]


class NoConfiguration(ValueError):
    """Not every broker has a place of its own."""


@dataclass(frozen=True, eq=False)
class Problem:
    """SSBR: the best place for each broker, given these."""

    ring: Ring
    keys: tuple[int, ...]
    """Of the topics."""
    wants: Bools
    """A row for each topic, a column for each broker: whether one of its users subscribes to it."""
    events: Floats
    """Of each topic, in the time that is looked at: N_p."""
    delay_weight: float = 1.0
    """w_d: what a unit of delay costs, in messages."""
    root_counts: bool = False
    trips: Floats | None = None
    """Round trips between brokers; None where each is as far from each other."""

    def __post_init__(self) -> None:
        topics, brokers = self.wants.shape
        if brokers != len(self.ring):
            raise NoConfiguration(f"{brokers} brokers and {len(self.ring)} places: each needs one")
        if len(self.keys) != topics or self.events.shape != (topics,):
            raise NoConfiguration(f"{topics} topics are wanted, {len(self.keys)} have a key, {self.events.size} events")
        if self.events.size and (not np.isfinite(self.events).all() or self.events.min() < 0):
            raise NoConfiguration("the number of a topic's events is a number from 0 on")
        if not 0 <= self.delay_weight < np.inf:
            raise NoConfiguration(f"the weight of delays is a number from 0 on, not {self.delay_weight}")
        if self.trips is not None and self.trips.shape != (brokers, brokers):
            raise NoConfiguration(f"round trips between {self.trips.shape} brokers, of {brokers}")

    @cached_property
    def roots(self) -> tuple[int, ...]:
        """By topic, the place of its rendezvous point."""
        return tuple(self.ring.owner(key) for key in self.keys)

    @cached_property
    def routes(self) -> Routes:
        """With a row for each root that some topic has."""
        return Routes.on(self.ring, sorted(set(self.roots)))

    @cached_property
    def rows(self) -> Ints:
        """By topic, the row of its root in ``routes``."""
        at = {int(root): row for row, root in enumerate(self.routes.roots)}
        return np.array([at[root] for root in self.roots], dtype=np.int32)


def check_places(places: Sequence[int] | Ints, ring: Ring) -> Ints:
    """By broker, its place; ``NoConfiguration`` if two have one, or one is none."""
    found: dict[int, int] = {}
    for broker, place in enumerate(int(each) for each in places):
        if not 0 <= place < len(ring):
            raise NoConfiguration(f"broker {broker} is to be at place {place}, of {len(ring)}")
        if place in found:
            raise NoConfiguration(f"brokers {found[place]} and {broker} are both to be at place {place}")
        found[place] = broker
    if len(found) != len(ring):
        raise NoConfiguration(f"{len(found)} brokers have a place, of {len(ring)}")
    return np.array(places, dtype=np.int32)


def cost(problem: Problem, places: Sequence[int] | Ints) -> float:
    """Eq. 5, by Eq. 3 and 4: subscriptions stay what they are."""
    total = 0.0
    for topic, count in enumerate(problem.events):
        relays, delay = relays_and_delay(problem, places, topic)
        total += float(count) * (relays + problem.delay_weight * delay)
    return total


def relays_and_delay(problem: Problem, places: Sequence[int] | Ints, topic: int) -> tuple[int, float]:
    """o_relay and d of one topic: unsubscribed brokers on its tree, and the sum over subscribers of their delay."""
    relays, delays = _of_topic(problem, places, topic)
    return len(relays), sum(delays.values())


def broker_costs(problem: Problem, places: Sequence[int] | Ints) -> Floats:
    """c_b of Eq. 10 to 12: what each broker adds to the cost."""
    costs = np.zeros(len(problem.ring))
    for topic, count in enumerate(problem.events):
        relays, delays = _of_topic(problem, places, topic)
        for broker in relays:
            costs[broker] += count
        for broker, delay in delays.items():
            costs[broker] += count * problem.delay_weight * delay
    return costs


def _of_topic(problem: Problem, places: Sequence[int] | Ints, topic: int) -> tuple[list[int], dict[int, float]]:
    """The brokers that relay without having subscribed, and the delay to each one that has."""
    at = {int(place): broker for broker, place in enumerate(places)}
    subscribers = [broker for broker in range(len(at)) if problem.wants[topic, broker]]
    on_tree: dict[int, None] = {}
    delays: dict[int, float] = {}
    for broker in subscribers:
        way = [at[place] for place in problem.ring.route(problem.roots[topic], int(places[broker]))]
        on_tree.update(dict.fromkeys(way if problem.root_counts else way[1:]))
        delays[broker] = sum(_hop(problem, *hop) for hop in pairwise(way))
    return [broker for broker in on_tree if not problem.wants[topic, broker]], delays


def _hop(problem: Problem, one: int, other: int) -> float:
    return 1.0 if problem.trips is None else float(problem.trips[one, other]) / 2
