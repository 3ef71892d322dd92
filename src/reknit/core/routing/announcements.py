"""What one neighbour is told: of all the patterns that are wanted from it, those that have to be said.

Owns: the difference between wanted and said. Must not know: who wants what, or how it is said.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from reknit.model.covering import covers
from reknit.model.pattern import Pattern
from reknit.model.topic import TopicIndex

__all__ = ["Announcements", "Covering", "Difference", "without_covered"]

Difference: TypeAlias = tuple[list[Pattern], list[Pattern]]
"""What to announce, and then what to retract."""


class Announcements:
    """All that is wanted is said."""

    def __init__(self, wanted: Iterable[Pattern] = ()) -> None:
        self._said: dict[Pattern, None] = {}
        for pattern in wanted:
            self.want(pattern)

    def announced(self) -> list[Pattern]:
        return list(self._said)

    def knows(self, pattern: Pattern) -> None:
        """The neighbour has come to know of it by another way than being told."""
        self._said[pattern] = None

    def knows_not(self, pattern: Pattern) -> None:
        self._said.pop(pattern, None)

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
    """Only what nothing else that is wanted covers is said.

    Who might cover a pattern is found by its topic filter, read as if it were a topic: whatever filter covers it
    matches it so, and few others do. Whom it covers needs a look at all that is said, unless its topic has no wildcard.
    """

    def __init__(self, wanted: Iterable[Pattern] = ()) -> None:
        self._wanted: dict[Pattern, None] = {}
        self._by_topic: dict[str, dict[Pattern, None]] = {}  # of the wanted ones
        self._topics: TopicIndex[str] = TopicIndex()
        super().__init__(wanted)

    def want(self, pattern: Pattern) -> Difference:
        if pattern in self._wanted:
            return [], []
        self._enter(pattern)
        if self._is_dominated(pattern):
            return [], []
        needless = [said for said in self._within(pattern, self._said) if dominates(pattern, said)]
        self._said[pattern] = None
        for said in needless:
            del self._said[said]
        return [pattern], needless

    def want_no_more(self, pattern: Pattern) -> Difference:
        if pattern not in self._wanted:
            return [], []
        self._take_out(pattern)
        if pattern not in self._said:
            return [], []
        del self._said[pattern]
        below = [other for other in self._within(pattern, self._wanted) if dominates(pattern, other)]
        bared = [other for other in below if not self._is_dominated(other)]
        for other in bared:
            self._said[other] = None
        return bared, [pattern]  # build before destroying

    def _enter(self, pattern: Pattern) -> None:
        self._wanted[pattern] = None
        if pattern.topic not in self._by_topic:
            self._by_topic[pattern.topic] = {}
            self._topics.add(pattern.topic, pattern.topic)
        self._by_topic[pattern.topic][pattern] = None

    def _take_out(self, pattern: Pattern) -> None:
        del self._wanted[pattern]
        del self._by_topic[pattern.topic][pattern]
        if not self._by_topic[pattern.topic]:
            del self._by_topic[pattern.topic]
            self._topics.remove(pattern.topic, pattern.topic)

    def _is_dominated(self, pattern: Pattern) -> bool:
        topics = self._topics.match(pattern.topic)
        return any(dominates(other, pattern) for topic in topics for other in self._by_topic[topic])

    def _within(self, pattern: Pattern, patterns: dict[Pattern, None]) -> Iterable[Pattern]:
        """All of ``patterns`` that ``pattern`` could cover, and perhaps others."""
        if "+" in pattern.topic or "#" in pattern.topic:
            return patterns
        return [each for each in self._by_topic.get(pattern.topic, ()) if each in patterns]


def dominates(one: Pattern, other: Pattern) -> bool:
    """``one`` makes ``other`` needless. Of two that cover each other, the smaller stays."""
    if one == other or not covers(one, other):
        return False
    return one < other or not covers(other, one)


def without_covered(patterns: Iterable[Pattern]) -> list[Pattern]:
    """The plain computation that ``Covering`` must agree with."""
    wanted = list(patterns)
    return [each for each in wanted if not any(dominates(other, each) for other in wanted)]
