"""Nobody handles an event of a community that it does not belong to.

An event reaches a peer's user, or leaves a peer for another, only while that peer is a member of a community that the
event belongs to: of its topic, or above it. And nobody is even sent one, unless it has been a member until a short
time ago: those who know it cannot all have heard at once that it has left or begun a new life.

Where there are gateways, brokers are in the same trace. They are members of nothing, and carry what others want; they
are known by their clients and links, which no peer has.

Owns: that judgement. Must not know: anything but the trace, and which community is above which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from reknit.model.topic import topic_matches
from reknit.sim.checkers.violation import Violation
from reknit.trace.records import Kind, Record

__all__ = ["OF_BROKERS", "Above", "by_name", "check_parasites"]

OF_BROKERS = (Kind.ATTACHED, Kind.LINK_ADDED, Kind.LINK_UP)
"""What peers never see."""

Above = Callable[[str], tuple[str, ...]]
"""From a topic to the topic filters of all communities that its events belong to."""


def check_parasites(records: Iterable[Record], above: Above, late_s_max: float) -> list[Violation]:
    """``late_s_max``: how long after it has left a peer may still be sent events, which it throws away."""
    members: dict[str, dict[str, None]] = {}  # by node: topic filters
    left: dict[tuple[str, str], float] = {}  # by node and topic filter: when it ceased to be a member
    found = []
    records = list(records)
    brokers = {record.node for record in records if record.client or record.kind in OF_BROKERS}
    for record in records:
        if record.node in brokers:
            continue
        if record.kind in (Kind.SUBSCRIBED, Kind.UNSUBSCRIBED, Kind.STARTED, Kind.CRASHED):
            _follow(record, members, left)
        elif record.event is not None:
            wanted = above(record.event.topic)
            mine = members.get(record.node, {})
            if any(each in mine for each in wanted):
                continue
            since = max((left.get((record.node, each), -1.0) for each in wanted), default=-1.0)
            refused = record.kind is Kind.DROPPED and since >= 0.0 and record.time - since <= late_s_max
            if not refused:
                found.append(Violation("parasites", record.time, _told(record)))
    return found


def _follow(record: Record, members: dict[str, dict[str, None]], left: dict[tuple[str, str], float]) -> None:
    mine = members.setdefault(record.node, {})
    if record.kind is Kind.SUBSCRIBED and record.pattern is not None:
        mine[record.pattern.topic] = None
    elif record.kind is Kind.UNSUBSCRIBED and record.pattern is not None:
        mine.pop(record.pattern.topic, None)
        left[record.node, record.pattern.topic] = record.time
    else:
        left.update({(record.node, topic): record.time for topic in mine})
        mine.clear()


def _told(record: Record) -> str:
    topic = record.event.topic if record.event is not None else ""
    return f"{record.node} has {record.kind.value} an event on {topic!r}, which it is no member for"


def by_name(communities: Iterable[str]) -> Above:
    """Where nothing but names says what is above what: all filters of these that match."""
    filters = tuple(communities)
    return lambda topic: tuple(each for each in filters if topic_matches(each, topic))
