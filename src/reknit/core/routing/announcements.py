"""What one neighbour is told: of all the patterns that are wanted from it, those that have to be said.

Owns: the difference between wanted and said. Must not know: who wants what, or how it is said.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from reknit.model.covering import covers
from reknit.model.pattern import Pattern

__all__ = ["Announcements", "Covering", "Difference", "without_covered"]

Difference: TypeAlias = tuple[list[Pattern], list[Pattern]]
"""What to announce, and then what to retract."""


class Announcements:
    """All that is wanted is said."""

    def __init__(self) -> None:
        self._said: dict[Pattern, None] = {}

    def announced(self) -> list[Pattern]:
        return list(self._said)

    def want(self, pattern: Pattern) -> Difference:
        if pattern in self._said:
            return [], []
        self._said[pattern] = None
        return [pattern], []

    def want_no_more(self, pattern: Pattern) -> Difference:
        if pattern not in self._said:
            return [], []
        del self._said[pattern]
        return [], [pattern]


class Covering(Announcements):
    """Only what nothing else that is wanted covers is said."""

    def __init__(self) -> None:
        super().__init__()
        self._wanted: dict[Pattern, None] = {}

    def want(self, pattern: Pattern) -> Difference:
        if pattern in self._wanted:
            return [], []
        self._wanted[pattern] = None
        if any(dominates(other, pattern) for other in self._wanted):
            return [], []
        needless = [said for said in self._said if dominates(pattern, said)]
        self._said[pattern] = None
        for said in needless:
            del self._said[said]
        return [pattern], needless

    def want_no_more(self, pattern: Pattern) -> Difference:
        if pattern not in self._wanted:
            return [], []
        del self._wanted[pattern]
        if pattern not in self._said:
            return [], []
        del self._said[pattern]
        bared = [other for other in self._wanted if dominates(pattern, other) and not self._is_dominated(other)]
        for other in bared:
            self._said[other] = None
        return bared, [pattern]  # build before destroying

    def _is_dominated(self, pattern: Pattern) -> bool:
        return any(dominates(other, pattern) for other in self._wanted)


def dominates(one: Pattern, other: Pattern) -> bool:
    """``one`` makes ``other`` needless. Of two that cover each other, the smaller stays."""
    if one == other or not covers(one, other):
        return False
    return one < other or not covers(other, one)


def without_covered(patterns: Iterable[Pattern]) -> list[Pattern]:
    """The plain computation that ``Covering`` must agree with."""
    wanted = list(patterns)
    return [each for each in wanted if not any(dominates(other, each) for other in wanted)]
