"""Trees as plain edges: shapes by name, paths, cycles.

Pure functions over names; chance comes in as an argument. Links must form no cycle, for an event would come back on it.
Several trees are allowed: they can be joined later, while events flow.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

__all__ = ["DEGREE_MAX", "SHAPES", "Edge", "adjacency", "find_cycle", "find_path", "names", "shape_edges"]

Edge: TypeAlias = tuple[str, str]

DEGREE_MAX = 4
"""Neighbours of a broker in the random and in the bushy tree."""


def names(count: int) -> list[str]:
    return [f"b{number}" for number in range(1, count + 1)]


def _line(brokers: Sequence[str], rng: random.Random) -> list[Edge]:
    return list(itertools.pairwise(brokers))


def _star(brokers: Sequence[str], rng: random.Random) -> list[Edge]:
    return [(brokers[0], other) for other in brokers[1:]]


def _bushy(brokers: Sequence[str], rng: random.Random) -> list[Edge]:
    return [(brokers[(place - 1) // (DEGREE_MAX - 1)], brokers[place]) for place in range(1, len(brokers))]


def _random(brokers: Sequence[str], rng: random.Random) -> list[Edge]:
    free = dict.fromkeys(brokers[:1], DEGREE_MAX)
    edges: list[Edge] = []
    for broker in brokers[1:]:
        other = rng.choice(list(free))
        edges.append((other, broker))
        free[other] -= 1
        if not free[other]:
            del free[other]
        free[broker] = DEGREE_MAX - 1
    return edges


SHAPES: dict[str, Callable[[Sequence[str], random.Random], list[Edge]]] = {
    "line": _line,
    "star": _star,
    "random": _random,
    "bushy": _bushy,
}


def shape_edges(shape: str, brokers: Sequence[str], rng: random.Random) -> list[Edge]:
    """The links of ``shape`` over ``brokers``, in an order that depends on the arguments only."""
    return SHAPES[shape](brokers, rng)


def adjacency(edges: Iterable[Edge]) -> dict[str, list[str]]:
    adjacent: dict[str, list[str]] = {}
    for one, other in edges:
        adjacent.setdefault(one, []).append(other)
        adjacent.setdefault(other, []).append(one)
    return adjacent


def find_path(edges: Iterable[Edge], start: str, goal: str) -> list[str]:
    """The brokers from ``start`` to ``goal``, both included; empty if they are not connected."""
    return _path(adjacency(edges), start, goal)


def find_cycle(edges: Sequence[Edge]) -> list[str] | None:
    """The first cycle that the links close, in the order given, as a walk that ends where it began; or None.

    Each link is added to the forest of those before it; if its ends are already joined, their path and it are a cycle.
    """
    adjacent: dict[str, list[str]] = {}
    for one, other in edges:
        if path := _path(adjacent, one, other):
            return [*path, one]
        adjacent.setdefault(one, []).append(other)
        adjacent.setdefault(other, []).append(one)
    return None


def _path(adjacent: dict[str, list[str]], start: str, goal: str) -> list[str]:
    came_from = {start: start}
    frontier = [start]
    for node in frontier:
        for neighbour in adjacent.get(node, ()):
            if neighbour not in came_from:
                came_from[neighbour] = node
                frontier.append(neighbour)
    if goal not in came_from:
        return []
    path = [goal]
    while path[-1] != start:
        path.append(came_from[path[-1]])
    return path[::-1]
