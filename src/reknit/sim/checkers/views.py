"""Tables of peers: nobody is in its own, nobody is in one twice, none has more entries than it may, and on average they
have as many as the theory of the membership says.

Owns: that judgement. Must not know: anything but the trace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import floor, log, sqrt

from reknit.sim.checkers.violation import Violation
from reknit.trace.records import Kind, Record

__all__ = ["MOMENTS_MIN", "Tables", "check_view_sizes", "check_views", "even_size", "follow", "scamp_size"]

MEMBERS_MIN = 8
"""A community of fewer is no crowd: all know all, whatever the theory says of many."""

SIZE_TOLERANCE = 0.3
MOMENTS_MIN = 20
"""Over so many the mean is taken: at one moment that of a dozen views, drawn by chance, is off by a fifth at times."""

ERRORS = 4.0
"""Standard errors by which the mean of one moment may be off besides; sizes are about as many apart as Poisson's."""

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

    def parents(self, node: str, topic: str) -> list[tuple[str, list[tuple[str, str]]]]:
        """The same by parent: what is known for each of them."""
        mine = f"above {topic.removesuffix('/#')} for "
        found: dict[str, list[tuple[str, str]]] = {}
        for key, entries in self.entries.items():
            if key[0] == node and key[2].startswith(mine) and entries:
                found.setdefault(key[2].removeprefix(mine), []).extend((key[1], peer) for peer in entries)
        return list(found.items())


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
    """As many members in a view as the theory says, within 30 %: on average over members, and over moments of calm; and
    at each moment, within what chance makes of so many views.

    Judged are communities that nobody has joined or left for ``MOMENTS_MIN`` moments, a lease apart. ``size``: from the
    number of members to what the theory says.
    """
    found = []
    means: dict[str, list[float]] = {}  # by topic filter: of each moment since somebody has come or gone
    for record, tables, _ in follow(records):
        if record.kind in (Kind.SUBSCRIBED, Kind.UNSUBSCRIBED, Kind.CRASHED, Kind.STARTED):
            means = {}
        if record.kind is not Kind.CALM:
            continue
        for topic, members in tables.members.items():
            if len(members) < MEMBERS_MIN:
                continue
            so_far = means.setdefault(topic, [])
            so_far.append(sum(len(tables.table(node, topic)) for node in members) / len(members))
            if len(so_far) == MOMENTS_MIN and (wrong := _wrong(so_far, size(len(members)), len(members))):
                found.append(Violation("view sizes", record.time, f"{len(members)} members of {topic} {wrong}"))
    return found


def _wrong(means: list[float], theory: float, members: int) -> str:
    mean = sum(means) / len(means)
    if abs(mean - theory) > SIZE_TOLERANCE * theory:
        return f"have {mean:.2f} in their views on average over {len(means)} moments, not {theory:.2f}"
    worst = max(means, key=lambda each: abs(each - theory))
    if abs(worst - theory) > SIZE_TOLERANCE * theory + ERRORS * sqrt(theory / members):
        return f"have {worst:.2f} in their views at one moment of {len(means)}, not {theory:.2f}"
    return ""
