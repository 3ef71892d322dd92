"""The tree stays whole: whoever was connected when all was calm, and lives, is connected when all is calm again.

That holds for all changes but those that an operator makes to split a tree, whatever dies or is lost meanwhile; a
broker that has died and not begun another life, or was drained, is not asked for. So a trace in which an operator
removes links is not to be judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reknit.core.overlay.shapes import find_path
from reknit.sim.checkers.tree import Forest
from reknit.sim.checkers.violation import Violation
from reknit.trace.records import DRAINED, Kind, Record

__all__ = ["check_whole"]


def check_whole(records: Iterable[Record]) -> Iterator[Violation]:
    forest = Forest()
    alive: dict[str, None] = {}
    drained: dict[str, None] = {}
    parts: list[list[str]] = []  # as they were when all was calm last
    for record in records:
        forest.see(record)
        if record.kind is Kind.STARTED and record.node not in drained:
            alive[record.node] = None
        elif record.kind is Kind.CRASHED:
            alive.pop(record.node, None)
        elif record.kind is Kind.CHANGE and record.detail == DRAINED:
            alive.pop(record.node, None)
            drained[record.node] = None  # another life of it has only to leave
        elif record.kind is Kind.CALM:
            edges = forest.edges()
            for part in parts:
                left = [name for name in part if name in alive]
                apart = [name for name in left[1:] if not find_path(edges, left[0], name)]
                if apart:
                    what = f"{left[0]} and {', '.join(apart)} were connected, and are not any more"
                    yield Violation("whole", record.time, what)
            parts = _parts(list(alive), edges)


def _parts(names: list[str], edges: list[tuple[str, str]]) -> list[list[str]]:
    parts: list[list[str]] = []
    for name in names:
        part = next((part for part in parts if find_path(edges, part[0], name)), None)
        if part is None:
            parts.append([name])
        else:
            part.append(name)
    return parts
