"""The overlay is a tree: at every moment without a cycle, and when all is calm, agreed on by both ends.

A link counts as soon as one end holds the other for its neighbour, and as long as one does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reknit.core.overlay.shapes import Edge, find_path
from reknit.sim.checkers.violation import Violation
from reknit.trace.records import Kind, Record

__all__ = ["Forest", "check_tree"]


def edge(one: str, other: str) -> Edge:
    return (one, other) if one < other else (other, one)


class Forest:
    """The links as the trace tells them."""

    def __init__(self) -> None:
        self.held: dict[str, dict[str, None]] = {}  # by node: whom it holds for a neighbour

    def see(self, record: Record) -> Edge | None:
        """Follow one record. The edge, if it is there only since now."""
        if record.kind is Kind.LINK_ADDED:
            fresh = not self.has(record.node, record.peer)
            self.held.setdefault(record.node, {})[record.peer] = None
            return edge(record.node, record.peer) if fresh else None
        if record.kind is Kind.LINK_REMOVED:
            self.held.get(record.node, {}).pop(record.peer, None)
        elif record.kind is Kind.CRASHED or record.kind is Kind.STARTED:
            self.held[record.node] = {}
        return None

    def has(self, one: str, other: str) -> bool:
        return other in self.held.get(one, ()) or one in self.held.get(other, ())

    def edges(self) -> list[Edge]:
        found = {edge(node, peer): None for node, peers in self.held.items() for peer in peers}
        return sorted(found)

    def path(self, start: str, end: str) -> list[str] | None:
        """The brokers from ``start`` to ``end``; None if they are not connected."""
        return find_path(self.edges(), start, end) or None


def check_tree(records: Iterable[Record]) -> Iterator[Violation]:
    forest = Forest()
    for record in records:
        if record.kind is Kind.LINK_ADDED and not forest.has(record.node, record.peer):
            around = forest.path(record.node, record.peer)
            if around is not None:
                yield Violation("tree", record.time, f"a cycle: {' - '.join([*around, around[0]])}")
        forest.see(record)
        if record.kind is Kind.CALM:
            for node, peers in forest.held.items():
                for peer in peers:
                    if node not in forest.held.get(peer, {}):
                        yield Violation("tree", record.time, f"{node} holds {peer} for a neighbour, {peer} does not")
