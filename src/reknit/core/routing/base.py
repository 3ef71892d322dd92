"""What every routing strategy offers to the broker.

A strategy hears of clients' subscriptions and of neighbours' messages, keeps a table, and tells neighbours what they
need to know. It sends through ``send`` and never learns how a neighbour is reached.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import ClassVar, TypeVar

from reknit.core.routing.table import Route, Table, broker, client
from reknit.core.turn import Turn
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.trace.records import Kind
from reknit.wire.messages import Entry, Message, Snapshot

__all__ = ["Routing", "Sender", "chunks"]

T = TypeVar("T")
Sender = Callable[[str, Message], None]

MESSAGE_PATTERNS_MAX = 64
"""Patterns in one message; more go in several, so that a frame stays within its bound."""

NEIGHBOUR_PATTERNS_MAX = 1_000_000
"""What a neighbour may want; with complete knowledge all of them. Beyond it nothing is entered, as the trace says."""


class Routing(ABC):
    name: ClassVar[str]

    def __init__(self, turn: Turn, send: Sender) -> None:
        self.turn = turn
        self.send = send
        self.table = Table()
        self.route: Callable[[Event], Route] = self.table.route
        self._parts: dict[str, list[Entry]] = {}  # snapshots under way, by neighbour
        self.partly = False  # a neighbour tells now only a part of what is wanted behind it: nothing of it is void
        self.beside: tuple[str, ...] = ()  # of what a neighbour tells now, these know better what is behind them

    # --- clients

    @abstractmethod
    def subscribe(self, name: str, pattern: Pattern) -> None:
        """A client of ours wants ``pattern``."""

    @abstractmethod
    def unsubscribe(self, name: str, pattern: Pattern) -> None: ...

    # --- neighbours

    @abstractmethod
    def tell(self, neighbour: str) -> None:
        """Send all that this neighbour needs to know, and from now on every change of it."""

    @abstractmethod
    def forget(self, neighbour: str) -> None:
        """It is no neighbour any more: what it wanted is void."""

    def tell_no_more(self, neighbour: str) -> None:
        """Say nothing to it from now on. What it wanted stays, where a strategy can do so."""
        self.forget(neighbour)

    @abstractmethod
    def receive(self, neighbour: str, message: Message) -> None: ...

    @abstractmethod
    def replace(self, neighbour: str, entries: list[Entry]) -> None:
        """All that the neighbour wants; whatever the table holds beyond it is void."""

    def receive_snapshot(self, neighbour: str, snapshot: Snapshot) -> bool:
        """True once the last part has come."""
        parts = self._parts.setdefault(neighbour, [])
        room = NEIGHBOUR_PATTERNS_MAX - sum(1 + len(patterns) for _, patterns in parts)
        for entry in snapshot.entries:
            room -= 1 + len(entry[1])
            if room < 0:
                self._see_too_many(neighbour, None)
                break
            parts.append(entry)
        if snapshot.last:
            self.replace(neighbour, self._parts.pop(neighbour))
        return snapshot.last

    def begin_session(self, neighbour: str) -> None:
        """A new session: a snapshot that was under way will not be finished."""
        self._parts.pop(neighbour, None)

    def doubts(self) -> str:
        """Why it is not certain now who is behind which neighbour, for people to read; no link should move then."""
        return ""

    # --- neighbours that stand for each other
    #
    # When a link moves, what is known of neighbours is seated anew; patterns are wanted by the same brokers as before.

    @abstractmethod
    def pause(self, neighbour: str) -> None:
        """Say nothing to this neighbour until ``resume``, or ``tell``."""

    @abstractmethod
    def resume(self, neighbour: str) -> None:
        """Say what it has not been told meanwhile."""

    @abstractmethod
    def behind(self, neighbour: str) -> list[Entry]:
        """What is wanted behind it; where whole tables need not travel, by whom."""

    @abstractmethod
    def apart_from(self, one: str, other: str) -> list[Entry]:
        """The same of all but these two neighbours."""

    def sides(self, one: str, other: str) -> tuple[list[Entry], list[Entry]]:
        """What is wanted behind ``one``, and by all but the two, for ``other``, which may be paused."""
        self.pass_on(one, other)
        return self.behind(one), self.apart_from(one, other)

    def pass_on(self, one: str, other: str) -> None:  # noqa: B027
        """Say to ``other``, though it is paused, what has come from ``one`` meanwhile, unless ``behind`` tells it."""

    @abstractmethod
    def rename(self, old: str, new: str) -> None:
        """``new`` wants what ``old`` wanted, and has been told what ``old`` was told. It stays paused."""

    @abstractmethod
    def merge(self, gone: str, into: str, said: list[Entry]) -> None:
        """``into`` wants what ``gone`` wanted besides, and has been told ``said``. It stays paused."""

    @abstractmethod
    def split(self, old: str, new: str, behind_old: list[Entry], behind_new: list[Entry]) -> None:
        """``new`` wants ``behind_new`` and ``old`` only ``behind_old``; each knows of the other. Both stay paused."""

    # --- for the strategies

    def _add(self, neighbour: str, pattern: Pattern) -> bool:
        hop = broker(neighbour)
        if self.table.count(hop) >= NEIGHBOUR_PATTERNS_MAX and not self.table.has(hop, pattern):
            self._see_too_many(neighbour, pattern)
            return False
        added = self.table.add(hop, pattern)
        if added:
            self.turn.see(Kind.ROUTE_ADDED, peer=neighbour, pattern=pattern)
        return added

    def _remove(self, neighbour: str, pattern: Pattern) -> bool:
        removed = self.table.remove(broker(neighbour), pattern)
        if removed:
            self.turn.see(Kind.ROUTE_REMOVED, peer=neighbour, pattern=pattern)
        return removed

    def _see_too_many(self, neighbour: str, pattern: Pattern | None) -> None:
        self.turn.see(Kind.DROPPED, peer=neighbour, pattern=pattern, detail="too many patterns")

    def _add_client(self, name: str, pattern: Pattern) -> bool:
        added = self.table.add(client(name), pattern)
        if added:
            self.turn.see(Kind.SUBSCRIBED, client=name, pattern=pattern)
        return added

    def _remove_client(self, name: str, pattern: Pattern) -> bool:
        removed = self.table.remove(client(name), pattern)
        if removed:
            self.turn.see(Kind.UNSUBSCRIBED, client=name, pattern=pattern)
        return removed

    def _send_snapshot(self, neighbour: str, entries: list[Entry]) -> None:
        parts = list(_parts(entries))
        for position, part in enumerate(parts, 1):
            self.send(neighbour, Snapshot(part, position == len(parts)))


def chunks(patterns: list[T]) -> Iterator[list[T]]:
    """The same patterns (or whatever holds one) in their order, as many at a time as fit into a message."""
    for start in range(0, len(patterns), MESSAGE_PATTERNS_MAX):
        yield patterns[start : start + MESSAGE_PATTERNS_MAX]


def _parts(entries: list[Entry]) -> Iterator[list[Entry]]:
    """At least one part, each of bounded size."""
    part: list[Entry] = []
    count = 0
    for origin, patterns in entries:
        for chunk in chunks(patterns):
            if count + len(chunk) > MESSAGE_PATTERNS_MAX:
                yield part
                part, count = [], 0
            part.append((origin, chunk))
            count += len(chunk)
    yield part
