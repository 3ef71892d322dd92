"""The tables that a network should have: computed from all subscriptions at once, by looking at the whole tree.

The plain computation that the protocols are held to (``reknit verify-routes``, and the checkers of the simulator).
Must not know: how any strategy gets there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from reknit.core.overlay.shapes import Edge, adjacency
from reknit.core.routing.announcements import without_covered
from reknit.core.routing.strategies import RoutingName
from reknit.model.pattern import Pattern

__all__ = ["NoForest", "Tables", "ideal_tables"]

Tables: TypeAlias = dict[str, set[tuple[str, Pattern]]]
"""For each broker its entries (neighbour, pattern)."""


class NoForest(ValueError):
    """The links form a cycle: no tables are ideal."""


def ideal_tables(
    edges: Iterable[Edge], wanted: Mapping[str, Iterable[Pattern]], routing: RoutingName, covering: bool = False
) -> Tables:
    """``wanted``: for each broker what its clients want. ``NoForest`` unless the edges form a tree, or several."""
    neighbours: dict[str, list[str]] = {name: [] for name in wanted} | adjacency(edges)
    tables: Tables = {name: set() for name in neighbours}
    if routing == "flooding":
        return tables
    reduce: Callable[[Iterable[Pattern]], list[Pattern]] = list
    if covering and routing == "subscription-forwarding":
        reduce = without_covered
    told: dict[Edge, list[Pattern]] = {}
    for name in neighbours:
        for neighbour in neighbours[name]:
            for pattern in _told((neighbour, name), neighbours, wanted, reduce, told):
                tables[name].add((neighbour, pattern))
    return tables


def _told(
    asked: Edge,
    neighbours: Mapping[str, list[str]],
    wanted: Mapping[str, Iterable[Pattern]],
    reduce: Callable[[Iterable[Pattern]], list[Pattern]],
    told: dict[Edge, list[Pattern]],
) -> list[Pattern]:
    """What one tells the other: what its clients and the brokers behind it want. Walks without recursion."""
    stack = [asked]
    depth_max = sum(map(len, neighbours.values()))  # each link in each direction: on a tree none is needed twice
    while stack:
        if len(stack) > depth_max:
            raise NoForest(f"the links form a cycle behind {asked[0]}, as seen from {asked[1]}")
        speaker, hearer = stack[-1]
        behind = [(other, speaker) for other in neighbours[speaker] if other != hearer]
        unknown = [edge for edge in behind if edge not in told]
        if unknown and (speaker, hearer) not in told:
            stack.extend(unknown)
            continue
        stack.pop()
        patterns = dict.fromkeys(wanted.get(speaker, ()))
        for edge in behind:
            patterns.update(dict.fromkeys(told[edge]))
        told.setdefault((speaker, hearer), reduce(patterns))
    return told[asked]
