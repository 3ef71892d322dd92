"""Runs to be judged: schedules of the simulator, as they were, with a bug planted, and with records tampered with.

Beside each what the simulator's own checkers say of it, in words that do not depend on who speaks.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import dataclass
from pathlib import Path

import pytest

from reknit.sim.checkers.delivery import Tally, check_delivery
from reknit.sim.checkers.order import check_order
from reknit.sim.checkers.tables import check_tables
from reknit.sim.plans import FOCI
from reknit.sim.schedule import Outcome, run_seed
from reknit.trace.columns import to_table
from reknit.trace.records import Kind, Record
from reknit.trace.segments import write_segment
from tests.sim.planted import PLANTED

BUGS = {
    "skip-the-guard-against-copies": 2,
    "send-the-last-event-first": 0,
    "flood-when-the-topic-is-short": 0,
    "only-the-first-match-counts": 0,
    "let-go-of-frames-once-received": 64,
}
"""To: the first schedule in which an event suffers from it; or where to look for it, since the protocol changes."""
SEEDS_MAX = 200
TAMPERED = 6
"""Records that are spoiled in one run, at most."""

Said = tuple[float, str]


@dataclass(frozen=True)
class Case:
    name: str
    records: list[Record]
    lasting: bool
    flooding: bool
    said: list[Said]
    tally: Tally


def case(name: str, outcome: Outcome, records: list[Record]) -> Case:
    plan, tally = outcome.plan, Tally()
    said = list(_said(records, plan.lasting, tally))
    flooding = plan.routing == "flooding"
    if not flooding:
        said += _vain(records, outcome)
    return Case(name, records, plan.lasting, flooding, sorted(said), tally)


def _said(records: list[Record], lasting: bool, tally: Tally) -> Iterator[Said]:
    for violation in check_delivery(records, tally, lasting=lasting):
        yield violation.time, violation.what
    for violation in check_order(records):
        fifo = re.fullmatch(r"not FIFO: (.*) behind number \d+ of the same source", violation.what)
        yield violation.time, f"not FIFO: {fifo[1]}" if fifo else violation.what


def _vain(records: list[Record], outcome: Outcome) -> Iterator[Said]:
    """What the checker of tables says of events; of tables the trace's readers say nothing."""
    for violation in check_tables(records, outcome.plan.routing, outcome.plan.covering):
        if "forwarded" in violation.what or "crossed the link" in violation.what:
            yield violation.time, violation.what.partition(" (calm since")[0]


# --- runs


def sound_and_tampered(seed: int) -> Iterator[Case]:
    for focus in FOCI:
        outcome = run_seed(seed, focus)
        yield case(f"{focus}-{seed}", outcome, outcome.records)
        yield case(f"{focus}-{seed}-tampered", outcome, tampered(outcome.records, random.Random(seed)))


def write(each: Case, directory: Path) -> None:
    """As one file, whoever wrote the records: files are what reading costs."""
    write_segment(to_table(each.records), directory / each.name / "node-all", 1)


def planted(patch: pytest.MonkeyPatch) -> Iterator[Case]:
    for bug, first in BUGS.items():
        with patch.context() as broken:
            PLANTED[bug](broken)
            outcomes = (run_seed(seed) for seed in range(first, first + SEEDS_MAX))
            cases = (case(f"planted-{bug}", outcome, outcome.records) for outcome in outcomes)
            found = next((each for each in cases if each.said), None)
        assert found is not None, f"{bug} shows itself in no schedule of {SEEDS_MAX} from {first} on"
        yield found


def tampered(records: list[Record], rng: random.Random) -> list[Record]:
    """With deliveries and crossings that are missing, twice there, exchanged, or somebody else's."""
    spoiled: list[list[Record]] = [[each] for each in records]
    places = [at for at, each in enumerate(records) if each.kind in (Kind.DELIVERED, Kind.FORWARDED)]
    for _ in range(rng.randint(1, TAMPERED) if places else 0):
        at, other = rng.choice(places), rng.choice(places)
        how = rng.choice(("missing", "twice", "exchanged", "elsewhere"))
        if how == "missing":
            spoiled[at] = []
        elif how == "twice":
            spoiled[at] = spoiled[at] * 2
        elif how == "exchanged" and records[at].kind is records[other].kind:
            spoiled[at], spoiled[other] = spoiled[other], spoiled[at]
        elif how == "elsewhere" and records[at].kind is records[other].kind:
            record = copy(records[at])
            whose = records[other]
            record.node, record.client, record.peer = whose.node, whose.client, whose.peer
            spoiled[at] = [record]
    return list(_in_time(each for some in spoiled for each in some))


def _in_time(records: Iterable[Record]) -> Iterator[Record]:
    """A run is read back by time, so times must not fall."""
    latest = 0.0
    for each in records:
        record = copy(each)
        latest = record.time = max(latest, record.time)
        yield record
