"""The overlay is a tree: at every moment without a cycle, and when all is calm, agreed on by both ends.

A link counts as soon as one end holds the other for its neighbour, and as long as one does. A link that is swapped
moves when its mover says so; what the broker that it led to still holds is a ghost, until that has handed it over. A
link that one end has given up as lost is none, whatever the other end holds or comes back with: nothing can cross it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reknit.core.overlay.shapes import Edge, find_path
from reknit.sim.checkers.violation import Violation
from reknit.trace.records import Kind, Record

__all__ = ["Forest", "check_tree"]


def edge(one: str, other: str) -> Edge:
    return (one, other) if one < other else (other, one)


_ABOUT_LINKS = (
    Kind.LINK_ADDED,
    Kind.LINK_TAKEN,
    Kind.LINK_MOVED,
    Kind.LINK_LOST,
    Kind.LINK_REMOVED,
    Kind.LINK_HANDED,
    Kind.CRASHED,
    Kind.STARTED,
)
"""All else is most of a trace."""


class Forest:
    """The links as the trace tells them."""

    def __init__(self) -> None:
        self.held: dict[str, dict[str, None]] = {}  # by node: whom it holds for a neighbour
        self.ghosts: dict[tuple[str, str], None] = {}  # node and peer: the node does not know yet that the link moved
        self.void: dict[tuple[str, str], None] = {}  # node and peer: peer has given up the link, whatever node holds

    def see(self, record: Record) -> Edge | None:
        """Follow one record. The edge, if it is there only since now."""
        if record.kind not in _ABOUT_LINKS:
            return None
        node, peer = record.node, record.peer
        match record.kind:
            case Kind.LINK_ADDED | Kind.LINK_TAKEN:
                fresh = not self.has(node, peer)
                self.held.setdefault(node, {})[peer] = None
                self.void.pop((peer, node), None)
                return edge(node, peer) if fresh and self._holds(node, peer) else None
            case Kind.LINK_MOVED:
                self.held[node].pop(record.detail, None)
                self.ghosts[record.detail, node] = None
                self.ghosts.pop((node, peer), None)
                self.ghosts.pop((peer, node), None)
                self.held[node][peer] = None
            case Kind.LINK_LOST:
                self.void[peer, node] = None
            case Kind.LINK_REMOVED | Kind.LINK_HANDED:
                self.held.get(node, {}).pop(peer, None)
                self.ghosts.pop((node, peer), None)
            case Kind.CRASHED | Kind.STARTED:
                self.held[node] = {}
        return None

    def has(self, one: str, other: str) -> bool:
        return self._holds(one, other) or self._holds(other, one)

    def _holds(self, node: str, peer: str) -> bool:
        return peer in self.held.get(node, ()) and (node, peer) not in self.ghosts and (node, peer) not in self.void

    def edges(self) -> list[Edge]:
        found = {edge(node, peer): None for node in self.held for peer in self.held[node] if self._holds(node, peer)}
        return sorted(found)

    def path(self, start: str, end: str) -> list[str] | None:
        """The brokers from ``start`` to ``end``; None if they are not connected."""
        return find_path(self.edges(), start, end) or None


_MAKES_LINKS = (Kind.LINK_ADDED, Kind.LINK_TAKEN, Kind.LINK_MOVED)


def check_tree(records: Iterable[Record]) -> Iterator[Violation]:
    forest = Forest()
    for record in records:
        if record.kind is Kind.LINK_MOVED and not forest.has(record.node, record.detail):
            what = f"{record.node} moves a link to {record.detail} that is not there"
            yield Violation("tree", record.time, what)
        before = forest.edges() if record.kind in _MAKES_LINKS else []
        fresh = forest.see(record)
        if record.kind is Kind.LINK_MOVED:
            fresh = edge(record.node, record.peer)
            before = [each for each in before if each != edge(record.node, record.detail)]
        if fresh is not None and (around := find_path(before, *fresh)):
            yield Violation("tree", record.time, f"a cycle: {' - '.join([*around, around[0]])}")
        if record.kind is Kind.CALM:
            for node, peers in forest.held.items():
                for peer in peers:
                    if node not in forest.held.get(peer, {}):
                        yield Violation("tree", record.time, f"{node} holds {peer} for a neighbour, {peer} does not")
