"""The reconfiguration path of a change, and one broker's place on it (PATH, section 4.2).

A link (A,B) is replaced by (C,D). The path leads from A to B the other way round: the *head* from A to C, the new link,
the *tail* from D to B. C and D belong to the new link only, so the head is A and whoever lies before C, and the tail
whoever lies behind D, and B. Either may be empty: then A is C, or B is D; not both, for that would replace nothing.

Pure functions over names. Must not know: how a change is carried out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reknit.core.overlay.shapes import Edge, find_path
from reknit.wire.messages import Change

__all__ = ["Place", "fault", "find_change", "inverse", "make_change", "old_and_new"]


def make_change(id_: str, strategy: str, head: Sequence[str], tail: Sequence[str]) -> Change:
    """``head``: from A to C; ``tail``: from D to B; with their ends. To be looked at by ``fault``."""
    return Change(id_, strategy, [*head, *tail], len(head) - 1)


def fault(head: Sequence[str], tail: Sequence[str]) -> str:
    """Why these make no path, for people to read; empty if they do."""
    path = [*head, *tail]
    if not head or not tail:
        return "the path needs both ends of the new link"
    if twice := next((name for place, name in enumerate(path) if name in path[:place]), ""):
        return f"the path leads over {twice} twice: {' - '.join(path)}"
    if len(path) < 3:
        return f"the link between {path[0]} and {path[-1]} would be replaced by itself"
    return ""


def inverse(change: Change, id_: str) -> Change:
    """The change that undoes it: the new link goes, the old one comes, and the path is walked from C to D."""
    head, tail = change.path[: change.near + 1], change.path[change.near + 1 :]
    return make_change(id_, change.strategy, head[::-1], tail[::-1])


def old_and_new(change: Change) -> tuple[Edge, Edge]:
    """The link that goes, and the one that comes; each begins at the side of A."""
    path, near = change.path, change.near
    return (path[0], path[-1]), (path[near], path[near + 1])


def find_change(edges: Sequence[Edge], strategy: str, old: Edge, new: Edge) -> Change | None:
    """The change of a whole tree that puts ``new``, either way round, in the place of ``old``; None if it is none."""
    rest = [edge for edge in edges if set(edge) != set(old)]
    for near, far in (new, new[::-1]):
        head, tail = find_path(rest, old[0], near), find_path(rest, far, old[1])
        if head and tail:
            return make_change("", strategy, head, tail)
    return None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a broker stands on the path of a change."""

    change: Change
    at: int

    @classmethod
    def find(cls, change: Change, broker: str) -> Place | None:
        """None if it is not on the path."""
        return cls(change, change.path.index(broker)) if broker in change.path else None

    @property
    def is_first(self) -> bool:
        """A: an end of the old link, and the one that begins."""
        return self.at == 0

    @property
    def is_last(self) -> bool:
        """B: the other end of the old link."""
        return self.at == len(self.change.path) - 1

    @property
    def is_near(self) -> bool:
        """C: the end of the new link on the side of A."""
        return self.at == self.change.near

    @property
    def is_far(self) -> bool:
        """D: the end of the new link on the side of B."""
        return self.at == self.change.near + 1

    @property
    def in_head(self) -> bool:
        return self.at < self.change.near

    @property
    def part(self) -> str:
        """What it is called in a history or a trace."""
        if self.is_first or self.is_last:
            return "first" if self.is_first else "last"
        if self.is_near or self.is_far:
            return "near end" if self.is_near else "far end"
        return "head" if self.in_head else "tail"

    @property
    def before(self) -> str:
        """The broker before this one; before the first, the last: there the old link was."""
        return self.change.path[self.at - 1]

    @property
    def behind(self) -> str:
        """The broker behind this one; behind the last, the first."""
        return self.change.path[(self.at + 1) % len(self.change.path)]

    @property
    def old_peer(self) -> str:
        """At an end of the old link, the other end; empty elsewhere."""
        return self.before if self.is_first else self.behind if self.is_last else ""

    @property
    def new_peer(self) -> str:
        """At an end of the new link, the other end; empty elsewhere."""
        return self.behind if self.is_near else self.before if self.is_far else ""
