"""The trace of a live run in an order in which nothing comes before its cause.

Brokers stamp records with the clock of the machine, each by an offset of its own, so a record of one may seem a
little earlier than the record of another that caused it. For a checker that reads in order, an event that is delivered
before it is published is an event that never arrives. So whatever is about an event waits for its publication; what
one broker has written keeps its order.

Owns: that order. Must not know: what the records prove.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from reknit.model.event import EventId
from reknit.trace.records import Kind, Record

__all__ = ["causal_order"]


def causal_order(records: Sequence[Record]) -> list[Record]:
    """The same records. Those whose publication is nowhere in the trace do not wait for it."""
    return list(_Order(records).walk())


class _Order:
    def __init__(self, records: Sequence[Record]) -> None:
        self._records = records
        self._unpublished = dict.fromkeys(
            each.event.id for each in records if each.kind is Kind.PUBLISHED and each.event is not None
        )
        self._held: dict[str, deque[Record]] = {}  # by node: what waits, in its order

    def walk(self) -> Iterator[Record]:
        for record in self._records:
            if record.node in self._held or self._awaited(record) is not None:
                self._held.setdefault(record.node, deque()).append(record)
                continue
            yield from self._pass(record)
        for waiting in self._held.values():  # a trace that contradicts itself: nothing is left out
            yield from waiting

    def _awaited(self, record: Record) -> EventId | None:
        if record.event is None or record.kind is Kind.PUBLISHED or record.event.id not in self._unpublished:
            return None
        return record.event.id

    def _pass(self, record: Record) -> Iterator[Record]:
        yield record
        if record.kind is Kind.PUBLISHED and record.event is not None:
            self._unpublished.pop(record.event.id, None)
            if self._held:
                yield from self._release()

    def _release(self) -> Iterator[Record]:
        """Let go whoever waits no longer; what they publish may free others, in turn."""
        progress = True
        while progress:
            progress = False
            for node in list(self._held):
                waiting = self._held[node]
                while waiting and self._awaited(waiting[0]) is None:
                    progress = True
                    record = waiting.popleft()
                    if record.kind is Kind.PUBLISHED and record.event is not None:
                        self._unpublished.pop(record.event.id, None)
                    yield record
                if not waiting:
                    del self._held[node]
