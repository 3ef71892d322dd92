"""A tree of brokers as a value, and what a swap makes of it.

Owns: trees for planning. Must not know: how a swap is done.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from reknit.core.overlay.swap import Step as Swap
from reknit.core.overlay.swap import after

__all__ = ["Link", "NoTree", "Swap", "Tree", "link", "swapped"]

Link: TypeAlias = tuple[str, str]
"""Two brokers, the smaller name first."""


class NoTree(ValueError):
    """The links form no tree."""


def link(one: str, other: str) -> Link:
    return (one, other) if one < other else (other, one)


class Tree:
    """Brokers and their neighbours, in the order of their names: nothing depends on how they were given."""

    def __init__(self, links: Iterable[Link]) -> None:
        self.links = tuple(sorted({link(*each): None for each in links}))
        self.neighbours: dict[str, tuple[str, ...]] = {}
        found: dict[str, list[str]] = {}
        for one, other in self.links:
            found.setdefault(one, []).append(other)
            found.setdefault(other, []).append(one)
        self.neighbours = {broker: tuple(sorted(found[broker])) for broker in sorted(found)}
        self.parents: dict[str, str] = {}
        self.depths: dict[str, int] = {}
        self._root()

    def _root(self) -> None:
        """Every broker's way to the first one; ``NoTree`` if one has none, or two."""
        if not self.links:
            return
        start = next(iter(self.neighbours))
        self.depths[start] = 0
        todo = [start]
        while todo:
            broker = todo.pop()
            for other in self.neighbours[broker]:
                if other not in self.depths:
                    self.parents[other], self.depths[other] = broker, self.depths[broker] + 1
                    todo.append(other)
        if len(self.depths) != len(self.neighbours) or len(self.links) != len(self.neighbours) - 1:
            raise NoTree(f"{len(self.neighbours)} brokers with {len(self.links)} links form no tree")

    def span(self, brokers: Iterable[str]) -> set[Link]:
        """The links of the smallest part of the tree that connects the brokers: what an event for them crosses.

        A set: only its size and its members are used, never their order.
        """
        found: set[Link] = set()
        first = None
        for broker in brokers:
            if broker not in self.depths:  # it has left, or the tree is of one broker
                continue
            if first is None:
                first = broker
            else:
                found.update(self.way(first, broker))
        return found

    def way(self, start: str, end: str) -> Iterator[Link]:
        while start != end:
            if self.depths[start] < self.depths[end]:
                start, end = end, start
            yield link(start, self.parents[start])
            start = self.parents[start]

    def swaps(self) -> Iterator[Swap]:
        """Every swap that is possible."""
        for middle, around in self.neighbours.items():
            for mover in around:
                yield from (Swap(mover, middle, goal) for goal in around if goal != mover)


def swapped(tree: Tree, swap: Swap) -> Tree:
    return Tree(after(tree.links, swap))
