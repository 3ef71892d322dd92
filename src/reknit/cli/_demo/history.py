"""The trace of a live run in an order in which nothing comes before its cause.

Brokers stamp records with the clock of the machine, each by an offset of its own, so a record of one may seem a
little earlier than the record of another that caused it. For a checker that reads in order, an event that is delivered
before it is published is an event that never arrives. So whatever is about an event waits for its publication, and
what the others say of a link that moves waits for the word of the broker that has moved it; what one broker has
written keeps its order.

Owns: that order. Must not know: what the records prove.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from reknit.trace.records import Kind, Record

__all__ = ["causal_order"]

_Move: TypeAlias = tuple[str, str, str]
"""Who moved its link, from whom, to whom."""


def _move(record: Record) -> _Move | None:
    match record.kind:
        case Kind.LINK_MOVED:
            return (record.node, record.detail, record.peer)
        case Kind.LINK_HANDED:
            return (record.peer, record.node, record.detail)
        case Kind.LINK_TAKEN:
            return (record.peer, record.detail, record.node)
    return None


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
        self._to_come = Counter(_move(each) for each in records if each.kind is Kind.LINK_MOVED)
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
        move = _move(record)
        if move is None or record.kind is Kind.LINK_MOVED:
            return False
        before = self._followed[record.kind, move]
        return self._moved[move] <= before < self._to_come[move]

    def _pass(self, record: Record) -> Iterator[Record]:
        yield record
        if self._note(record) and self._held:
            yield from self._release()

    def _note(self, record: Record) -> bool:
        """May others wait for this one?"""
        if record.kind is Kind.PUBLISHED and record.event is not None:
            self._unpublished.pop(record.event.id, None)
            return True
        if (move := _move(record)) is None:
            return False
        if record.kind is Kind.LINK_MOVED:
            self._moved[move] += 1
            return True
        self._followed[record.kind, move] += 1
        return False

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
