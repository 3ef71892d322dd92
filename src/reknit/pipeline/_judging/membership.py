"""Who belongs to which community, as far as a trace tells, and who handles events that are none of its business."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reknit.trace.records import Kind

__all__ = ["ENDS", "OF_BROKERS", "Ladder", "Member"]

ENDS = (Kind.STARTED, Kind.CRASHED)
"""With either, a peer belongs to nothing."""
OF_BROKERS = (Kind.ATTACHED, Kind.LINK_ADDED, Kind.LINK_UP)
"""What only brokers see, who are members of nothing."""
_ALL = "#"


@dataclass(slots=True)
class Ladder:
    """From a topic to the communities that its events belong to: its own, those above it, and those above them.

    By name the community above ``a/b`` is ``a``, and above that the one of all topics; ``parents`` says where it is
    otherwise.
    """

    parents: Mapping[str, tuple[str, ...]]
    _known: dict[str, frozenset[str]] = field(default_factory=dict)

    def filters(self, topic: str) -> frozenset[str]:
        """The topic filters by which peers are members of them."""
        if topic not in self._known:
            found: dict[str, None] = {}
            todo = [topic]
            while todo:
                community = todo.pop()
                found[community] = None
                todo += [each for each in self._above(community) if each not in found]
            self._known[topic] = frozenset(each if each == _ALL else f"{each}/#" for each in found)
        return self._known[topic]

    def _above(self, community: str) -> tuple[str, ...]:
        if community in self.parents:
            return self.parents[community]
        above, slash, _ = community.rpartition("/")
        if slash and above:
            return (above,)
        return () if community == _ALL or community.startswith("$") else (_ALL,)


@dataclass(slots=True)
class Member:
    """One peer: what it is a member of, and until when it was one of what else."""

    of: set[str] = field(default_factory=set)
    left: dict[str, float] = field(default_factory=dict)

    def see(self, kind: str, topic_filter: str, time: float) -> None:
        if kind == Kind.SUBSCRIBED:
            self.of.add(topic_filter)
            return
        gone = {topic_filter} if kind == Kind.UNSUBSCRIBED else self.of
        self.left |= dict.fromkeys(gone, time)
        self.of = self.of - gone

    def is_stranger(self, kind: str, wanted: frozenset[str], time: float, late_s: float) -> bool:
        """Whether what it does with an event of these communities is none of its business. Events that come shortly
        after it has left may be thrown away, for nobody can know at once."""
        if self.of & wanted:
            return False
        since = [self.left[each] for each in wanted if each in self.left]
        return not (kind == Kind.DROPPED and since and time - max(since) <= late_s)
