"""Order for those who ask for it: an event waits for what its source has published before it, for a bounded time.

An event that was lost comes back behind its successors. A client may ask that they wait for it. From the moment that a
gap is known, events of that source behind it are held for this client, in the order of their numbers; until what is
missing has come or is given up, or the first of them has waited for as long as the client wants to. Then it goes, with
all before it, and nothing waits for that gap any more: what comes back later comes behind.

Only what is known to be missing, or suspected at first contact, is waited for; so the promise is about the events of
one source and one pattern. Where nothing is missing, nothing is looked at.

Owns: who wants order, and what waits. Must not know: how a gap is found, or how an event is delivered.
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Iterable

from reknit.core.io import Deliver, Match, Subscribe
from reknit.core.links.custody import Custody
from reknit.core.recovery.gossip import Talk
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.trace.records import Kind
from reknit.wire.marks import Number, numbers_of_event

__all__ = ["Order"]


class _Waiting:
    __slots__ = ("custody", "event", "numbers", "patterns", "until")

    def __init__(
        self,
        event: Event,
        patterns: tuple[Pattern, ...],
        numbers: list[Number],
        custody: Custody | None,
        until: float,
    ) -> None:
        self.event = event
        self.patterns = patterns
        self.numbers = numbers
        self.custody = custody
        self.until = until


class _Line:
    """What waits of one source for one client. ``floors``: by signature, up to where nothing is waited for."""

    __slots__ = ("floors", "waiting")

    def __init__(self) -> None:
        self.waiting: list[_Waiting] = []  # in the order of their numbers
        self.floors: dict[int, int] = {}


class Order:
    def __init__(self, talk: Talk) -> None:
        self.turn = talk.turn
        self.talk = talk
        self.lost = talk.lost
        self.wishes: dict[tuple[str, Pattern], float] = {}
        """By client: how long events of a pattern may wait. Asked for every event, whether there is any."""
        self._lines: dict[tuple[str, str], _Line] = {}  # by client and source
        self._count = 0
        self._next = math.inf  # when the first has waited for long enough
        self._removed = 0  # of the lost buffer, when it was looked at last
        talk.signatures.ended = self.end

    # --- wishes

    def want(self, each: Subscribe) -> None:
        for pattern in each.patterns:
            if each.order_s > 0:
                wait_s = min(each.order_s, self.talk.options.order_s_max)
                self.wishes[each.client, pattern] = wait_s
                self.turn.see(Kind.ORDERED, client=each.client, pattern=pattern, detail=f"{wait_s:g}")
            elif self.wishes.pop((each.client, pattern), None) is not None:
                self.turn.see(Kind.ORDERED, client=each.client, pattern=pattern, detail="0")

    def end(self, client: str, pattern: Pattern) -> None:
        """The client does not want the pattern any more: nor what waits for it because of that alone."""
        self.wishes.pop((client, pattern), None)
        for line in [line for (who, _), line in self._lines.items() if who == client]:
            for each in line.waiting:
                each.patterns = tuple(other for other in each.patterns if other != pattern)
            gone = [each for each in line.waiting if not each.patterns]
            line.waiting = [each for each in line.waiting if each.patterns]
            self._let_go(gone)

    def flush(self, client: str) -> None:
        """Whatever waits for it goes now: its session is about to leave."""
        for key in [key for key in self._lines if key[0] == client]:
            line = self._lines.pop(key)
            self._deliver(client, line.waiting)

    # --- events

    def sift(self, event: Event, matches: tuple[Match, ...], custody: Custody | None) -> tuple[Match, ...]:
        """The matches that are to be delivered now; for the others it waits. ``custody``: what it has come in."""
        if not self.lost.entries and not self._lines:
            return matches
        return tuple(each for each in matches if not self._waits(event, each, custody))

    def _waits(self, event: Event, match: Match, custody: Custody | None) -> bool:
        client, patterns = match
        ordered = [each for each in patterns if (client, each) in self.wishes]
        if not ordered:
            return False
        key = (client, event.source)
        line = self._lines.get(key)
        numbers = self._numbers(event, ordered)
        first = line.waiting[0] if line is not None and line.waiting else None
        behind = first is not None and first.event.seq < event.seq
        if not behind and not self._is_behind(event.source, numbers, line):
            return False
        line = self._lines.setdefault(key, _Line())
        until = self.turn.now + max(self.wishes[client, each] for each in ordered)
        self._put(client, line, _Waiting(event, patterns, numbers, custody, until))
        return True

    def _put(self, client: str, line: _Line, new: _Waiting) -> None:
        insort(line.waiting, new, key=lambda each: each.event.seq)
        if new.custody is not None:
            new.custody.pending += 1
        self._count += 1
        self._next = min(self._next, new.until)
        self.talk.figures.waited += 1
        self.turn.see(Kind.WAITING, client=client, event=new.event)
        if self._count > self.talk.options.order_events_max:
            self._hurry(client, line, len(line.waiting))

    def _numbers(self, event: Event, ordered: Iterable[Pattern]) -> list[Number]:
        signatures = {self.talk.signatures.of[each] for each in ordered}
        return [number for number in numbers_of_event(event) if number[0] in signatures]

    def _is_behind(self, source: str, numbers: Iterable[Number], line: _Line | None) -> bool:
        """Whether anything before it is missing, and waited for."""
        floors = line.floors if line is not None else {}
        return any(
            self.lost.has_between(source, signature, floors.get(signature, 0), number) for signature, number in numbers
        )

    # --- when the wait is over

    @property
    def busy(self) -> bool:
        return self._count > 0

    def deadline(self) -> float | None:
        return self._next if self._count else None

    def release(self) -> None:
        """What nothing is missing before any more, and what has waited for long enough."""
        if not self._count or (self.lost.removed == self._removed and self.turn.now < self._next):
            return
        self._removed = self.lost.removed
        for key, line in list(self._lines.items()):
            self._release(*key, line)
        self._next = min((each.until for line in self._lines.values() for each in line.waiting), default=math.inf)

    def _release(self, client: str, source: str, line: _Line) -> None:
        late = [place for place, each in enumerate(line.waiting, 1) if each.until <= self.turn.now]
        if late:
            self._hurry(client, line, late[-1])
        free = 0
        while free < len(line.waiting) and not self._is_behind(source, line.waiting[free].numbers, line):
            free += 1
        self._deliver(client, line.waiting[:free])
        del line.waiting[:free]
        if not line.waiting and not any(
            self.lost.has_between(source, signature, 0, floor) for signature, floor in line.floors.items()
        ):
            del self._lines[client, source]

    def _hurry(self, client: str, line: _Line, count: int) -> None:
        """The first so many go, whatever is missing before them; nothing waits for that any more."""
        going = line.waiting[:count]
        for each in going:
            self.talk.figures.hurried += self._is_behind(each.event.source, each.numbers, line)
            for signature, number in each.numbers:
                line.floors[signature] = max(number, line.floors.get(signature, 0))
        del line.waiting[:count]
        self._deliver(client, going)

    def _deliver(self, client: str, going: list[_Waiting]) -> None:
        for each in going:
            self.turn.effects.append(Deliver(each.event, ((client, each.patterns),)))
        self._let_go(going)

    def _let_go(self, going: list[_Waiting]) -> None:
        self._count -= len(going)
        for each in going:
            if each.custody is not None:
                self.turn.custodies.append(each.custody)  # takes over the hold that the line had
