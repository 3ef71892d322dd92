"""The tree through time, as one run's trace tells it, made once and asked by everybody who judges a part of it.

A link *counts* as soon as one end holds it. What is *promised* is more: a crash forgets no link, one that moves takes
its ways along, and one that came since all was calm last promises nothing yet.

Where a swap goes on without one of its three, what is on a link between them may be lost: what is under way at that
moment, and what is published until the goal is out of the swap, or all is calm.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import TypeAlias

from reknit.core.overlay.shapes import Edge, find_path
from reknit.trace.records import DRAINED, SWAP_WITHOUT, Kind

__all__ = ["Calm", "Crashed", "Entry", "Excused", "Gone", "History", "Mark", "Moved", "Place"]

Place: TypeAlias = tuple[float, int, str]

GOAL_LOCKED = "swap: lock at the goal"
GOAL_CONNECTED = "swap: connectAck at the goal"
"""By these two the goal of a swap tells who takes part in it: the middle, then the mover."""
GOAL_OUT = ("swap: unlock at the goal", "swap: undone at the goal", "swap: end at the goal")
"""By any of these it is out of the swap, whose new link is one of the tree by then, or none."""
MIDDLE_HANDED = "swap: close(ab) at the middle"
"""By this the middle has no link to the mover any more."""


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
class Excused:
    """A swap goes on without one of its brokers: what is on its way over one of these may be lost."""

    links: tuple[Edge, ...]


@dataclass(frozen=True, slots=True)
class Crashed:
    node: str


@dataclass(frozen=True, slots=True)
class Calm:
    time: float


Mark: TypeAlias = Moved | Gone | Excused | Crashed | Calm


def _edge(one: str, other: str) -> Edge:
    return (one, other) if one < other else (other, one)


def _between(members: tuple[str, str, str]) -> Iterator[Edge]:
    return (_edge(a, b) for a, b in combinations(members, 2))


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
        self._middles: dict[str, str] = {}  # by goal
        self._swaps: dict[tuple[str, str, str], None] = {}  # mover, middle, goal: since all was calm
        self._torn: dict[tuple[str, str, str], None] = {}  # of these, those that somebody goes on with alone
        self._without: dict[tuple[str, str], None] = {}  # who goes on, and without whom
        self._versions: list[tuple[list[Edge], frozenset[Edge], frozenset[Edge]]] = [([], frozenset(), frozenset())]
        self._ways: dict[tuple[int, str, str], tuple[Edge, ...] | None] = {}
        for entry in entries:
            self._see(entry)

    def way(self, version: int, start: str, end: str) -> tuple[Edge, ...] | None:
        """The links between two brokers; None if there are none, or not all of them are settled."""
        key = (version, start, end)
        if key not in self._ways:
            links, fresh, _ = self._versions[version]
            path = find_path(links, start, end)
            way = tuple(_edge(a, b) for a, b in pairwise(path)) if path else None
            self._ways[key] = None if way is None or any(each in fresh for each in way) else way
        return self._ways[key]

    def risky(self, version: int) -> frozenset[Edge]:
        """Links between the three of a swap that somebody goes on with alone."""
        return self._versions[version][2]

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
            case Kind.CHANGE:
                marks += self._change(entry.node, entry.peer, entry.detail)
            case Kind.LINK_REMOVED:
                marks.append(self._forget([link]))
            case Kind.CRASHED:
                marks.append(Crashed(entry.node))
            case Kind.STARTED:
                self._drained.pop(entry.node, None)  # it has died while it left, and is back
                return
            case Kind.CALM:
                marks += self._calm(entry.time)
            case _:
                return
        self._remember()
        self.marks += [(entry.place, len(self._versions) - 1, mark) for mark in marks]
        if not marks:  # the version alone
            self.marks.append((entry.place, len(self._versions) - 1, Gone(())))

    def _remember(self) -> None:
        risky = frozenset(link for members in self._torn for link in _between(members))
        self._versions.append((list(self._links), frozenset(self._fresh), risky))

    def _change(self, node: str, peer: str, detail: str) -> Iterator[Mark]:
        if detail == DRAINED:
            self._drained[node] = None
        elif detail.startswith(SWAP_WITHOUT):
            yield self._tear(node, peer)
        elif detail == MIDDLE_HANDED and (node, peer) in self._without:
            yield self._forget([_edge(node, peer)])  # the mover is parted from the tree
        elif detail == GOAL_LOCKED:
            self._middles[node] = peer
        elif detail == GOAL_CONNECTED and node in self._middles:
            self._swaps[peer, self._middles[node], node] = None
        elif detail in GOAL_OUT:
            self._torn = {members: None for members in self._torn if members[2] != node}

    def _tear(self, one: str, other: str) -> Excused:
        self._without[one, other] = None
        torn = [members for members in self._swaps if one in members and other in members]
        self._torn |= dict.fromkeys(torn)
        return Excused(tuple(link for members in torn for link in _between(members)))

    def _move(self, mover: str, middle: str, goal: str) -> Moved:
        old, new, third = _edge(mover, middle), _edge(mover, goal), _edge(middle, goal)
        if old in self._fresh or third in self._fresh:  # the new link stands for both
            self._fresh[new] = None
        self._links.pop(old, None)
        self._links[new] = None
        return Moved(old, new, third)

    def _forget(self, gone: list[Edge]) -> Gone:
        """A broker that was drained has left nothing behind: what has passed its links is owed as before."""
        for each in gone:
            self._links.pop(each, None)
        return Gone(tuple(each for each in gone if not any(end in self._drained for end in each)))

    def _calm(self, time: float) -> list[Mark]:
        there = dict.fromkeys(self.edges())
        gone = self._forget([each for each in self._links if each not in there])
        self._links = there
        self._fresh, self._swaps, self._torn, self._without = {}, {}, {}, {}
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
