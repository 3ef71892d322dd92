"""The trace of a live run in an order in which nothing comes before its cause.

Brokers stamp records with the clock of the machine, each by an offset of its own, so a record of one may seem a
little earlier than the record of another that caused it. For a checker that reads in order, an event that is delivered
before it is published is an event that never arrives. So whatever is about an event waits for its publication, and
what the others say of a link that moves waits for the word of the broker that has moved it. A session that moves is on
its way before it is there, and there before it is given up. What one broker has written keeps its order.

Owns: that order. Must not know: what the records prove.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from reknit.trace.records import Kind, Record

__all__ = ["causal_order"]

_Move: TypeAlias = tuple[Kind, str, str, str]
"""The kind of the record that comes first; whose link or session, from whom, to whom."""


def _moves(record: Record) -> tuple[_Move | None, _Move | None]:
    """What this record is the cause of, and what it follows from."""
    node, peer, client, detail = record.node, record.peer, record.client, record.detail
    match record.kind:
        case Kind.LINK_MOVED:
            return (Kind.LINK_MOVED, node, detail, peer), None
        case Kind.LINK_HANDED:
            return None, (Kind.LINK_MOVED, peer, node, detail)
        case Kind.LINK_TAKEN:
            return None, (Kind.LINK_MOVED, peer, detail, node)
        case Kind.MOVING:
            return (Kind.MOVING, client, node, peer), None
        case Kind.MOVED_IN:
            return (Kind.MOVED_IN, client, peer, node), (Kind.MOVING, client, peer, node)
        case Kind.MOVED_OUT:
            return None, (Kind.MOVED_IN, client, node, peer)
    return None, None


def causal_order(records: Sequence[Record]) -> list[Record]:
    """The same records. Those whose cause is nowhere in the trace do not wait for it."""
    return list(_Order(records).walk())


class _Order:
    def __init__(self, records: Sequence[Record]) -> None:
        self._records = records
        self._unpublished = dict.fromkeys(
            each.event.id for each in records if each.kind is Kind.PUBLISHED and each.event is not None
        )
        # The same link may move the same way several times: the second word of another waits for the second move.
        self._to_come = Counter(_moves(each)[0] for each in records)
        self._moved: Counter[_Move | None] = Counter()
        self._followed: Counter[tuple[Kind, _Move | None]] = Counter()
        self._held: dict[str, deque[Record]] = {}  # by node: what waits, in its order

    def walk(self) -> Iterator[Record]:
        for record in self._records:
            if record.node in self._held or self._waits(record):
                self._held.setdefault(record.node, deque()).append(record)
                continue
            yield from self._pass(record)
        for waiting in self._held.values():  # a trace that contradicts itself: nothing is left out
            yield from waiting

    def _waits(self, record: Record) -> bool:
        if record.event is not None:
            return record.kind is not Kind.PUBLISHED and record.event.id in self._unpublished
        _, cause = _moves(record)
        if cause is None:
            return False
        before = self._followed[record.kind, cause]
        return self._moved[cause] <= before < self._to_come[cause]

    def _pass(self, record: Record) -> Iterator[Record]:
        yield record
        if self._note(record) and self._held:
            yield from self._release()

    def _note(self, record: Record) -> bool:
        """May others wait for this one?"""
        if record.kind is Kind.PUBLISHED and record.event is not None:
            self._unpublished.pop(record.event.id, None)
            return True
        move, cause = _moves(record)
        if cause is not None:
            self._followed[record.kind, cause] += 1
        if move is not None:
            self._moved[move] += 1
        return move is not None

    def _release(self) -> Iterator[Record]:
        """Let go whoever waits no longer; what they publish may free others, in turn."""
        progress = True
        while progress:
            progress = False
            for node in list(self._held):
                waiting = self._held[node]
                while waiting and not self._waits(waiting[0]):
                    progress = True
                    record = waiting.popleft()
                    self._note(record)
                    yield record
                if not waiting:
                    del self._held[node]
