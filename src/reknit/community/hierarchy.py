"""Which community includes which.

By default a topic's parent is the topic one level up, and above the first level is the root, ``#``, the community of
all topics. A peer may be told other parents for a topic, several or none. All members of a community should be told the
same, but nobody can make sure of that; so a peer that is told of a cycle refuses it at once, and an event says which
way it came, so that a cycle which only several peers make together is seen as well.

Owns: parents, ladders and ways. Must not know: who is a member of what.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reknit.model.errors import BadPattern
from reknit.wire.peers import ROOT, check_community

__all__ = ["BadHierarchy", "Hierarchy", "came_rightly", "filter_of", "includes"]


class BadHierarchy(BadPattern):
    """Parents that cannot be: a cycle, or no topics."""


def includes(community: str, topic: str) -> bool:
    """Whether ``topic`` is the topic of ``community`` or below it, by its name alone."""
    if community == ROOT:
        return not topic.startswith("$")
    return topic == community or topic.startswith(f"{community}/")


def filter_of(community: str) -> str:
    """The topic filter of what its members get."""
    return ROOT if community == ROOT else f"{community}/#"


class Hierarchy:
    def __init__(self, parents: Mapping[str, tuple[str, ...]]) -> None:
        """Raise ``BadHierarchy`` or ``BadTopic`` unless these are parents that topics can have."""
        self._told = dict(parents)
        for topic, above in self._told.items():
            for each in (topic, *above):
                check_community(each)
        for topic in self._told:
            self._refuse_cycle(topic)

    def parents(self, topic: str) -> tuple[str, ...]:
        if topic in self._told:
            return self._told[topic]
        if topic == ROOT:
            return ()
        above, slash, _ = topic.rpartition("/")
        if slash and above:
            return (above,)
        return () if topic.startswith("$") else (ROOT,)

    def ladder(self, parent: str) -> tuple[str, ...]:
        """The parent, its parents, theirs, and so on: where to look when a level is empty."""
        return (parent, *self._above(parent))

    def _refuse_cycle(self, topic: str) -> None:
        if topic in self._above(topic):
            raise BadHierarchy(f"a topic cannot be above itself: {topic} is, by the parents that were named")

    def _above(self, topic: str) -> dict[str, None]:
        found: dict[str, None] = {}
        level = list(self.parents(topic))
        while level:
            found.update(dict.fromkeys(level))
            level = [each for below in level for each in self.parents(below) if each not in found]
        return found


def came_rightly(community: str, way: Sequence[str], topic: str) -> bool:
    """Whether an event of ``topic`` may be in ``community``, as far as can be told from its name and its way."""
    if community in way or len(set(way)) < len(way):
        return False
    return includes(community, topic) or (bool(way) and includes(way[0], topic))
