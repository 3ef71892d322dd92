"""The tree through time, as one run's trace tells it, made once and asked by everybody who judges a part of it.

A link *counts* as soon as one end holds it. What is *promised* is more: a crash forgets no link, one that moves takes
its ways along, and one that came since all was calm last promises nothing yet.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from reknit.core.overlay.shapes import Edge, find_path
from reknit.trace.records import DRAINED, SWAP_WITHOUT, Kind

__all__ = ["Calm", "Crashed", "Entry", "Gone", "History", "Mark", "Moved", "Parted", "Place"]

Place: TypeAlias = tuple[float, int, str]


@dataclass(frozen=True, slots=True)
class Entry:
    """A record that is about the tree or a whole broker."""

    place: Place
    time: float
    node: str
    kind: str
    peer: str
    detail: str


@dataclass(frozen=True, slots=True)
class Moved:
    """Ways over ``old`` lead over ``new`` now, and over ``third`` if they did not before."""

    old: Edge
    new: Edge
    third: Edge


@dataclass(frozen=True, slots=True)
class Gone:
    """Whatever was on its way over one of these is owed no more."""

    links: tuple[Edge, ...]


@dataclass(frozen=True, slots=True)
class Parted:
    """A swap goes on without one of its brokers: what passes these until all is calm may be lost."""

    brokers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Crashed:
    node: str


@dataclass(frozen=True, slots=True)
class Calm:
    time: float


Mark: TypeAlias = Moved | Gone | Parted | Crashed | Calm


def _edge(one: str, other: str) -> Edge:
    return (one, other) if one < other else (other, one)


class History:
    """``marks``: what clients have to know, each with its place and the version of the tree from then on."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.marks: list[tuple[Place, int, Mark]] = []
        self._held: dict[str, dict[str, None]] = {}
        self._ghosts: dict[tuple[str, str], None] = {}
        self._void: dict[tuple[str, str], None] = {}
        self._links: dict[Edge, None] = {}
        self._fresh: dict[Edge, None] = {}
        self._drained: dict[str, None] = {}
        self._versions: list[tuple[list[Edge], frozenset[Edge]]] = [([], frozenset())]
        self._ways: dict[tuple[int, str, str], tuple[Edge, ...] | None] = {}
        for entry in entries:
            self._see(entry)

    def way(self, version: int, start: str, end: str) -> tuple[Edge, ...] | None:
        """The links between two brokers; None if there are none, or not all of them are settled."""
        key = (version, start, end)
        if key not in self._ways:
            links, fresh = self._versions[version]
            path = find_path(links, start, end)
            way = tuple(_edge(a, b) for a, b in pairwise(path)) if path else None
            self._ways[key] = None if way is None or any(each in fresh for each in way) else way
        return self._ways[key]

    # --- reading

    def _see(self, entry: Entry) -> None:
        self._follow(entry)
        link = _edge(entry.node, entry.peer)
        marks: list[Mark] = []
        match entry.kind:
            case Kind.LINK_ADDED if link not in self._links:
                self._links[link] = self._fresh[link] = None
            case Kind.LINK_MOVED:
                marks.append(self._move(entry.node, entry.detail, entry.peer))
            case Kind.CHANGE if entry.detail == DRAINED:
                self._drained[entry.node] = None
            case Kind.CHANGE if entry.detail.startswith(SWAP_WITHOUT):
                marks.append(Parted((entry.node, entry.peer)))
            case Kind.LINK_REMOVED:
                marks.append(self._forget([link]))
            case Kind.CRASHED:
                marks.append(Crashed(entry.node))
            case Kind.CALM:
                marks += self._calm(entry.time)
            case _:
                return
        self._remember()
        self.marks += [(entry.place, len(self._versions) - 1, mark) for mark in marks]
        if not marks:  # the version alone
            self.marks.append((entry.place, len(self._versions) - 1, Gone(())))

    def _remember(self) -> None:
        self._versions.append((list(self._links), frozenset(self._fresh)))

    def _move(self, mover: str, middle: str, goal: str) -> Moved:
        old, new = _edge(mover, middle), _edge(mover, goal)
        if old in self._fresh:
            self._fresh[new] = None
        self._links.pop(old, None)
        self._links[new] = None
        return Moved(old, new, _edge(middle, goal))

    def _forget(self, gone: list[Edge]) -> Gone:
        """A broker that was drained has left nothing behind: what has passed its links is owed as before."""
        for each in gone:
            self._links.pop(each, None)
        return Gone(tuple(each for each in gone if not any(end in self._drained for end in each)))

    def _calm(self, time: float) -> list[Mark]:
        there = dict.fromkeys(self.edges())
        gone = self._forget([each for each in self._links if each not in there])
        self._links = there
        self._fresh = {}
        return [gone, Calm(time)]

    # --- the links that count

    def _follow(self, entry: Entry) -> None:
        node, peer = entry.node, entry.peer
        match entry.kind:
            case Kind.LINK_ADDED | Kind.LINK_TAKEN:
                self._held.setdefault(node, {})[peer] = None
                self._void.pop((peer, node), None)
            case Kind.LINK_MOVED:
                mine = self._held.setdefault(node, {})
                mine.pop(entry.detail, None)
                self._ghosts[entry.detail, node] = None
                self._ghosts.pop((node, peer), None)
                self._ghosts.pop((peer, node), None)
                mine[peer] = None
            case Kind.LINK_LOST:
                self._void[peer, node] = None
            case Kind.LINK_REMOVED | Kind.LINK_HANDED:
                self._held.get(node, {}).pop(peer, None)
                self._ghosts.pop((node, peer), None)
            case Kind.CRASHED | Kind.STARTED:
                self._held[node] = {}

    def edges(self) -> list[Edge]:
        """The links that count after all that was read."""
        pairs = ((node, peer) for node, peers in self._held.items() for peer in peers)
        return sorted({_edge(*pair): None for pair in pairs if pair not in self._ghosts and pair not in self._void})
