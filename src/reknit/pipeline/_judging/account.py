"""What one client of one run is owed, and what it got: nothing lost, doubled, unwanted; FIFO from each source.

An event is owed to a session if a subscription of it that matches has settled (all was calm once since), over links
that were promised when it was published. It is owed no more when the subscription or the session ends, when a link of
its way is gone, when the session's broker crashes, or its own before the event has settled. What a session is owed
moves with it. With stores a crash ends nothing. What was on a link of a swap that has lost one of its three is excused.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from reknit.core.overlay.shapes import Edge
from reknit.pipeline._judging.history import Calm, Crashed, Excused, Gone, History, Mark, Moved, Place
from reknit.trace.records import Kind

__all__ = ["Account", "Finding", "Seen"]

EventId: TypeAlias = tuple[str, int]


class Finding(NamedTuple):
    """Something wrong, or with ``what`` = ``owed`` or ``delivered`` a number of things that were looked at."""

    what: str
    time: float
    node: str
    client: str
    source: str = ""
    seq: int = 0
    topic: str = ""
    hops: int = 0
    began: float | None = None
    """When the event was published, if that is known."""
    many: int = 1


@dataclass(frozen=True, slots=True)
class Seen:
    """A record about this client, or an event that a pattern of its matches."""

    place: Place
    time: float
    node: str
    kind: str
    peer: str = ""
    event: EventId = ("", 0)
    topic: str = ""
    patterns: frozenset[int] = frozenset()
    """The pattern that is subscribed or given up; of an event, those that match it."""
    settled: Place | None = None
    """Of a publication: when every next hop had taken it over."""


@dataclass(slots=True)
class _Session:
    patterns: dict[int, bool] = field(default_factory=dict)  # to: has it settled?
    got: dict[EventId, None] = field(default_factory=dict)
    here: bool = False  # whether it has begun there, or arrived


@dataclass(slots=True)
class _Debt:
    publication: Seen
    way: tuple[Edge, ...]
    patterns: frozenset[int]
    former: tuple[Edge, ...] = ()
    """Links of the way before they moved: the event may still be on one of them."""
    excused: bool = False

    def excuse(self, links: Collection[Edge]) -> None:
        self.excused = self.excused or any(each in links for each in (*self.way, *self.former))


class Account:
    def __init__(self, client: str, history: History, lasting: bool) -> None:
        self.client = client
        self.history = history
        self.lasting = lasting
        self.version = 0
        self.sessions: dict[str, _Session] = {}  # by broker
        self.debts: dict[str, dict[EventId, _Debt]] = {}  # by broker
        self.on_its_way: dict[str, dict[EventId, None]] = {}  # by broker: what a session that moves had got
        self.last: dict[str, dict[str, int]] = {}  # by broker: the last number of each source
        self.last_moving: dict[str, dict[str, int]] = {}
        self.counts = {"owed": 0, "delivered": 0}

    def judge(self, seen: Iterable[Seen]) -> Iterator[Finding]:
        """``seen`` in the order of places."""
        marks = iter(self.history.marks)
        mark = next(marks, None)
        for each in seen:
            while mark is not None and mark[0] < each.place:
                yield from self._mark(mark)
                mark = next(marks, None)
            yield from self._see(each)
        while mark is not None:
            yield from self._mark(mark)
            mark = next(marks, None)
        for what, count in self.counts.items():
            yield Finding(what, 0.0, "", self.client, many=count)

    # --- the tree

    def _mark(self, marked: tuple[Place, int, Mark]) -> Iterator[Finding]:
        place, self.version, mark = marked
        match mark:
            case Gone(links) if links:
                self._void(lambda debt: any(each in debt.way for each in links))
            case Moved():
                self._move(mark)
            case Excused(links):
                for debt in (debt for debts in self.debts.values() for debt in debts.values()):
                    debt.excuse(links)
            case Crashed(node):
                self._crash(node, place)
            case Calm(time):
                yield from self._calm(time)

    def _void(self, ends: Callable[[_Debt], bool]) -> None:
        for debts in self.debts.values():
            for event in [event for event, debt in debts.items() if ends(debt)]:
                del debts[event]

    def _move(self, moved: Moved) -> None:
        for debts in self.debts.values():
            for debt in debts.values():
                if moved.old in debt.way:
                    rest = tuple(each for each in debt.way if each not in (moved.old, moved.third))
                    led_over_third = moved.third in debt.way
                    debt.former += debt.way
                    debt.way = (*rest, moved.new) if led_over_third else (*rest, moved.new, moved.third)

    def _crash(self, node: str, place: Place) -> None:
        self.last.pop(node, None)
        if self.lasting:
            if not self._session(node).here:  # it was on its way there
                self._end(node)
            return
        self._end(node)
        self._void(lambda debt: debt.publication.node == node and _open(debt.publication, place))

    def _calm(self, time: float) -> Iterator[Finding]:
        for node, debts in self.debts.items():
            for event, debt in debts.items():
                if not debt.excused:
                    topic, began = debt.publication.topic, debt.publication.time
                    yield Finding("lost", time, node, self.client, *event, topic, len(debt.way), began)
        self.debts.clear()
        for session in self.sessions.values():
            session.patterns = dict.fromkeys(session.patterns, True)

    # --- the client

    def _see(self, seen: Seen) -> Iterator[Finding]:
        node, other = seen.node, seen.peer
        match seen.kind:
            case Kind.ATTACHED:
                if not self.lasting or node not in self.sessions:
                    self.sessions[node] = _Session()
                self.sessions[node].here = True
                self.last.pop(node, None)
            case Kind.DETACHED:
                self._end(node)
                self.last.pop(node, None)
            case Kind.MOVING:
                self.on_its_way[node] = dict(self._session(node).got)
                self.last_moving[node] = dict(self.last.get(node, {}))
            case Kind.MOVED_IN:
                self._moved_in(node, other)
            case Kind.MOVED_OUT:
                self._moved_out(node, other)
            case Kind.SUBSCRIBED:
                patterns = self._session(node).patterns
                for each in seen.patterns:
                    patterns[each] = self.lasting and patterns.get(each, False)
            case Kind.UNSUBSCRIBED:
                for each in seen.patterns:
                    self._session(node).patterns.pop(each, None)
                    self._release(node, each)
            case Kind.PUBLISHED:
                self._published(seen)
            case Kind.DELIVERED:
                yield from self._delivered(seen)

    def _session(self, node: str) -> _Session:
        return self.sessions.setdefault(node, _Session())

    def _end(self, node: str) -> None:
        self.sessions.pop(node, None)
        self.debts.pop(node, None)

    def _moved_in(self, node: str, old_node: str) -> None:
        old, new = self.sessions.get(old_node), self._session(node)
        new.got.update(self.on_its_way.get(old_node, {}))
        new.here = True
        if old is not None:
            new.patterns.update({each: settled for each, settled in old.patterns.items() if each in new.patterns})
        self.last[node] = dict(self.last_moving.get(old_node, {}))

    def _moved_out(self, node: str, new_node: str) -> None:
        debts = self.debts.pop(node, {})
        self._end(node)
        if (new := self.sessions.get(new_node)) is None:  # its new broker has died meanwhile
            return
        link = (node, new_node) if node < new_node else (new_node, node)
        for event, debt in debts.items():
            if event not in new.got:
                debt.way = tuple(each for each in debt.way if each != link)
                self.debts.setdefault(new_node, {})[event] = debt

    def _release(self, node: str, pattern: int) -> None:
        debts = self.debts.get(node, {})
        for event, debt in list(debts.items()):
            debt.patterns -= {pattern}
            if not debt.patterns:
                del debts[event]

    # --- events

    def _published(self, seen: Seen) -> None:
        for node, session in self.sessions.items():
            wanting = frozenset(each for each in seen.patterns if session.patterns.get(each))
            way = self.history.way(self.version, seen.node, node) if wanting else None
            if way is not None:
                self.counts["owed"] += 1
                debt = self.debts.setdefault(node, {})[seen.event] = _Debt(seen, way, wanting)
                debt.excuse(self.history.risky(self.version))

    def _delivered(self, seen: Seen) -> Iterator[Finding]:
        self.counts["delivered"] += 1
        node, (source, seq) = seen.node, seen.event
        session = self._session(node)
        wrong = []
        if seen.event in session.got:
            wrong.append("duplicated")
        session.got[seen.event] = None
        if not any(each in seen.patterns for each in session.patterns):
            wrong.append("unwanted")
        debt = self.debts.get(node, {}).pop(seen.event, None)
        last = self.last.setdefault(node, {})
        if seq < last.get(source, 0):
            wrong.append("not fifo")
        last[source] = max(seq, last.get(source, 0))
        began = debt.publication.time if debt is not None else None
        for what in wrong:
            yield Finding(what, seen.time, node, self.client, source, seq, seen.topic, 0, began)


def _open(publication: Seen, place: Place) -> bool:
    """Whether at this place it had not settled yet."""
    return publication.settled is None or publication.settled > place
