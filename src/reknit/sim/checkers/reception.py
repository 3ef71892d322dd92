"""An event that is published in a calm reaches each member at least as often as the formula says.

Who gossips to whom is in the trace, so the formula need not assume tables: a member with tables as they are misses an
event if none of those who know it sends it a copy that arrives, ``1 - r_i = prod (1 - r_j q_j)`` over them, where
``q_j`` is how likely ``j`` picks one of its table, and the copy is not lost. From community to community it is the
corrected ``pit`` of the errata, over the tables as they are. A member that nobody knows is owed nothing: that it is
so is for others to judge.

What is missed is chance, so it is judged by how unlikely it is: for each community the shares of members that have
missed an event are added up over all events, and by Chernoff's bound such a sum is hardly ever much larger than its
mean. The mean is the formula's; where a peer goes by an estimate of N, that may be wrong by a factor, to the worse.

Owns: that judgement. Must not know: anything but the trace, and the parameters of the communities.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import exp, floor, log

from reknit.sim.checkers.views import Tables, follow
from reknit.sim.checkers.violation import Violation
from reknit.trace.records import Kind, Record

__all__ = ["Terms", "Verdict", "chances", "check_reception"]

UNLIKELY = 1e-7
"""Violations by chance are rarer than this, for each community of a schedule."""

ROUNDING = 1e-9

POPULATION_ERROR = 1.5
"""A count of the community may be wrong by such a factor (see ``community.census``: three standard errors)."""


@dataclass(frozen=True, slots=True)
class Terms:
    """Parameters of all communities, and of the network between them."""

    c: float
    g: float
    a: float
    z: int
    p_succ: float


@dataclass(slots=True)
class Verdict:
    """``owed``: deliveries that the formula expects, as a number."""

    violations: list[Violation] = field(default_factory=list)
    judged: int = 0
    owed: float = 0.0
    received: int = 0


Ladder = Callable[[str], tuple[str, ...]]
"""From an event's topic to the topic filters of the communities that it belongs to, its own first, the root last."""


def chances(tables: Tables, ladder: tuple[str, ...], publisher: str, terms: Terms) -> dict[str, dict[str, float]]:
    """For each community that the event belongs to, how likely each member gets it."""
    got: dict[str, dict[str, float]] = {}
    for place, topic in enumerate(ladder):
        if not tables.members.get(topic):
            continue
        if place == 0:
            got[topic] = _inside(tables, topic, publisher, terms)
            continue
        missing, entries = 1.0, dict.fromkeys(tables.members[topic], 0.0)
        for below in got:
            missing *= _rise(tables, below, topic, got[below], entries, terms)
        got[topic] = _from_entries(tables, topic, 1.0 - missing, entries, terms)
    return got


def _from_entries(
    tables: Tables, topic: str, arrives: float, entries: dict[str, float], terms: Terms
) -> dict[str, float]:
    """Where it is not known who gets the first message: each by how likely that is it."""
    total = sum(entries.values())
    got = dict.fromkeys(entries, 0.0)
    for entry, weight in entries.items():
        if weight:
            for peer, chance in _inside(tables, topic, entry, terms).items():
                got[peer] += arrives * chance * weight / total
    return got


def _inside(tables: Tables, topic: str, first: str, terms: Terms) -> dict[str, float]:
    """How likely each member gets what ``first`` has, by copies that lead away from there."""
    members = tables.members[topic]
    fan = max(0, floor(log(max(1.0, len(members) / POPULATION_ERROR)) + terms.c))
    got = dict.fromkeys(members, 0.0)
    layer = {first: 1.0}
    reached: dict[str, None] = {}
    while layer:
        got.update(layer)
        reached.update(dict.fromkeys(layer))
        missing: dict[str, float] = {}
        for peer, chance in layer.items():
            table = tables.table(peer, topic)
            pick = terms.p_succ * min(1.0, fan / len(table)) if table else 0.0
            for other in table:
                if other in members and other not in reached:
                    missing[other] = missing.get(other, 1.0) * (1.0 - chance * pick)
        layer = {peer: 1.0 - each for peer, each in missing.items()}
    return got


def _rise(
    tables: Tables, below: str, topic: str, got: dict[str, float], entries: dict[str, float], terms: Terms
) -> float:
    """How likely no message gets from the community ``below`` to this one; ``entries``: how likely who gets one."""
    members = tables.members[topic]
    p_sel = min(1.0, terms.g / (len(got) * POPULATION_ERROR))
    missing = 1.0
    for peer, chance in got.items():
        if peer in members:
            entries[peer] += chance
            missing *= 1.0 - chance
            continue
        known = tables.above(peer, below)
        alive = [other for community, other in known if community == topic and other in members]
        p_a = min(1.0, terms.a / terms.z) * terms.p_succ
        missing *= 1.0 - chance * p_sel * (1.0 - (1.0 - p_a) ** len(alive))
        for other in alive:
            entries[other] += chance * p_sel * p_a
    return missing


@dataclass(slots=True)
class _Event:
    time: float
    chances: dict[str, dict[str, float]]
    got: dict[str, None] = field(default_factory=dict)


def check_reception(records: Iterable[Record], ladder: Ladder, terms: Terms, calm_s: float) -> Verdict:
    """Of what is published within ``calm_s`` of a moment of calm, as long as nothing else happens."""
    events: dict[tuple[str, int], _Event] = {}
    calm_until = -1.0
    for record, tables, _ in follow(records):
        if record.kind is Kind.CALM:
            calm_until = record.time + calm_s
        elif record.kind in (Kind.SUBSCRIBED, Kind.UNSUBSCRIBED, Kind.CRASHED, Kind.STARTED):
            calm_until = -1.0
        elif record.event is None:
            continue
        elif record.event.id in events and record.kind is Kind.PUBLISHED:
            continue  # by another gateway as well
        elif record.kind is Kind.PUBLISHED and record.time <= calm_until:
            expected = chances(tables, ladder(record.event.topic), record.node, terms)
            events[record.event.id] = _Event(record.time, _wanted(expected, tables))
        elif record.kind is Kind.DELIVERED and record.event.id in events:
            events[record.event.id].got[record.node] = None
    return _judged(list(events.values()))


def _wanted(expected: dict[str, dict[str, float]], tables: Tables) -> dict[str, dict[str, float]]:
    """Without those who are members to publish only."""
    return {
        topic: {peer: chance for peer, chance in got.items() if tables.members[topic][peer]}
        for topic, got in expected.items()
    }


def _judged(events: list[_Event]) -> Verdict:
    verdict = Verdict(judged=len(events))
    topics = dict.fromkeys(topic for event in events for topic in event.chances)
    for topic in topics:
        concerned = [event for event in events if event.chances.get(topic)]
        expected = missed = 0.0
        for event in concerned:
            members = event.chances[topic]
            owed = sum(members.values())
            received = sum(peer in event.got for peer in members)
            verdict.owed += owed
            verdict.received += received
            expected += 1.0 - owed / len(members)
            missed += 1.0 - received / len(members)
        if _chance_of(missed, expected) < UNLIKELY:
            told = (
                f"members of {topic} have missed {missed:.2f} of {len(concerned)} events, where {expected:.2f} are due"
            )
            verdict.violations.append(Violation("reception", concerned[-1].time, told))
    return verdict


def _chance_of(total: float, mean: float) -> float:
    """A bound for how likely a sum of independent numbers from 0 to 1 with this mean is as large as ``total``."""
    if total <= mean + ROUNDING:
        return 1.0
    if mean <= 0.0:
        return 0.0
    return exp(-(total * log(total / mean) - total + mean))
