"""An event that is published in a calm reaches each member at least as often as the formula says.

Who gossips to whom is in the trace, so nothing need be assumed of tables: how likely each member gets an event is drawn
over tables as they are (``spreading``), by the chances of the corrected formula. A member that nobody knows is owed
nothing: that it is so is for others to judge.

What is missed is chance, so it is judged by how unlikely it is: for each community the shares of members that have
missed an event are added up over all events, and for each member the events that it has missed; by Hoeffding's bound
such a sum is hardly ever much larger than its mean. The mean is the formula's; where a peer goes by an estimate of N,
that may be wrong by a factor, to the worse.

That is low on purpose, as one schedule must never be accused by chance. What many schedules have got together is held
to what is drawn without such a factor, by the campaign (``Pool``).

Owns: that judgement. Must not know: anything but the trace, and the parameters of the communities.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import exp, log, sqrt
from random import Random

from reknit.sim.checkers.spreading import DRAWS, Drawn, Terms, draw_spread
from reknit.sim.checkers.views import follow
from reknit.sim.checkers.violation import Violation
from reknit.trace.records import Kind, Record

__all__ = ["Pool", "Terms", "Verdict", "check_reception"]

UNLIKELY = 1e-7
"""Violations by chance are rarer than this, for each community of a schedule."""

UNLIKELY_OF_ONE = 1e-9
"""The same for each member, of which there are more."""

SLACK, ERRORS = 0.005, 5.0
"""What many schedules together may have got less than was drawn: a share of it, and so many standard errors."""

ROUNDING = 1e-9

POPULATION_ERROR = 1.5
"""A count of the community may be wrong by such a factor (see ``community.census``: three standard errors)."""


@dataclass(slots=True)
class Pool:
    """What communities of about one size have got, of what was drawn for them (``spreading``)."""

    drawn: float = 0.0
    variance: float = 0.0
    received: int = 0

    def add(self, other: Pool) -> None:
        self.drawn += other.drawn
        self.variance += other.variance
        self.received += other.received

    def is_short(self) -> bool:
        """Whether so much is missing that neither chance nor a count of members that is off a little explains it."""
        spread = sqrt(self.variance * (1.0 + 1.0 / DRAWS))
        return self.received < self.drawn * (1.0 - SLACK) - ERRORS * spread


@dataclass(slots=True)
class Verdict:
    """``owed``: deliveries that the formula expects, as a number."""

    violations: list[Violation] = field(default_factory=list)
    judged: int = 0
    owed: float = 0.0
    received: int = 0
    pools: dict[int, Pool] = field(default_factory=dict)
    """By how many members a community has at least; it has fewer than twice as many."""


Ladder = Callable[[str], tuple[str, ...]]
"""From an event's topic to the topic filters of the communities that it belongs to, its own first, the root last."""


@dataclass(slots=True)
class _Event:
    time: float
    least: dict[str, Drawn]
    """If counts of members are as wrong as they may be."""
    drawn: dict[str, Drawn]
    got: dict[str, None] = field(default_factory=dict)


def check_reception(records: Iterable[Record], ladder: Ladder, terms: Terms, calm_s: float) -> Verdict:
    """Of what is published within ``calm_s`` of a moment of calm, as long as nothing else happens."""
    events: dict[tuple[str, int], _Event] = {}
    rng = Random("spread")
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
            least, drawn = (
                draw_spread(tables, ladder(record.event.topic), record.node, terms, rng, error)
                for error in (POPULATION_ERROR, 1.0)
            )
            events[record.event.id] = _Event(record.time, least, drawn)
        elif record.kind is Kind.DELIVERED and record.event.id in events:
            events[record.event.id].got[record.node] = None
    return _judged(list(events.values()))


def _judged(events: list[_Event]) -> Verdict:
    verdict = Verdict(judged=len(events))
    topics = dict.fromkeys(topic for event in events for topic in event.least)
    for topic in topics:
        concerned = [event for event in events if topic in event.least]
        expected = missed = 0.0
        for event in concerned:
            members = event.least[topic].chances
            owed = sum(members.values())
            received = sum(peer in event.got for peer in members)
            verdict.owed += owed
            verdict.received += received
            expected += 1.0 - owed / len(members)
            missed += 1.0 - received / len(members)
            _pool(verdict, len(members), event.drawn[topic], received)
        if _chance_of(missed, expected, len(concerned)) < UNLIKELY:
            told = (
                f"members of {topic} have missed {missed:.2f} of {len(concerned)} events, where {expected:.2f} are due"
            )
            verdict.violations.append(Violation("reception", concerned[-1].time, told))
        verdict.violations += _of_members(topic, concerned)
    return verdict


def _pool(verdict: Verdict, size: int, drawn: Drawn, received: int) -> None:
    least = 1 << (size.bit_length() - 1)
    verdict.pools.setdefault(least, Pool()).add(Pool(drawn.mean, drawn.variance, received))


def _of_members(topic: str, events: list[_Event]) -> list[Violation]:
    """Each member by itself: that others get all is no comfort to one that never gets anything."""
    found = []
    for peer in dict.fromkeys(peer for event in events for peer in event.least[topic].chances):
        owing = [event for event in events if peer in event.least[topic].chances]
        expected = sum(1.0 - event.least[topic].chances[peer] for event in owing)
        missed = sum(peer not in event.got for event in owing)
        if _chance_of(missed, expected, len(owing)) < UNLIKELY_OF_ONE:
            told = f"{peer} of {topic} has missed {missed} of {len(owing)} events, where {expected:.2f} are due"
            found.append(Violation("reception", owing[-1].time, told))
    return found


def _chance_of(total: float, mean: float, count: int) -> float:
    """A bound for how likely the sum of ``count`` independent numbers from 0 to 1 with this mean is as large as
    ``total`` (Hoeffding's, by the divergence of the two shares)."""
    if total <= mean + ROUNDING:
        return 1.0
    if mean <= 0.0:
        return 0.0
    share, due = min(1.0, total / count), mean / count
    most = (1.0 - share) * log((1.0 - share) / (1.0 - due)) if share < 1.0 else 0.0
    return exp(-count * (share * log(share / due) + most))
