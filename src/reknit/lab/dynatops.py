"""DYNATOPS and what it is compared with, under the same users: who manages them, how events go, and what changes cost.

A *system* is a way to place users (``policies``) and a network of brokers. What brokers want follows from their users;
on a ring it is the real planning that decides about places (``reknit.planning``), and routes are those of the brokers.
The others are stand-ins for what the paper compares with (``digits``, ``connected``).

What is counted, in messages between brokers (section 6.2): *management*, when brokers come or cease to want a topic (up
to its root and down again; in GeoPS only up, as the root keeps who wants it), and when clusters tell each other what
they have; *overhead*, for one event, from the publisher's broker to the root and to all brokers that want it; *delay*,
of one delivery from user to user; *reconfiguration*, for changes of the network. A rejoin of the ring is charged with
``ceil(log2(n) ** 2)``; the rest of a change as it is, topic by topic.

Planning takes every hop for equal, also where round trips differ, unless it is to know them (``by_trips``): what is
measured are the round trips.

Owns: systems and what is counted. Must not know: experiments and their claims.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from reknit.lab.connected import Connected
from reknit.lab.demand import Change, Demand
from reknit.lab.ways import Ways, ring_ways
from reknit.model.ring import ring_id
from reknit.planning.change import Calendar, Forecast, is_reconfigurable, moved
from reknit.planning.counts import make_account
from reknit.planning.greedy import dynatops_greedy
from reknit.planning.notification import Bools, Floats, Problem
from reknit.planning.placement import Placement
from reknit.planning.ring import Ints, Ring, hops_ahead
from reknit.planning.search import Bounds, better_search

__all__ = ["Constant", "Network", "OnRing", "Policy", "Tally", "TopicConnected", "change_messages", "simulate"]


QUICK = Bounds(trials_max=0)


@dataclass(slots=True)
class Tally:
    changes: int = 0
    """Topics that brokers have come or ceased to want."""
    management: float = 0.0
    handovers: int = 0
    events: int = 0
    messages: float = 0.0
    deliveries: float = 0.0
    delay: float = 0.0
    """The sum over deliveries."""
    reconfiguration: float = 0.0
    reconfigurations: int = 0
    load_spread: float = 0.0
    """The standard deviation of brokers' load, in the mean over steps."""

    def row(self) -> dict[str, float]:
        return {
            "changes": self.changes,
            "management": self.management,
            "handovers": self.handovers,
            "published": self.events,
            "overhead": self.messages / max(self.events, 1),
            "delay": self.delay / max(self.deliveries, 1),
            "reconfiguration": self.reconfiguration,
            "reconfigurations": self.reconfigurations,
            "load_spread": self.load_spread,
        }


class Policy(Protocol):
    """Where users are."""

    placement: Placement

    def put(self, change: Change) -> None: ...

    def step(self, hours: float) -> float:
        """So much time is over. Messages in which brokers have told each other what they have."""


class Network(Protocol):
    """How events go. Brokers are numbers here."""

    def management(self, changed: Ints) -> float:
        """Messages for so many changes of each topic at each broker."""

    def carry(self, wants: Bools, topics: Ints, brokers: Ints) -> tuple[float, Floats, Floats]:
        """Of events from these brokers: all messages; by event the delay to the root; by topic and broker, from it."""

    def follow(self, wants: Bools) -> float:
        """Messages for what has to change at once, because brokers want other topics now."""

    def adapt(self, wants: Bools, counts: Floats, hours: float) -> float:
        """So much time is over, with so many events of each topic. Messages, if the network changes; else none."""


@dataclass
class Constant:
    """A network that never changes. ``down_too``: whether a join goes down again to who asks for it."""

    ways: Ways
    trips: Floats | None = None
    down_too: bool = True

    def __post_init__(self) -> None:
        self._up, self._down = self.ways.up.delays(self.trips), self.ways.down.delays(self.trips)

    def management(self, changed: Ints) -> float:
        return float((changed * (self.ways.membership if self.down_too else self.ways.up.hops)).sum())

    def carry(self, wants: Bools, topics: Ints, brokers: Ints) -> tuple[float, Floats, Floats]:
        up = self.ways.up.hops[topics, brokers].sum()
        return float(up + self.ways.messages(wants)[topics].sum()), self._up[topics, brokers], self._down

    def follow(self, wants: Bools) -> float:
        return 0.0

    def adapt(self, wants: Bools, counts: Floats, hours: float) -> float:
        return 0.0


@dataclass
class OnRing:
    """Brokers on a ring. ``free_h``: T_free, or 0 if they never change places: consistent hashing, then."""

    brokers: int
    topics: int
    free_h: float = 0.0
    delay_weight: float = 1.0
    trips: Floats | None = None
    stands_for: float = 1.0
    """How many events one that is simulated is, where plans are made."""
    searching: np.random.Generator | None = None
    """With it, our own search makes the plans, without its warm stage; else the paper's greedy one."""
    by_trips: bool = False
    """Plans know the round trips, and an average hop counts as any does elsewhere; else all hops are equal to them."""

    def __post_init__(self) -> None:
        self.ring = Ring([ring_id(f"broker {number}") for number in range(self.brokers)])
        self.keys = tuple(ring_id(f"topic {number}") for number in range(self.topics))
        self.ways = ring_ways(self.ring, self.keys)
        names = [ring_id(f"broker {number}") for number in range(self.brokers)]
        self.places = np.argsort(np.argsort(np.array(names, dtype=np.uint64))).astype(np.int32)
        self._forecast, self._seen, self._hours = Forecast(), np.zeros(self.topics), 0.0
        self._calendar = Calendar(self.free_h, 0.0) if self.free_h else None
        self._settle()

    def _settle(self) -> None:
        """Brokers are where they are now."""
        order = np.argsort(self.places)  # by place, the broker
        trips = None if self.trips is None else self.trips[np.ix_(order, order)]
        self._order = order
        self._up = self.ways.up.delays(trips)[:, self.places]
        self._down = self.ways.down.delays(trips)[:, self.places]

    def management(self, changed: Ints) -> float:
        return float((changed * self.ways.membership[:, self.places]).sum())

    def carry(self, wants: Bools, topics: Ints, brokers: Ints) -> tuple[float, Floats, Floats]:
        up = self.ways.up.hops[topics, self.places[brokers]].sum()
        messages = self.ways.messages(wants[:, self._order])[topics].sum()
        return float(up + messages), self._up[topics, brokers], self._down

    def follow(self, wants: Bools) -> float:
        return 0.0

    def adapt(self, wants: Bools, counts: Floats, hours: float) -> float:
        self._seen += self.stands_for * counts
        self._hours += hours
        if self._calendar is None or not self._calendar.look(self._hours):
            return 0.0
        self._forecast.observe({str(topic): float(count) for topic, count in enumerate(self._seen)})
        self._seen[:] = 0.0
        expected = np.array([self._forecast.rates[str(topic)] for topic in range(self.topics)])
        far = 2 * self.trips / self.trips.mean() if self.by_trips and self.trips is not None else None
        problem = Problem(self.ring, self.keys, wants, expected, self.delay_weight, trips=far)
        account = make_account(problem, self.places)
        if not is_reconfigurable(account.cost, self.brokers, self.topics):
            return 0.0
        found = dynatops_greedy(account) if self.searching is None else better_search(account, self.searching, QUICK)
        if not found.swaps:
            return 0.0
        before, self.places = self.places, found.places
        self._settle()
        return change_messages(self.ring, self.ways, wants, before, self.places)


def change_messages(ring: Ring, ways: Ways, wants: Bools, before: Ints, after: Ints) -> float:
    """The four steps: words of the manager and answers, rejoins, tables that move, and topics that are put right."""
    size, gone = len(ring), np.flatnonzero(before != after)
    if not gone.size:
        return 0.0
    orders = 3 * 2 * size + 2 * moved(before, after)  # RCFG_INIT, RCFG_PUBSUB, RCFG_FINISH to all; RCFG_OVERLAY
    rejoins = gone.size * math.ceil(math.log2(size) ** 2)
    ahead = hops_ahead(ring)
    tables = 0
    for broker in gone.tolist():  # 3.1: from the new place to who has the old one
        here, goal = int(after[broker]), int(before[broker])
        while here != goal:
            here = (here + int(ahead[here, (goal - here) % size])) % size
            tables += 1
    was, now = wants[:, np.argsort(before)], wants[:, np.argsort(after)]
    return float(orders + rejoins + tables + ways.membership[was != now].sum())  # 3.2


class TopicConnected:
    """TCO, with one unit of delay for a hop. Of each topic's events one publisher stands for all in a step."""

    def __init__(self, wants: Bools, rng: np.random.Generator) -> None:
        self.overlay = Connected(wants, rng)

    def management(self, changed: Ints) -> float:
        return 0.0  # it is the links that change

    def carry(self, wants: Bools, topics: Ints, brokers: Ints) -> tuple[float, Floats, Floats]:
        sources = np.zeros(len(wants), dtype=np.int32)
        sources[topics] = brokers
        messages, hops = self.overlay.spread(sources)
        return float(messages[topics].sum()), np.zeros(len(topics)), np.maximum(hops, 0).astype(np.float64)

    def follow(self, wants: Bools) -> float:
        return float(self.overlay.update(wants))

    def adapt(self, wants: Bools, counts: Floats, hours: float) -> float:
        return 0.0


@dataclass
class _Run:
    demand: Demand
    policy: Policy
    network: Network
    hours: float
    legs: Floats | None
    tally: Tally = field(default_factory=Tally)

    def step(self, changes: Iterable[Change], topics: Ints, publishers: Ints) -> None:
        placement = self.policy.placement
        for change in changes:
            self.policy.put(change)
        self.tally.management += self.policy.step(self.hours) + self.network.management(placement.changed)
        self.tally.changes += int(placement.changed.sum())
        placement.changed[:] = 0
        wants = placement.wants
        counts = np.bincount(topics, minlength=self.demand.topics).astype(np.float64)
        self._changed(self.network.follow(wants))
        if len(topics):
            self._carry(wants, topics, publishers, counts)
        self._changed(self.network.adapt(wants, counts, self.hours))
        self.tally.load_spread += float(placement.loads.std())

    def _changed(self, messages: float) -> None:
        self.tally.reconfiguration += messages
        self.tally.reconfigurations += messages > 0

    def _carry(self, wants: Bools, topics: Ints, publishers: Ints, counts: Floats) -> None:
        placement = self.policy.placement
        homes = np.array([placement.home[user] for user in range(self.demand.users)], dtype=np.int32)
        messages, up, down = self.network.carry(wants, topics, homes[publishers])
        readers = placement.counts.sum(axis=1)
        last = (placement.counts * down).sum(axis=1)
        if self.legs is not None:
            trips = self._trips(homes) / 2
            up = up + trips[publishers]
            for user, wanted in placement.topics.items():
                last[list(wanted)] += trips[user]
        self.tally.events += len(topics)
        self.tally.messages += messages
        self.tally.deliveries += float((counts * readers).sum())
        self.tally.delay += float((counts * last).sum() + (up * readers[topics]).sum())

    def _trips(self, homes: Ints) -> Floats:
        """By user, the round trip to its broker; ``legs`` says where brokers are, and spots are in degrees."""
        assert self.legs is not None
        apart: Floats = np.sqrt(((self.demand.spots - self.legs[homes]) ** 2).sum(axis=1))
        return apart * MS_PER_DEGREE


MS_PER_DEGREE = 2.0
"""Of a round trip; only ratios matter."""


def simulate(demand: Demand, policy: Policy, network: Network, hours: float, legs: Floats | None = None) -> Tally:
    """``hours``: of one step. ``legs``: where brokers are, if the way between user and broker counts.

    Everybody is placed before anything is counted.
    """
    placement = policy.placement
    placement.handovers = 0
    placement.changed[:] = 0
    run = _Run(demand, policy, network, hours, legs)
    steps = 0
    for changes, topics, publishers in demand.steps():
        run.step(changes, topics, publishers)
        steps += 1
    run.tally.load_spread /= max(steps, 1)
    run.tally.handovers = placement.handovers
    return run.tally
