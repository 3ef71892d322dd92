"""The last hop of an event on a ring: each once, and those of one source and topic in their order.

Events come here by ways that change, some of them twice. Each says which event of the same source and topic has to come
before it: the last one that had not settled when this one was published; if all had, none. What comes too soon waits
for that one, for a bounded time. Whoever has come to want a topic only a moment ago cannot know what it has missed, and
waits for nothing until it has had something of that source: what it was promised has not begun yet.

Owns: the last number of each source and topic, and what waits. Must not know: who wants an event here, or its way.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from reknit.core.links.custody import Custody
from reknit.core.turn import Turn
from reknit.model.event import Event
from reknit.trace.records import Kind

__all__ = ["Load", "Order"]


@dataclass(frozen=True, slots=True)
class Load:
    """An event on its way, the number that has to come before it, and what is settled when it is."""

    event: Event
    before: int
    custodies: Sequence[Custody]

    def hold(self) -> None:
        for custody in self.custodies:
            custody.pending += 1

    def with_copy(self, copy: Load) -> Load:
        """One that is held, for both: what the copy settles is settled when this is."""
        more = [each for each in copy.custodies if all(each is not known for known in self.custodies)]
        Load(copy.event, copy.before, more).hold()
        return Load(self.event, self.before, [*self.custodies, *more])

    def let_go(self, turn: Turn) -> None:
        """Once more it is only the turn that holds it."""
        turn.custodies.extend(self.custodies)


_Line: TypeAlias = tuple[str, str]
"""Source and topic."""


class Order:
    def __init__(self, turn: Turn, wait_s_max: float, fresh_s: float, lines_max: int) -> None:
        self.turn, self.wait_s_max, self.fresh_s, self.lines_max = turn, wait_s_max, fresh_s, lines_max
        self.gaps = 0  # events that were not waited for any longer
        self._last: dict[_Line, int] = {}
        self._waiting: dict[_Line, dict[int, tuple[Load, float]]] = {}
        self._since: dict[str, float] = {}  # by topic that is wanted here
        self._begun: dict[str, dict[str, None]] = {}  # by topic: sources of which something has come since then

    # --- what is wanted

    def want(self, topic: str) -> None:
        self._since[topic] = self.turn.now
        self._begun.pop(topic, None)

    def want_no_more(self, topic: str) -> None:
        self._since.pop(topic, None)
        self._begun.pop(topic, None)

    def wants(self, topic: str) -> bool:
        return topic in self._since

    def _is_fresh(self, topic: str) -> bool:
        return self.turn.now < self._since.get(topic, self.turn.now) + self.fresh_s

    def is_sure_of(self, topic: str) -> bool:
        """It is wanted for so long that whatever is missing of it is missed."""
        return topic in self._since and not self._is_fresh(topic)

    # --- sessions that move

    def lasts(self, topics: Collection[str]) -> list[tuple[str, str, int]]:
        """Of these topics: each source, and the number of its last event that was delivered here."""
        return [(source, topic, seq) for (source, topic), seq in self._last.items() if topic in topics]

    def waiting(self, topics: Collection[str]) -> list[Load]:
        """What waits of these topics, in the order of each source."""
        found = [(line, waiting) for line, waiting in self._waiting.items() if line[1] in topics]
        return [waiting[seq][0] for _, waiting in found for seq in sorted(waiting)]

    def inherit(self, topics: Iterable[str], lasts: Iterable[tuple[str, str, int]]) -> None:
        """What was delivered elsewhere; of these topics nothing else is missing."""
        self._since.update(dict.fromkeys(topics, -math.inf))
        self._last.update({(source, topic): seq for source, topic, seq in lasts})

    def has_had(self, lasts: Iterable[tuple[str, str, int]]) -> bool:
        """All up to these numbers."""
        return all(self._last.get((source, topic), 0) >= seq for source, topic, seq in lasts)

    def ahead_of(self, other: Order) -> dict[_Line, int]:
        """The lines of which more was delivered by this one than by the other."""
        return {line: seq for line, seq in self._last.items() if seq > other._last.get(line, 0)}

    # --- events

    def arrive(self, load: Load) -> Iterator[Load]:
        """What is to be delivered now."""
        event, line = load.event, (load.event.source, load.event.topic)
        last, waiting = self._last.get(line), self._waiting.get(line, {})
        if (last is not None and event.seq <= last) or event.seq in waiting:
            self.turn.see(Kind.DROPPED, event=event, detail="copy")
        elif self._is_next(load, last):
            yield from self._go_on(line, load)
        else:
            load.hold()
            self._waiting.setdefault(line, {})[event.seq] = (load, self.turn.now + self.wait_s_max)

    def _is_next(self, load: Load, last: int | None) -> bool:
        if load.before == 0 or (last is not None and load.before <= last):
            return True
        topic, source = load.event.topic, load.event.source
        return self._is_fresh(topic) and source not in self._begun.get(topic, ())

    def _go_on(self, line: _Line, load: Load) -> Iterator[Load]:
        """With those that were to come before it, if any still wait; and then with those that have waited for it."""
        waiting = self._waiting.get(line, {})
        for seq in sorted(each for each in waiting if each < load.event.seq):
            yield self._take_out(line, waiting, seq)
        self._pass(line, load)
        yield load
        while waiting and self._is_next(waiting[min(waiting)][0], self._last[line]):
            yield self._take_out(line, waiting, min(waiting))
        if not waiting:
            self._waiting.pop(line, None)

    def _take_out(self, line: _Line, waiting: dict[int, tuple[Load, float]], seq: int) -> Load:
        load, _ = waiting.pop(seq)
        load.let_go(self.turn)
        self._pass(line, load)
        return load

    def _pass(self, line: _Line, load: Load) -> None:
        self._last.pop(line, None)  # the line that was quiet for longest is the first to be forgotten
        if len(self._last) >= self.lines_max:
            forgotten = next(iter(self._last))
            del self._last[forgotten]
            self._begun.get(forgotten[1], {}).pop(forgotten[0], None)
        self._last[line] = load.event.seq
        if self._is_fresh(line[1]):
            self._begun.setdefault(line[1], {})[line[0]] = None

    # --- times

    def deadline(self) -> float | None:
        times = [until for waiting in self._waiting.values() for _, until in waiting.values()]
        return min(times, default=None)

    def due(self) -> Iterator[Load]:
        """What has waited for too long goes on without the one before."""
        for line, waiting in list(self._waiting.items()):
            overdue = [seq for seq, (_, until) in waiting.items() if self.turn.now >= until]
            if overdue:
                self.gaps += 1
                load, _ = waiting.pop(max(overdue))
                load.let_go(self.turn)
                yield from self._go_on(line, load)

    @property
    def at_rest(self) -> bool:
        return not self._waiting and not any(self._is_fresh(topic) for topic in self._since)
