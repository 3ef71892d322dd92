"""Every bound is visible when it is reached; in a run that is meant to stay below all of them, none may be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reknit.sim.checkers.violation import Violation
from reknit.trace.records import NOBODY_LEFT, Kind, Record

__all__ = ["check_bounds"]

_NO_BOUND = ("copy", NOBODY_LEFT)
"""Events that are dropped for other reasons; whether rightly so, other checkers know."""


def check_bounds(records: Iterable[Record]) -> Iterator[Violation]:
    for record in records:
        if record.kind is Kind.DROPPED and record.detail not in _NO_BOUND:
            what = record.event.id if record.event else "something"
            yield Violation("bounds", record.time, f"{record.node} dropped {what}: {record.detail}")
