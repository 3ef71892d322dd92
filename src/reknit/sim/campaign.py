"""Many schedules on all cores: the engine of ``reknit check``.

Owns: spreading seeds over processes, and adding up what they found. Must not know: how it is shown. Each seed is
judged in its own right, so the result does not depend on the number of processes.
"""

from __future__ import annotations

import multiprocessing
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, TypeAlias

from reknit.sim.checkers.delivery import Tally
from reknit.sim.checkers.reception import Pool
from reknit.sim.circle import run_circle_seed
from reknit.sim.coverage import changes
from reknit.sim.gathering import run_gathering_seed
from reknit.sim.schedule import FOCI, Focus, Outcome, run_seed
from reknit.trace.records import Kind

__all__ = ["SUBJECTS", "Report", "SeedResult", "Subject", "run_campaign"]

Subject: TypeAlias = Focus | Literal["ring", "communities"]
"""What a campaign is about: brokers, in one of the ways to look at them, or on a ring, or peers without any."""
SUBJECTS: tuple[Subject, ...] = (*FOCI, "ring", "communities")

VIOLATIONS_SHOWN_MAX = 20
"""Of one schedule; one fault often shows many times."""


@dataclass(frozen=True, slots=True)
class SeedResult:
    seed: int
    violations: tuple[str, ...]
    violation_count: int
    tally: Tally
    records: int
    coverage: dict[str, int]
    """How often each kind of observation and each fault happened."""
    pools: dict[int, Pool] = field(default_factory=dict)
    """Of communities of peers, by their size: what they have got beside what was drawn for them."""


@dataclass(slots=True)
class Report:
    schedules: int = 0
    violations: int = 0
    failed: list[SeedResult] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    coverage: Counter[str] = field(default_factory=Counter)
    pools: dict[int, Pool] = field(default_factory=dict)

    def add(self, result: SeedResult) -> None:
        self.schedules += 1
        self.violations += result.violation_count
        if result.violation_count:
            self.failed.append(result)
        for name in Tally.__dataclass_fields__:
            setattr(self.tally, name, getattr(self.tally, name) + getattr(result.tally, name))
        self.coverage.update(result.coverage)
        for size, pool in result.pools.items():
            self.pools.setdefault(size, Pool()).add(pool)

    def short(self) -> list[str]:
        """What all schedules together have not got, though each by itself may be chance."""
        return [
            f"communities of {size} to {2 * size - 1} have got {pool.received} deliveries in calm, "
            f"where {pool.drawn:.0f} are due"
            for size, pool in sorted(self.pools.items())
            if pool.is_short()
        ]


def check_seed(seed: int, focus: Subject = "all") -> SeedResult:
    if focus == "communities":
        return _check_gathering(seed)
    if focus == "ring":
        return _check_circle(seed)
    outcome = run_seed(seed, focus)
    coverage = Counter(record.kind.value for record in outcome.records)
    coverage.update({f"fault: {name}": count for name, count in outcome.faults.items()})
    coverage.update(changes(outcome.records, outcome.plan.notified))
    coverage[f"routing: {outcome.plan.routing}{' with covering' if outcome.plan.covering else ''}"] += 1
    if outcome.plan.standby:
        coverage["repair: schedules with standby links"] += 1
        coverage["repair: standby links that became links"] += _standbys_used(outcome)
    if outcome.plan.recovery != "none":
        coverage[f"recovery: {outcome.plan.recovery} with cache {outcome.plan.cache}"] += 1
        coverage[f"loss: {outcome.plan.network.loss:.0%} of datagrams"] += 1
        for kind in (Kind.GAP, Kind.RECOVERED, Kind.GIVEN_UP):
            coverage[f"recovery seen: {kind.value.replace('_', ' ')}"] += coverage[kind.value]
    coverage.update({f"excused: {why}": count for why, count in outcome.tally.excused.items()})
    shown = tuple(str(each) for each in outcome.violations[:VIOLATIONS_SHOWN_MAX])
    return SeedResult(seed, shown, len(outcome.violations), outcome.tally, len(outcome.records), dict(coverage))


def _standbys_used(outcome: Outcome) -> int:
    """Since the first loss."""
    records, pairs = outcome.records, {frozenset(pair) for pair in outcome.plan.standby}
    lost = next((at for at, record in enumerate(records) if record.kind is Kind.LINK_LOST), len(records))
    added = [record for record in records[lost:] if pairs and record.kind is Kind.LINK_ADDED]
    return len({frozenset((record.node, record.peer)) for record in added} & pairs)


def _check_circle(seed: int) -> SeedResult:
    outcome = run_circle_seed(seed)
    coverage = Counter(record.kind.value for record in outcome.records)
    coverage.update({f"fault: {name}": count for name, count in outcome.faults.items()})
    coverage.update(changes(outcome.records))
    coverage["routing: rendezvous"] += 1
    shown = tuple(str(each) for each in outcome.violations[:VIOLATIONS_SHOWN_MAX])
    return SeedResult(seed, shown, len(outcome.violations), outcome.tally, len(outcome.records), dict(coverage))


def _check_gathering(seed: int) -> SeedResult:
    outcome = run_gathering_seed(seed)
    coverage = Counter(record.kind.value for record in outcome.records)
    coverage.update({f"fault: {name}": count for name, count in outcome.faults.items()})
    coverage[f"topics: {' '.join(outcome.plan.topics)}"] += 1
    coverage[f"memberships: {outcome.plan.topic.membership}"] += 1
    coverage[f"loss: {outcome.plan.network.loss:.0%} of datagrams"] += 1
    coverage["gateways: schedules with brokers"] += outcome.plan.beside is not None
    coverage["reception in calm: by the formula at least"] += outcome.owed
    coverage["reception in calm: received"] += outcome.received
    shown = tuple(str(each) for each in outcome.violations[:VIOLATIONS_SHOWN_MAX])
    tally = Tally(published=outcome.published, delivered=outcome.delivered, owed=outcome.owed)
    found = len(outcome.violations)
    return SeedResult(seed, shown, found, tally, len(outcome.records), dict(coverage), outcome.pools)


def run_campaign(seeds: Sequence[int], processes: int | None = None, focus: Subject = "all") -> Iterator[SeedResult]:
    """The result of each seed, in the order of the seeds."""
    check = partial(check_seed, focus=focus)
    count = min(processes or os.cpu_count() or 1, len(seeds))
    if count <= 1:
        yield from map(check, seeds)
        return
    with multiprocessing.get_context("spawn").Pool(count) as pool:
        yield from pool.imap(check, seeds, chunksize=max(1, min(16, len(seeds) // (4 * count))))
