"""The closed formulas of the paper's section 4, as section 8.2 of the errata corrects them.

A chain of topics is a sequence of levels, the root first: ``levels[0]`` is the root, ``levels[-1]`` where events are
published. The numbers of a level are those of the community there. Where the paper's own form is wrong it is here
too, under a name that says so, to be shown beside the right one.

Owns: mathematics. Must not know: peers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, floor, inf, log, prod

__all__ = [
    "Level",
    "broadcast_memory",
    "broadcast_messages",
    "broadcast_reliability",
    "c_for_broadcast",
    "c_for_hierarchical",
    "c_for_multicast",
    "fan_out",
    "hierarchical_memory",
    "hierarchical_messages",
    "hierarchical_reliability",
    "latency",
    "memory",
    "messages",
    "multicast_memory",
    "multicast_messages",
    "multicast_reliability",
    "parasites_of_broadcast",
    "passing",
    "passing_as_printed",
    "passing_of_survivors",
    "pmcast_rounds",
    "pmcast_view",
    "push_rounds",
    "reach",
    "reception",
    "reliability",
    "reliability_as_sent",
    "reliability_inside",
    "rounds",
    "upward_messages",
    "vouching",
    "whole_inside",
    "z_within_broadcast",
    "z_within_hierarchical",
    "z_within_multicast",
]


@dataclass(frozen=True, slots=True)
class Level:
    """One community. ``p_succ``: how likely a message from one process reaches another that lives."""

    population: int
    c: float = 5.0
    g: float = 5.0
    a: float = 1.0
    z: int = 3
    p_succ: float = 1.0

    @property
    def p_sel(self) -> float:
        return min(1.0, self.g / self.population)

    @property
    def p_a(self) -> float:
        return min(1.0, self.a / self.z)


# --- one community


def fan_out(population: float, c: float) -> int:
    """Messages that one process sends: the floor, as the paper's own Table 2 shows."""
    return max(0, floor(log(population) + c))


def reliability_inside(c: float) -> float:
    """How likely all of a community are reached, as it grows without bound: ``exp(-exp(-c))``."""
    return exp(-exp(-c))


def whole_inside(population: int, effective_fan_out: float) -> float:
    """The same for a community of so many, each of whom gets one of ``effective_fan_out`` messages across to others.

    A member is missed if none of the others draws it and gets through; that there is none such is Poisson's.
    """
    others = population - 1
    if others < 1:
        return 1.0
    missed = max(0.0, 1.0 - effective_fan_out / others) ** others
    return exp(-others * missed)


def reach(effective_fan_out: float) -> float:
    """The share of a community that is reached once an event has taken off: it solves ``pi = 1 - exp(-pi f)``."""
    if effective_fan_out <= 1.0:
        return 0.0
    share = 1.0
    for _ in range(ITERATIONS_MAX):
        share, before = 1.0 - exp(-share * effective_fan_out), share
        if abs(share - before) < 1e-15:
            break
    return share


ITERATIONS_MAX = 10_000


def rounds(population: float) -> float:
    """Until all of a community are reached: ``ln N / ln ln N``, up to a constant (Equation 12)."""
    return log(population) / log(log(population)) if population > 15 else log(max(1.0, population))


# --- from one community to the next


def upward_messages(level: Level) -> float:
    """That are received above, on average."""
    return level.population * level.p_sel * level.p_a * level.z * level.p_succ


def passing_as_printed(level: Level, reached: float = 1.0) -> float:
    """Equation 6: the expected number of messages as an exponent, as if it were the same each time. Too high."""
    return 1.0 - float((1.0 - level.p_succ) ** (upward_messages(level) / level.p_succ * reached))


def passing(level: Level, reached: float = 1.0) -> float:
    """How likely at least one message gets from this level to the next; ``reached``: the share that has the event."""
    one = 1.0 - (1.0 - level.p_a * level.p_succ) ** level.z
    return 1.0 - (1.0 - level.p_sel * reached * one) ** level.population


def vouching(level: Level, alive: float, tries: int) -> float:
    """How likely one of the ``z`` that one process knows above gets an event it vouches for, if a share is alive."""
    return 1.0 - (1.0 - alive * (1.0 - (1.0 - level.p_succ) ** tries)) ** level.z


def passing_of_survivors(level: Level, alive: float) -> float:
    """``passing`` where of senders and receivers only this share is alive, and nobody knows which."""
    one = 1.0 - (1.0 - level.p_a * alive * level.p_succ) ** level.z
    return 1.0 - (1.0 - level.p_sel * one) ** round(alive * level.population)


# --- a chain of communities


def messages(levels: Sequence[Level]) -> float:
    """Equation 1: sent inside all communities, and received upward from all but the root."""
    inside = sum(level.population * (log(level.population) + level.c) for level in levels)
    return inside + sum(upward_messages(level) for level in levels[1:])


def memory(level: Level, is_root: bool = False) -> float:
    """Entries in the tables of one process, however many subtopics there are."""
    return log(level.population) + level.c + (0 if is_root else level.z)


def reliability(levels: Sequence[Level], at: int) -> float:
    """How likely all processes of level ``at`` get an event of the last level."""
    inside = prod(reliability_inside(level.c) for level in levels[at:])
    return inside * prod(passing(level) for level in levels[at + 1 :])


def reliability_as_sent(levels: Sequence[Level], at: int) -> float:
    """The same with real fan-outs and loss, and for communities of a few: all of ``at``, and anybody of those below."""
    reached = [reach(fan_out(level.population, level.c) * level.p_succ) for level in levels]
    passed = (passing(levels[i], reached[i]) for i in range(at + 1, len(levels)))
    last = levels[at]
    return whole_inside(last.population, fan_out(last.population, last.c) * last.p_succ) * prod(passed)


def reception(levels: Sequence[Level], at: int) -> float:
    """How likely a process of level ``at`` that lives gets an event of the last level, with real fan-outs and loss."""
    reached = [reach(fan_out(level.population, level.c) * level.p_succ) for level in levels]
    passed = (passing(levels[i], reached[i]) for i in range(at + 1, len(levels)))
    return reached[at] * prod(passed)


def latency(levels: Sequence[Level], at: int, case: str = "average") -> float:
    """Rounds from the last level to all of level ``at``: ``best``, ``average`` or ``worst`` (section 4.6)."""
    climb = len(levels) - 1 - at
    if case == "best":
        return climb + rounds(levels[at].population)
    through = sum(rounds(level.population) for level in levels[at:])
    return climb + (through if case == "worst" else through / 2)


# --- gossip broadcast, gossip multicast, hierarchical gossip broadcast


def broadcast_messages(processes: int, c: float) -> float:
    return processes * (log(processes) + c)


def broadcast_memory(processes: int, c: float) -> float:
    return log(processes) + c


def broadcast_reliability(c: float) -> float:
    return reliability_inside(c)


def parasites_of_broadcast(processes: int, interested: int, c: float, p_succ: float) -> float:
    """Messages received by processes that do not want the event (Table 2, row 2)."""
    return (processes - interested) * fan_out(processes, c) * p_succ


def multicast_messages(levels: Sequence[Level]) -> float:
    return sum(level.population * (log(level.population) + level.c) for level in levels)


def multicast_memory(levels: Sequence[Level]) -> float:
    """Of a process that wants the root: a table for each level."""
    return sum(log(level.population) + level.c for level in levels)


def multicast_reliability(levels: Sequence[Level]) -> float:
    return prod(reliability_inside(level.c) for level in levels)


def hierarchical_messages(clusters: int, members: int, c1: float, c2: float) -> float:
    return clusters * members * hierarchical_memory(clusters, members, c1, c2)


def hierarchical_memory(clusters: int, members: int, c1: float, c2: float) -> float:
    return c1 + c2 + log(clusters) + log(members)


def hierarchical_reliability(clusters: int, c1: float, c2: float) -> float:
    return exp(-clusters * exp(-c1) - exp(-c2))


# --- as reliable as one of those, with ``x`` levels of equal size: which c it takes, and how large z may be

NONE = inf
"""No ``c`` is enough: what is lost between communities cannot be made good inside them."""


def _c_for(failure: float, x: int, pit: float) -> float:
    """From ``x (e^-c1 - ln pit) = failure``, where ``failure`` is minus the logarithm of the reliability wanted."""
    left = failure / x + log(pit)
    return -log(left) if left > 0.0 else NONE


def c_for_broadcast(c: float, x: int, pit: float) -> float:
    return _c_for(exp(-c), x, pit)


def c_for_multicast(c: float, pit: float) -> float:
    return _c_for(exp(-c), 1, pit)


def c_for_hierarchical(c: float, x: int, pit: float, clusters: int) -> float:
    return _c_for((clusters + 1) * exp(-c), x, pit)


def z_within_broadcast(c: float, x: int, pit: float, processes: int, population: int) -> float:
    """With a z up to this, memory is no larger than that of a broadcast that is as reliable."""
    return log(processes) + c - log(population) - c_for_broadcast(c, x, pit)


def z_within_multicast(c: float, x: int, pit: float, population: int) -> float:
    return x * (log(population) + c) - log(population) - c_for_multicast(c, pit)


def z_within_hierarchical(c: float, x: int, pit: float, clusters: int) -> float:
    """Where clusters are as large as communities."""
    return log(clusters) + 2 * c - c_for_hierarchical(c, x, pit, clusters)


# --- PMcast


def push_rounds(processes: float, fan: float) -> float:
    """Pittel's estimate for push gossip, without its constant."""
    return log(processes) * (1.0 / fan + 1.0 / log(fan + 1.0)) if processes > 1.0 else 0.0


def pmcast_rounds(branching: int, depth: int, delegates: int, fan: float) -> float:
    """Over all depths, one after the other."""
    return (depth - 1) * push_rounds(delegates * branching, fan) + push_rounds(branching, fan)


def pmcast_view(branching: int, depth: int, delegates: int) -> int:
    """Entries in the views of one process."""
    return delegates * branching * (depth - 1) + branching
