"""Order: FIFO from each publisher, and causal.

FIFO: a client sees the events of one source in the order of their numbers. Causal: if the publisher of an event had
seen or published another before, nobody sees the later one first. The causal past of an event is kept as one number
per source. A client has seen what was delivered to it where it is: into a session that has moved ahead of it, it looks
once it has been told. A crash tears causal chains (what a dead broker had passed on to some and not to others comes
again from further back), so causal order is judged from one calm moment to the next only where nothing has crashed.
Neither is it where a link was given up, or replaced at once: what has crossed the old link may still be on its way when
what follows it takes the new one. A swap, an addition and a drain keep it, unless a swap had to be ended without one of
its three. A client that begins anew elsewhere takes no causes along.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from reknit.core.overlay.history import ADD, DRAIN, SWAP
from reknit.model.event import Event, EventId
from reknit.sim.checkers.violation import Violation
from reknit.trace.records import SWAP_WITHOUT, Kind, Record

__all__ = ["check_order", "check_order_by_topic"]

_ORDERLY = (SWAP, ADD, DRAIN, "return")
"""Changes that keep causal order; a return is what follows a crash, which has torn it by then."""

_Past: TypeAlias = dict[str, int]
"""For each source, the number of its last event in the past."""


class _Watcher:
    def __init__(self) -> None:
        self.last: dict[tuple[str, str], _Past] = {}  # by node and client: the last event seen of each source
        self.seen: dict[str, _Past] = {}  # by client: what it knows of when it publishes
        self.implied: dict[tuple[str, str], _Past] = {}  # by node and client: pasts of the events that it has seen
        self.pasts: dict[tuple[str, int], _Past] = {}
        self.moving: dict[tuple[str, str], tuple[_Past, _Past]] = {}  # last and implied, when it went on its way
        self.ahead: dict[tuple[str, str], None] = {}  # sessions that have moved, whose clients do not know it yet
        self.nodes: dict[str, dict[str, None]] = {}  # by client: brokers that have, or had, a session of it
        self.at: dict[str, str] = {}  # by client that has two sessions: where it is
        self.torn = False

    def see(self, record: Record) -> Iterator[Violation]:
        key = (record.node, record.client)
        match record.kind:
            case Kind.ATTACHED | Kind.DETACHED:
                self._goes(record)
                self.last.pop(key, None)
                self.implied.pop(key, None)
                self.ahead.pop(key, None)
            case Kind.MOVING:
                self.moving[key] = (dict(self.last.get(key, {})), dict(self.implied.get(key, {})))
            case Kind.MOVED_IN:
                last, implied = self.moving[record.peer, record.client]
                self.last[key], self.implied[key] = dict(last), dict(implied)
                self.ahead[key] = None
                self.nodes.setdefault(record.client, {})[record.node] = None
            case Kind.MOVED_OUT:
                if self.at.get(record.client) == record.node:
                    self.at[record.client] = record.peer
                if not self._left((record.peer, record.client)):
                    self._told((record.peer, record.client))
            case Kind.CRASHED:
                self.torn = True
                for each in [each for each in self.last if each[0] == record.node]:
                    del self.last[each]
                for each in [each for each in self.ahead if each[0] == record.node]:
                    del self.ahead[each]
            case Kind.LINK_LOST:
                self.torn = True
            case Kind.CHANGE if _tears(record.detail):
                self.torn = True
            case Kind.TAKEN if record.event is None:
                self._goes(record)
            case Kind.CALM:
                self.torn = False
                self.seen.clear()
                self.implied.clear()
                self.pasts.clear()
            case Kind.PUBLISHED if record.event is not None:
                self._published(key, record.event)
            case Kind.DELIVERED if record.event is not None:
                yield from self._fifo(key, record.event, record.time)
                yield from self._causal(key, record.event, record.time)

    def _goes(self, record: Record) -> None:
        """A client that has a session elsewhere, too, begins anew, or goes back: no broker knows what it has seen."""
        client, nodes = record.client, self.nodes.setdefault(record.client, {})
        elsewhere = any(node != record.node for node in nodes)
        if record.kind is Kind.DETACHED:
            nodes.pop(record.node, None)
            if elsewhere and self._left((record.node, client)):
                return
        else:
            nodes[record.node] = None
        if elsewhere:
            self.seen.pop(client, None)
            self.at[client] = record.node if record.node in nodes else ""

    def _published(self, key: tuple[str, str], event: Event) -> None:
        if self._left(key):  # by a broker that has come to it only after its client had gone
            self.pasts[event.id] = {}
            return
        seen = self.seen.setdefault(key[1], {})
        self.pasts[event.id] = dict(seen)
        seen[event.source] = event.seq

    def _left(self, key: tuple[str, str]) -> bool:
        """Whether the client is known to be at another broker."""
        return self.at.get(key[1], "") not in ("", key[0])

    def _told(self, key: tuple[str, str]) -> None:
        self.ahead.pop(key, None)
        seen = self.seen.setdefault(key[1], {})
        _merge(seen, self.last.get(key, {}))
        _merge(seen, self.implied.get(key, {}))

    def _fifo(self, key: tuple[str, str], event: Event, time: float) -> Iterator[Violation]:
        last = self.last.setdefault(key, {})
        before = last.get(event.source, 0)
        if event.seq < before:
            what = f"{key[1]} at {key[0]} saw {event.id} behind number {before} of the same source"
            yield Violation("order", time, f"not FIFO: {what}")
        last[event.source] = max(event.seq, before)

    def _causal(self, key: tuple[str, str], event: Event, time: float) -> Iterator[Violation]:
        past = self.pasts.get(event.id)
        if past is None:  # published before all was calm last
            return
        implied = self.implied.setdefault(key, {})
        if implied.get(event.source, 0) >= event.seq and not self.torn:
            yield Violation(
                "order", time, f"not causal: {key[1]} at {key[0]} saw {event.id} behind one that follows it"
            )
        _merge(implied, past)
        if key in self.ahead or self._left(key):
            return
        seen = self.seen.setdefault(key[1], {})
        _merge(seen, past)
        _merge(seen, {event.source: event.seq})


def _tears(step: str) -> bool:
    return step.partition(":")[0] not in _ORDERLY or step.startswith(SWAP_WITHOUT)


def _merge(into: _Past, other: _Past) -> None:
    for source, seq in other.items():
        if seq > into.get(source, 0):
            into[source] = seq


def check_order(records: Iterable[Record]) -> Iterator[Violation]:
    watcher = _Watcher()
    for record in records:
        yield from watcher.see(record)


class _Lines:
    """What clients have seen of each source and topic; and of each publisher and topic, wherever that has published."""

    def __init__(self) -> None:
        self.last: dict[tuple[str, str], dict[tuple[str, str], int]] = {}  # by node and client
        self.moving: dict[tuple[str, str], dict[tuple[str, str], int]] = {}  # the same, when it went on its way
        self.places: dict[EventId, tuple[str, int]] = {}  # by event: its publisher, and the place among all that it has
        self.lives: dict[str, int] = {}  # by client: how often it has begun anew
        self.count = 0

    def see(self, record: Record) -> Iterator[Violation]:
        key, event = (record.node, record.client), record.event
        match record.kind:
            case Kind.ATTACHED:
                self.last.pop(key, None)
                self.lives[record.client] = self.lives.get(record.client, 0) + 1
            case Kind.DETACHED:
                self.last.pop(key, None)
            case Kind.CRASHED:
                self.last = {each: seen for each, seen in self.last.items() if each[0] != record.node}
            case Kind.MOVING:
                self.moving[key] = dict(self.last.get(key, {}))
            case Kind.MOVED_IN:
                self.last[key] = dict(self.moving.get((record.peer, record.client), {}))
            case Kind.PUBLISHED if event is not None:
                self.count += 1
                publisher = f"{record.client}, life {self.lives.get(record.client, 0)}"
                self.places[event.id] = (publisher, self.count)
            case Kind.DELIVERED if event is not None:
                yield from self._delivered(key, event, record.time)

    def _delivered(self, key: tuple[str, str], event: Event, time: float) -> Iterator[Violation]:
        publisher, place = self.places.get(event.id, ("", 0))
        lines = {event.source: event.seq} | ({publisher: place} if publisher else {})
        seen = self.last.setdefault(key, {})
        for source, number in lines.items():
            before = seen.get((source, event.topic), 0)
            if number < before:
                what = f"{key[1]} at {key[0]} saw {event.id} behind number {before} of {source} in {event.topic}"
                yield Violation("order", time, f"not FIFO: {what}")
            seen[source, event.topic] = max(number, before)


def check_order_by_topic(records: Iterable[Record]) -> Iterator[Violation]:
    """On a ring: FIFO from each source and each publisher, topic by topic; no more is promised.

    No crash releases from it, and no move of a session, be it the publisher's or the one that sees the events.
    """
    lines = _Lines()
    for record in records:
        yield from lines.see(record)
