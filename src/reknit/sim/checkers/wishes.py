"""What clients have asked for is what their brokers hold for them.

The other checkers take subscriptions from the trace; this one holds the trace to the clients' own word.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from reknit.model.pattern import Pattern
from reknit.sim.checkers.violation import Violation
from reknit.trace.records import Kind, Record

__all__ = ["check_wishes"]


def check_wishes(records: Iterable[Record], wishes: Mapping[tuple[str, str], Iterable[Pattern]]) -> Iterator[Violation]:
    """``wishes``: by broker and client, what the client wants at the end of the trace."""
    held: dict[tuple[str, str], dict[Pattern, None]] = {}
    time = 0.0
    for record in records:
        time = record.time
        key = (record.node, record.client)
        if record.kind is Kind.SUBSCRIBED and record.pattern is not None:
            held.setdefault(key, {})[record.pattern] = None
        elif record.kind is Kind.UNSUBSCRIBED and record.pattern is not None:
            held.get(key, {}).pop(record.pattern, None)
        elif record.kind is Kind.CRASHED or record.kind is Kind.STARTED:
            for each in [each for each in held if each[0] == record.node]:
                del held[each]
    for key, patterns in wishes.items():
        missing = [each for each in patterns if each not in held.get(key, {})]
        stale = [each for each in held.get(key, {}) if each not in patterns]
        if missing or stale:
            what = f"{key[1]} at {key[0]}: not held {[*map(str, missing)]}, not wanted any more {[*map(str, stale)]}"
            yield Violation("wishes", time, what)
