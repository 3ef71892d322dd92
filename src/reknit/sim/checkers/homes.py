"""A client has one session: when all is calm, no two brokers that can reach each other have one of the same client."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations

from reknit.core.overlay.shapes import find_path
from reknit.sim.checkers.tree import Forest
from reknit.sim.checkers.violation import Violation
from reknit.trace.records import Kind, Record

__all__ = ["check_homes"]


class _Sessions:
    def __init__(self) -> None:
        self.forest = Forest()
        self.of: dict[str, dict[str, None]] = {}  # by client: brokers that have a session of it

    def see(self, record: Record) -> Iterator[Violation]:
        self.forest.see(record)
        match record.kind:
            case Kind.ATTACHED | Kind.MOVED_IN:
                self.of.setdefault(record.client, {})[record.node] = None
            case Kind.DETACHED:
                self.of.get(record.client, {}).pop(record.node, None)
            case Kind.CRASHED:  # what it has again in its next life, it tells again
                for brokers in self.of.values():
                    brokers.pop(record.node, None)
            case Kind.CALM:
                yield from self._calm(record.time)

    def _calm(self, time: float) -> Iterator[Violation]:
        edges = list(self.forest.edges())
        for client, brokers in self.of.items():
            for one, other in combinations(brokers, 2):
                if find_path(edges, one, other):
                    yield Violation("homes", time, f"{client} has sessions at {one} and at {other}")


def check_homes(records: Iterable[Record]) -> Iterator[Violation]:
    sessions = _Sessions()
    for record in records:
        yield from sessions.see(record)
