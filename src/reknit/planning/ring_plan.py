"""A plan of the ring: which brokers change places, in circles, what that is expected to bring, and the evidence.

Owns: the way from a mapping of brokers to places (``search``, ``greedy``) to steps that operators can carry out. Must
not know: where the numbers are from, how a plan is kept (``files``), or who carries it out.

A mapping is a permutation, and falls into circles: each broker of one goes where the next is. Circles do not touch each
other's brokers, so each is a step by itself, with its own price (Eq. 7). They come in the order of what each would save
alone; of all beginnings of that sequence the one that saves most beyond its price is the plan, as in Algorithm 4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import msgspec
import numpy as np

from reknit.model.ring import ring_id
from reknit.planning.change import change_cost
from reknit.planning.counts import Account, make_account
from reknit.planning.greedy import dynatops_greedy
from reknit.planning.notification import Problem
from reknit.planning.plan import VERSION
from reknit.planning.ring import Ints, Ring
from reknit.planning.search import Bounds, better_search

__all__ = [
    "SEARCHES",
    "Circle",
    "Need",
    "RingEvidence",
    "RingPlan",
    "RingRules",
    "circles",
    "make_ring_plan",
    "places_of",
]

SEARCHES = ("better", "greedy")
SMALL = 10_000
"""With fewer brokers times topics, arrays are quicker than to load what is compiled."""
DIGITS = 6
"""Of a cost: sums of floats may differ behind them from machine to machine."""


class RingRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a change of places is worth while, and how one is looked for."""

    horizon: float = 1.0
    """How many times the time that was watched a change has to last to pay."""
    delay_weight: float = 1.0
    """What a hop of delay costs, in messages: w_d."""
    search: str = "better"
    trials: int = Bounds().trials_max
    seed: int = 0


class RingEvidence(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the plan was made from, wherever that lay."""

    events: float
    topics: int
    wants: int
    """Pairs of a broker and a topic that its clients want."""
    seconds: float
    """That were watched."""
    since: float = 0.0


class Circle(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Each goes where the next one is, and the last to the first."""

    brokers: list[str]
    gain: float
    """Of the cost of notifying, over the time that was watched."""
    cost_after: float
    messages: int
    """That it takes, by Eq. 7, up to constants."""


class RingPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="ring"):
    version: int
    before: dict[str, int]
    """By broker, its id on the ring."""
    after: dict[str, int]
    steps: list[Circle]
    brokers: list[str]
    """That have another place in the end. All others take part in each step, too."""
    cost_before: float
    """Of notifying (Eq. 1 to 5), over the time that was watched."""
    cost_after: float
    messages: int
    """That the steps take by Eq. 7: the price."""
    locked: int
    """Times that a broker cannot take part in another change: all of them for each step. Events wait for none."""
    roots: int
    """Topics that come to another root, which is told who wants them."""
    rules: RingRules
    evidence: RingEvidence


@dataclass(frozen=True, slots=True)
class Need:
    """One topic: how many events it has, and which brokers want it."""

    topic: str
    events: float
    brokers: tuple[str, ...]


def make_ring_plan(ids: Mapping[str, int], needs: Sequence[Need], rules: RingRules, evidence: RingEvidence) -> RingPlan:
    """``ids``: where each broker is on the ring now, those that want nothing, too."""
    names, in_order = sorted(ids), sorted(needs, key=lambda need: need.topic)
    ring = Ring(list(ids.values()))
    home: Ints = np.array([ring.ids.index(ids[name]) for name in names], dtype=np.int32)
    problem = _problem(ring, names, in_order, rules.delay_weight)
    goal = _mapping(problem, home, rules)
    account = _account(problem, home)
    cost = account.cost
    steps = _best_beginning(account, names, circles(home, goal), rules.horizon)
    after = places_of(ids, [step.brokers for step in steps])
    brokers = sorted(name for name in names if after[name] != ids[name])
    keepers = {number: name for name, number in ids.items()}, {number: name for name, number in after.items()}
    roots = [ring.ids[ring.owner(key)] for key in problem.keys]
    return RingPlan(
        VERSION,
        {name: ids[name] for name in names},
        after,
        steps,
        brokers,
        round(cost, DIGITS),
        steps[-1].cost_after if steps else round(cost, DIGITS),
        sum(step.messages for step in steps),
        len(names) * len(steps),
        sum(keepers[0][root] != keepers[1][root] for root in roots),
        rules,
        evidence,
    )


def _problem(ring: Ring, names: list[str], needs: Sequence[Need], delay_weight: float) -> Problem:
    numbers = {name: number for number, name in enumerate(names)}
    wants = np.zeros((len(needs), len(names)), dtype=np.bool_)
    for row, need in enumerate(needs):
        wants[row, [numbers[name] for name in need.brokers]] = True
    events = np.array([need.events for need in needs], dtype=np.float64)
    return Problem(ring, tuple(ring_id(need.topic) for need in needs), wants, events, delay_weight)


def _account(problem: Problem, places: Ints) -> Account:
    return make_account(problem, places, "arrays" if problem.wants.size <= SMALL else None)


def _mapping(problem: Problem, home: Ints, rules: RingRules) -> Ints:
    """By broker, its place in the mapping that the search finds for all events of the horizon."""
    events = problem.events * rules.horizon
    whole = Problem(problem.ring, problem.keys, problem.wants, events, problem.delay_weight)
    account = _account(whole, home)
    if rules.search == "greedy":
        return dynatops_greedy(account).places
    return better_search(account, np.random.default_rng(rules.seed), Bounds(trials_max=rules.trials)).places


def circles(home: Ints, goal: Ints) -> list[list[int]]:
    """The circles of a permutation: each broker goes where the next one is at first."""
    whose = {int(place): broker for broker, place in enumerate(home.tolist())}
    found, seen = list[list[int]](), set[int]()
    for first in range(len(home)):
        circle, broker = list[int](), first
        while broker not in seen:
            seen.add(broker)
            circle.append(broker)
            broker = whose[int(goal[broker])]
        if len(circle) > 1:
            found.append(circle)
    return found


def _best_beginning(account: Account, names: list[str], found: list[list[int]], horizon: float) -> list[Circle]:
    brokers, topics = len(names), len(account.problem.keys)
    in_order = sorted(found, key=lambda circle: (-_alone(account, circle), [names[each] for each in circle]))
    steps, best, worth, at_first = list[Circle](), 0, 0.0, account.cost
    for number, circle in enumerate(in_order, 1):
        before = account.cost
        _turn(account, circle)
        price = round(change_cost(brokers, topics, len(circle)))
        gain, cost = round(before - account.cost, DIGITS), round(account.cost, DIGITS)
        steps.append(Circle([names[each] for each in circle], gain, cost, price))
        value = (at_first - account.cost) * horizon - sum(step.messages for step in steps)
        if value > worth:
            best, worth = number, value
    return steps[:best]


def _alone(account: Account, circle: list[int]) -> float:
    """What it saves if it is the only one; the account is as before then."""
    before = account.cost
    _turn(account, circle)
    gain = before - account.cost
    for one, other in reversed(list(pairwise(circle))):
        account.swap(one, other)
    return round(gain, DIGITS)


def _turn(account: Account, circle: list[int]) -> None:
    for one, other in pairwise(circle):
        account.swap(one, other)


def places_of(ids: Mapping[str, int], done: Sequence[Sequence[str]]) -> dict[str, int]:
    """By broker, its id once these circles have turned."""
    found = {name: ids[name] for name in sorted(ids)}
    for circle in done:
        goals = [found[name] for name in (*circle[1:], circle[0])]
        found |= zip(circle, goals, strict=True)
    return found
