"""A session is a queue: what is delivered into it comes out of it, once and in the same order, wherever it moves.

Reads what the brokers say they have delivered, and what the simulator's clients say they have taken. A session that
moves continues the queue that it was at its old broker. What it was given as the member of a group is a queue of its
own: brokers tell of that apart from other deliveries. An event that is the next in both may be taken from either; which
it was shows in what is taken next. When all is calm, nothing may be left of one whose client is
there; it is not where a session was left behind, since its broker died before the client was told where to go, or since
it has begun another one: it is where it has begun last. A crash ends the sessions of the dead broker, unless it has a
store: then its clients go on with them, and whoever dies while a session is on its way, no client takes an event from
the old broker and from the new one. (Unless it goes about by itself, and begins another session before all is known.)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from reknit.model.event import EventId
from reknit.sim.checkers.violation import Violation
from reknit.trace.records import Kind, Record

__all__ = ["check_sessions"]


@dataclass(slots=True)
class _Queue:
    waiting: deque[EventId] = field(default_factory=deque)
    shared: deque[EventId] = field(default_factory=deque)
    present: bool = True  # whether the client is there to take
    either: list[EventId] = field(default_factory=list)
    """Taken from ``waiting``, and the next in ``shared`` all the same."""

    def rethink(self, event: EventId) -> EventId | None:
        """If this could be the next one had the last such event been taken from the other: so it was. That event."""
        if self.either and self.shared and self.shared[0] == self.either[-1] and event in list(self.shared)[1:2]:
            self.waiting.appendleft(self.shared.popleft())
            return self.either.pop()
        return None


class _Queues:
    def __init__(self, lasting: bool, once: bool) -> None:
        self.lasting = lasting
        self.once = once
        self.had: dict[str, dict[EventId, None]] = {}  # by client: what it has taken, wherever
        self.of: dict[tuple[str, str], _Queue] = {}  # by node and client
        self.began: dict[str, float] = {}  # by node: its last life, which takes up what is in its store at once

    def see(self, record: Record) -> Iterator[Violation]:
        key, other = (record.node, record.client), (record.peer, record.client)
        match record.kind:
            case Kind.STARTED:
                self.began[record.node] = record.time
            case Kind.ATTACHED if self.lasting and record.time == self.began.get(record.node):
                self.of.setdefault(key, _Queue(present=not self._is_elsewhere(record)))
            case Kind.ATTACHED:
                self._is_here(record)
                if key not in self.of:
                    self.had.pop(record.client, None)  # who begins anew may see again what was under way
                self.of[key] = self.of.get(key, _Queue()) if self.lasting else _Queue()
            case Kind.DETACHED:
                self.of.pop(key, None)
            case Kind.MOVED_IN:
                old = self.of.get(other, _Queue())
                self.of[key] = _Queue(deque(old.waiting), deque(old.shared), present=False)
            case Kind.MOVED_OUT:
                if other in self.of:  # else its new broker has died meanwhile
                    self.of[other].present = key not in self.of or self.of[key].present
            case Kind.CRASHED if not self.lasting:
                for each in [each for each in self.of if each[0] == record.node]:
                    del self.of[each]
            case Kind.DELIVERED | Kind.SHARED if record.event is not None:
                yield from self._delivered(key, record.event.id, record.time, record.kind is Kind.SHARED)
            case Kind.TAKEN if record.event is not None:
                yield from self._taken(key, record.event.id, record.time)
            case Kind.TAKEN:
                self._is_here(record)
                self.of.setdefault(key, _Queue()).present = True
            case Kind.CALM:
                yield from self._calm(record.time)

    def _is_here(self, record: Record) -> None:
        """And so it is not where another session of it is."""
        for (node, client), queue in self.of.items():
            if client == record.client and node != record.node:
                queue.present = False

    def _is_elsewhere(self, record: Record) -> bool:
        others = (queue for (node, who), queue in self.of.items() if who == record.client and node != record.node)
        return any(queue.present for queue in others)

    def _delivered(self, key: tuple[str, str], event: EventId, time: float, shared: bool) -> Iterator[Violation]:
        if key in self.of:
            (self.of[key].shared if shared else self.of[key].waiting).append(event)
        else:
            yield Violation(
                "sessions", time, f"{event} was delivered to {key[1]} at {key[0]}, which has no session there"
            )

    def _taken(self, key: tuple[str, str], event: EventId, time: float) -> Iterator[Violation]:
        who = f"{key[1]} at {key[0]}"
        queue = self.of.get(key, _Queue())
        both = (queue.waiting, queue.shared)
        if all(not each or each[0] != event for each in both) and (other := queue.rethink(event)) is not None:
            self.had.get(key[1], {}).pop(other, None)
        if all(each and each[0] == event for each in both):
            queue.either.append(event)
        first = [each for each in both if each and each[0] == event] + [each for each in both if event in each]
        waiting = first[0] if first else queue.waiting
        if event not in waiting:
            yield Violation("sessions", time, f"{who} has taken {event}, which its session did not have")
            return
        if waiting[0] != event:
            yield Violation("sessions", time, f"{who} has taken {event} before {waiting[0]}, which came first")
        waiting.remove(event)
        if waiting is queue.shared:
            return
        had = self.had.setdefault(key[1], {})
        if self.once and event in had:
            yield Violation("sessions", time, f"{who} has taken {event}, which it had taken before")
        had[event] = None

    def _calm(self, time: float) -> Iterator[Violation]:
        for (node, client), queue in self.of.items():
            left = [*queue.waiting, *queue.shared]
            if queue.present and left:
                what = f"{left[0]} never came out of the session of {client} at {node}"
                yield Violation("sessions", time, what)


def check_sessions(records: Iterable[Record], *, lasting: bool = False, once: bool = False) -> Iterator[Violation]:
    """``lasting``: brokers have stores. ``once``: no client goes to another broker by itself."""
    queues = _Queues(lasting, once and lasting)
    for record in records:
        yield from queues.see(record)
