"""Tables of peers: nobody is in its own, nobody is in one twice, none has more entries than it may, and on average they
have as many as the theory of the membership says.

Owns: that judgement. Must not know: anything but the trace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import floor, log, sqrt

from reknit.sim.checkers.violation import Violation
from reknit.trace.records import Kind, Record

__all__ = ["Tables", "check_view_sizes", "check_views", "even_size", "follow", "scamp_size"]

MEMBERS_MIN = 8
"""A community of fewer is no crowd: all know all, whatever the theory says of many."""

SIZE_TOLERANCE = 0.3
CHANCE = 3.0
"""Standard errors by which the mean of one moment may be off besides, if views spread as Poisson's numbers do."""

TABLE = "table"

Key = tuple[str, str, str]
"""A node, a community's topic filter, and which table of that node."""


class Tables:
    """All tables, as they are after the records so far."""

    def __init__(self) -> None:
        self.entries: dict[Key, dict[str, None]] = {}
        self.members: dict[str, dict[str, bool]] = {}  # by topic filter; whether they want events delivered

    def take(self, record: Record) -> str:
        """Follow one record; what is wrong with it, if anything."""
        topic = record.pattern.topic if record.pattern is not None else ""
        if record.kind in (Kind.CRASHED, Kind.STARTED):
            self._forget(record.node)
        elif record.kind is Kind.SUBSCRIBED:
            self.members.setdefault(topic, {})[record.node] = not record.detail
        elif record.kind is Kind.UNSUBSCRIBED:
            self.members.get(topic, {}).pop(record.node, None)
            self._leave(record.node, topic)
        elif record.kind is Kind.ROUTE_ADDED:
            return self._add((record.node, topic, record.detail), record.peer)
        elif record.kind is Kind.ROUTE_REMOVED:
            self.entries.get((record.node, topic, record.detail), {}).pop(record.peer, None)
        return ""

    def _add(self, key: Key, peer: str) -> str:
        table = self.entries.setdefault(key, {})
        twice = peer in table
        table[peer] = None
        if peer == key[0]:
            return f"{key[0]} has itself in its table of {key[1]}"
        return f"{key[0]} has {peer} twice in its table of {key[1]}" if twice else ""

    def _forget(self, node: str) -> None:
        for members in self.members.values():
            members.pop(node, None)
        for key in [key for key in self.entries if key[0] == node]:
            del self.entries[key]

    def _leave(self, node: str, topic: str) -> None:
        community = topic.removesuffix("/#")
        for key in [key for key in self.entries if key[0] == node]:
            if key[1:] == (topic, TABLE) or key[2].startswith(f"above {community} for "):
                del self.entries[key]

    def table(self, node: str, topic: str) -> list[str]:
        """Its topic table."""
        return list(self.entries.get((node, topic, TABLE), ()))

    def above(self, node: str, topic: str) -> list[tuple[str, str]]:
        """Members of communities above this one that it knows: topic filter and address."""
        mine = f"above {topic.removesuffix('/#')} for "
        known = (key for key in self.entries if key[0] == node and key[2].startswith(mine))
        return [(key[1], peer) for key in known for peer in self.entries[key]]


def follow(records: Iterable[Record]) -> Iterator[tuple[Record, Tables, str]]:
    """Each record, all tables after it, and what is wrong with it."""
    tables = Tables()
    for record in records:
        wrong = tables.take(record)
        yield record, tables, wrong


def check_views(records: Iterable[Record], view_max: int, z: int) -> list[Violation]:
    found = []
    for record, tables, wrong in follow(records):
        if wrong:
            found.append(Violation("views", record.time, wrong))
        elif record.kind is Kind.ROUTE_ADDED and record.pattern is not None:
            size = len(tables.entries[record.node, record.pattern.topic, record.detail])
            bound = view_max if record.detail == TABLE else z
            if size > bound:
                told = f"{record.node} has {size} entries in its table of {record.pattern.topic}, over {bound}"
                found.append(Violation("views", record.time, told))
    return found


def scamp_size(copies: int) -> Callable[[int], float]:
    """By the theory of SCAMP: ``(c + 1) ln N`` members in a view on average."""
    return lambda members: (copies + 1) * log(members)


def even_size(c: float) -> Callable[[int], float]:
    """Where all tables have the same size, or hold everybody."""
    return lambda members: float(min(members - 1, floor(log(members) + c)))


def check_view_sizes(records: Iterable[Record], size: Callable[[int], float]) -> list[Violation]:
    """At every moment of calm: as many members in a view as the theory says on average, within 30 % and some chance.

    ``size``: from the number of members to what the theory says.
    """
    found = []
    for record, tables, _ in follow(records):
        if record.kind is not Kind.CALM:
            continue
        for topic, members in tables.members.items():
            if len(members) < MEMBERS_MIN:
                continue
            mean = sum(len(tables.table(node, topic)) for node in members) / len(members)
            theory = size(len(members))
            if abs(mean - theory) > SIZE_TOLERANCE * theory + CHANCE * sqrt(theory / len(members)):
                told = f"{len(members)} members of {topic} have {mean:.2f} in their views on average, not {theory:.2f}"
                found.append(Violation("view sizes", record.time, told))
    return found
