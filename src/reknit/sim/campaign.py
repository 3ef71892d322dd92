"""Many schedules on all cores: the engine of ``reknit check``.

Owns: spreading seeds over processes, and adding up what they found. Must not know: how it is shown. Each seed is
judged in its own right, so the result does not depend on the number of processes; and a schedule that breaks a broker's
own assertions is one that went wrong, with its seed, and ends no other.
"""

from __future__ import annotations

import multiprocessing
import os
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from reknit.sim.checkers.delivery import Tally
from reknit.sim.schedule import Focus, run_seed
from reknit.trace.records import Kind, Record

__all__ = ["Report", "SeedResult", "run_campaign"]

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


@dataclass(slots=True)
class Report:
    schedules: int = 0
    violations: int = 0
    failed: list[SeedResult] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    coverage: Counter[str] = field(default_factory=Counter)

    def add(self, result: SeedResult) -> None:
        self.schedules += 1
        self.violations += result.violation_count
        if result.violation_count:
            self.failed.append(result)
        for name in Tally.__dataclass_fields__:
            setattr(self.tally, name, getattr(self.tally, name) + getattr(result.tally, name))
        self.coverage.update(result.coverage)


def check_seed(seed: int, focus: Focus = "all") -> SeedResult:
    try:
        outcome = run_seed(seed, focus)
    except Exception as error:  # whatever it is: the next seed is tried
        return SeedResult(seed, (_failure(error),), 1, Tally(), 0, {})
    coverage = Counter(record.kind.value for record in outcome.records)
    coverage.update({f"fault: {name}": count for name, count in outcome.faults.items()})
    coverage.update(_changes(outcome.records))
    coverage[f"routing: {outcome.plan.routing}{' with covering' if outcome.plan.covering else ''}"] += 1
    shown = tuple(str(each) for each in outcome.violations[:VIOLATIONS_SHOWN_MAX])
    return SeedResult(seed, shown, len(outcome.violations), outcome.tally, len(outcome.records), dict(coverage))


def _changes(records: Iterable[Record]) -> Counter[str]:
    """Which steps of changes were taken, in which part; and in which step a broker was when it crashed."""
    found: Counter[str] = Counter()
    last: dict[str, str] = {}  # by node that takes part in a change: its last step
    for record in records:
        if record.kind is Kind.CHANGE:
            found[f"step of a {record.detail}"] += 1
            last[record.node] = record.detail
            if record.detail.split(": ")[1].startswith(("end", "lockNack", "unlock")):
                del last[record.node]
        elif record.kind is Kind.CRASHED and record.node in last:
            found[f"crash after a {last[record.node]}"] += 1
    return found


def _failure(error: Exception) -> str:
    place = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f"failure: {type(error).__name__}: {error} (in {place.name}, {os.path.basename(place.filename)}:{place.lineno})"
    )


def run_campaign(seeds: Sequence[int], processes: int | None = None, focus: Focus = "all") -> Iterator[SeedResult]:
    """The result of each seed, in the order of the seeds."""
    check = partial(check_seed, focus=focus)
    count = min(processes or os.cpu_count() or 1, len(seeds))
    if count <= 1:
        yield from map(check, seeds)
        return
    with multiprocessing.get_context("spawn").Pool(count) as pool:
        yield from pool.imap(check, seeds, chunksize=max(1, min(16, len(seeds) // (4 * count))))
