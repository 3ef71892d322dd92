"""Changes of the tree, put together from the steps that a trace tells.

Owns: which steps belong to one change. Must not know: Spark, or what is asked of a change.

A step names its kind (``swap``, ``add``, ``drain``, a strategy), the broker that took it and the one it is about. A
change begins with a step that says *start*; a further step belongs to the last change of its kind that one of its two
brokers has a part in. A step that belongs to none begins one of its own: the trace has lost the beginning.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["CHANGE_ROWS", "Change", "StepSeen", "change_rows", "changes_of"]

CHANGE_ROWS = "run string, change int, kind string, brokers array<string>, begun double, ended double, steps bigint"
"""The columns of ``change_rows``."""


@dataclass(frozen=True, slots=True)
class StepSeen:
    """A record of kind ``change``; they come in the order of their places."""

    time: float
    node: str
    peer: str
    detail: str


@dataclass(slots=True)
class Change:
    number: int
    kind: str
    begun: float
    ended: float
    steps: int = 0
    brokers: dict[str, None] = field(default_factory=dict)
    """Who took part, in the order in which they came in."""


def changes_of(steps: Iterable[StepSeen]) -> list[Change]:
    found: list[Change] = []
    latest: dict[tuple[str, str], Change] = {}  # by kind and broker: the last change it has a part in
    for step in steps:
        kind, _, what = step.detail.partition(":")
        begins = what.strip().startswith("start")
        change = None if begins else latest.get((kind, step.node)) or latest.get((kind, step.peer))
        if change is None:
            change = Change(len(found) + 1, kind, step.time, step.time)
            found.append(change)
        change.steps += 1
        change.ended = max(change.ended, step.time)
        for broker in (step.node, step.peer):
            if broker:
                change.brokers[broker] = None
                latest[kind, broker] = change
    return found


def change_rows(records: Sequence[Any]) -> list[tuple[Any, ...]]:
    """The changes of several runs as rows, from rows of records of kind ``change``, in any order."""
    by_run: dict[str, list[StepSeen]] = {}
    for row in sorted(records, key=lambda row: (row["run"], row["latest"], row["order"], row["node"])):
        step = StepSeen(row["time"], row["node"], row["peer"] or "", row["detail"] or "")
        by_run.setdefault(row["run"], []).append(step)
    return [
        (run, each.number, each.kind, list(each.brokers), each.begun, each.ended, each.steps)
        for run, steps in by_run.items()
        for each in changes_of(steps)
    ]
