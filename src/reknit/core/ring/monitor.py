"""Who wants and publishes what on a ring: every broker tells it, and one looks whether all could be placed better.

The first steps of DYNATOPS's Algorithm 2. Every ``report_s`` a broker sends on the way to a key that is the same for
all what its clients want, and how much they have published since. Whoever owns that key manages the ring. It adds up
what it hears, expects of the next period what Eq. 8 says, and every ``free_s`` (T_free) asks whoever drives it to look
for a better configuration (``Survey``). The test whether that can pay, the search, and the comparison of benefit and
cost are made there, as a core plans nothing; what is found comes back as any planned change does (``manager``).

A manager that dies needs no election: the key has another owner, who hears of everybody within ``report_s``, and looks
``free_s`` later at the earliest. Two who both think that they own it, for a while, are no harm: a change is refused by
everybody who is in another one.

Owns: reports, and what is expected. Must not know: what is better, or how places change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from reknit.core.io import Survey
from reknit.core.ring.options import RingOptions
from reknit.core.ring.order import Load
from reknit.core.ring.station import Station
from reknit.core.turn import Turn, earliest
from reknit.model.rates import expected_next
from reknit.model.ring import ring_id
from reknit.trace.records import Kind
from reknit.wire.planes import REPORT_TOPICS_MAX, Report

__all__ = ["MANAGER_KEY", "Monitor"]

MANAGER_KEY = ring_id("$ring/manager")
"""Whoever owns it manages the ring."""

FRESH_REPORTS = 3
"""A broker that has not told anything for as many times ``report_s`` is left out of account, and no plan is made."""

RATE_MIN = 1e-3
"""A topic of which fewer events are expected is forgotten."""


@dataclass(slots=True)
class _Heard:
    report: Report
    at: float


class Monitor:
    def __init__(self, turn: Turn, station: Station, options: RingOptions, busy: Callable[[], bool]) -> None:
        """``busy``: a change is under way here."""
        self.turn, self.station, self.options, self.busy = turn, station, options, busy
        self.uncounted = 0  # events of topics beyond those that fit into a report
        self.rates: dict[str, float] = {}  # by topic: events expected in a period
        self._published: dict[str, int] = {}  # since the last report
        self._heard: dict[str, _Heard] = {}  # by broker, of who manages
        self._seen: dict[str, int] = {}  # events of this period
        self._report_at = 0.0
        self._looked_at: float | None = None  # or since when it manages; None if it does not

    @property
    def manages(self) -> bool:
        return self._looked_at is not None

    def count(self, loads: Iterable[Load]) -> None:
        """Clients here have published these."""
        if not self.options.free_s:
            return
        for load in loads:
            topic = load.event.topic
            if topic in self._published or len(self._published) < REPORT_TOPICS_MAX:
                self._published[topic] = self._published.get(topic, 0) + 1
            else:
                self.uncounted += 1

    # --- reports

    def receive(self, report: Report) -> None:
        """Of this broker itself, or of one for whom it is on the way."""
        if not self.station.joined or report.version != self.station.counts:
            return
        member = self.station.plane.member
        if member.owns(MANAGER_KEY):
            self._hear(report)
        elif report.hops < self.options.hops_max and (spot := member.chord.way_to(MANAGER_KEY)) is not None:
            passed = Report(report.version, report.of, report.wants, report.published, report.hops + 1)
            self.station.peers.say(spot[1], spot[2], passed)

    def _hear(self, report: Report) -> None:
        if self._looked_at is None:
            self._looked_at = self.turn.now
            self.turn.see(Kind.CHANGE, detail="places: manages the ring from now on")
        self._heard[report.of[1]] = _Heard(report, self.turn.now)
        for topic, count in report.published:
            self._seen[topic] = self._seen.get(topic, 0) + count

    def _tell(self) -> None:
        self._report_at = self.turn.now + self.options.report_s
        wants = list(self.station.plane.member.trees.wanted) if self.station.joined else []
        if self.station.joined and len(wants) <= REPORT_TOPICS_MAX:
            report = Report(self.station.counts, self.station.me, wants, list(self._published.items()))
            self._published = {}
            self.receive(report)

    # --- looks

    def _resign(self) -> None:
        self._looked_at = None
        self._heard, self._seen, self.rates = {}, {}, {}

    def _look(self) -> None:
        self._looked_at = self.turn.now
        self._expect()
        limit = self.turn.now - FRESH_REPORTS * self.options.report_s
        fresh = {name: each.report for name, each in self._heard.items() if each.at >= limit}
        fresh = {name: each for name, each in fresh.items() if each.version == self.station.counts}
        self._heard = {name: each for name, each in self._heard.items() if name in fresh}
        known = [spot[1] for spot in self.station.plane.member.chord.known()]
        if self.busy() or any(name not in fresh for name in known):
            return
        reports = sorted(fresh.values(), key=lambda report: report.of[0])
        spots, wants = tuple(each.of for each in reports), tuple(tuple(each.wants) for each in reports)
        self.turn.see(Kind.CHANGE, size=len(spots), detail="places: looks for better ones")
        events = tuple(self.rates.items())
        self.turn.effects.append(Survey(self.station.counts, spots, wants, events, self.options.delay_weight))

    def _expect(self) -> None:
        """A period is over; of a topic that is new, as many are expected as there were."""
        for topic in [*self.rates, *(each for each in self._seen if each not in self.rates)]:
            seen = float(self._seen.get(topic, 0))
            self.rates[topic] = expected_next(self.rates.get(topic, seen), seen)
        self.rates = {topic: rate for topic, rate in self.rates.items() if rate >= RATE_MIN}
        self._seen = {}

    # --- times

    def deadline(self) -> float | None:
        if not self.options.free_s:
            return None
        return earliest(self._report_at, None if self._looked_at is None else self._looked_at + self.options.free_s)

    def due(self) -> None:
        if not self.options.free_s:
            return
        if self._looked_at is not None and not self.station.plane.member.owns(MANAGER_KEY):
            self._resign()
        if self.turn.now >= self._report_at:
            self._tell()
        if self._looked_at is not None and self.turn.now >= self._looked_at + self.options.free_s:
            self._look()
