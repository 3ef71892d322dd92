"""Events that pass by: those published here get numbers; others are looked at for gaps; all may be kept for others.

Events are noted all of a frame at once, and where they are one run, by its ends alone: nearly all are, and where
nothing is lost an event must cost next to nothing.

Owns: what is done with an event on its usual way. Must not know: how an algorithm finds what is lost, or when it asks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reknit.core.recovery.gossip import Talk
from reknit.core.recovery.numbering import Numbering
from reknit.core.recovery.runs import Run, runs_of
from reknit.core.recovery.silence import Silence
from reknit.core.routing.table import Route
from reknit.model.event import INTEGER_MAX, NUMBERS_MAX, Event
from reknit.wire.codec import BadFrame
from reknit.wire.marks import Marks, extend_marks, read_marks

__all__ = ["Passing"]


class Passing:
    def __init__(self, talk: Talk, numbering: Numbering, silence: Silence, *, records: bool, remembers: bool) -> None:
        """``records``: events have to say by which brokers they come; ``remembers``: what they say is remembered."""
        self.turn = talk.turn
        self.talk = talk
        self.cache = talk.cache
        self.numbering = numbering
        self.silence = silence
        self.records = records
        self.remembers = remembers
        self._own = talk.signatures.own
        self._spoke_at = -1.0
        self._spoke_for: tuple[int, ...] = ()
        self._one_run = False  # whether all that was numbered last is one
        self._lost_now, self._find_stream = talk.lost.entries, talk.streams.find  # asked for every run
        self._highest = talk.lost.highest

    # --- published here

    def number(self, events: Sequence[Event], routes: Sequence[Route]) -> Sequence[Event]:
        """They were published here; those that are wanted elsewhere get numbers, and are returned.

        ``routes``: where each goes; those of one topic are the same.
        """
        if routes and routes.count(routes[0]) == len(routes):  # as nearly all are
            self._one_run = True
            return self._number(events, routes[0].signatures)
        numbered: list[Event] = []
        parts = list(_parts_by_route(events, routes))
        for route, some in parts:
            numbered += self._number(some, route.signatures)
        self._one_run = len(parts) == 1
        return numbered

    def keep(self, events: Sequence[Event]) -> None:
        """What was just numbered."""
        run = None
        if events and self._one_run:
            run = Run(events[0].source, events[-1].marks, events[0].number or 0, events[-1].number or 0)
        self.cache.put_own(events, self.turn.now, run)

    def _number(self, events: Sequence[Event], signatures: tuple[int, ...]) -> Sequence[Event]:
        """The same, if anybody wants them."""
        if not signatures:
            return ()
        if len(signatures) > NUMBERS_MAX:
            self.talk.figures.unnumbered += len(events) * (len(signatures) - NUMBERS_MAX)
            signatures = signatures[:NUMBERS_MAX]
        number, marks, told = self.numbering.stamp(signatures, len(events), self.turn.now)
        for event in events:
            event.number = number
            event.marks = marks
            number += 1
        events[0].marks = told
        now = self.turn.now
        if now != self._spoke_at or signatures is not self._spoke_for:  # else it is as it was
            self._spoke_at, self._spoke_for = now, signatures
            self.silence.spoke(signatures, now)
        return events

    # --- come from elsewhere

    def note(self, events: Sequence[Event], frame: bytes = b"", run: Run | None = None) -> None:
        """They have come, and none is a copy. ``frame``: what has brought them and no others, if anything has.

        ``run``: all of them, if they are one.
        """
        if run is not None and frame:
            self.cache.put_frame(frame, len(events), self._look_at(run), self.turn.now, run)
        else:
            self._note_runs(events, frame)
        if self.records:
            self._record_way(events)

    def _note_runs(self, events: Sequence[Event], frame: bytes) -> None:
        runs = runs_of(events)
        wanted = {run.marks: self._look_at(run) for run in runs}
        if frame and len(set(wanted.values())) == 1 and sum(map(len, runs)) == len(events):
            self.cache.put_frame(frame, len(events), wanted[runs[0].marks], self.turn.now)
            return
        numbered = [event for event in events if event.number]
        for own in (True, False):
            self.cache.put([event for event in numbered if wanted[event.marks] is own], own, self.turn.now)

    def _look_at(self, run: Run) -> bool:
        """What the numbers say, and by which way they have come. Whether any are of patterns that are wanted here."""
        marks, wanted = self._read(run.marks), False
        for signature, lag in marks.lags:
            epoch = self._own.get(signature)
            if epoch is None:
                continue
            wanted, first, last = True, run.first + lag, run.last + lag
            key = (run.source, signature)
            stream, is_next = self._find_stream(key), False
            if stream is not None and stream.top + 1 == first and stream.epoch == epoch:
                is_next = not self._lost_now or self._highest.get(key, 0) < first
            if stream is not None and is_next:
                stream.top = last
            elif 0 < first <= last <= INTEGER_MAX:
                self.talk.arrived(run.source, signature, first, last, epoch)
        if marks.route and self.remembers:
            self.talk.remember_way(run.source, marks.route, marks.address, marks.key)
        return wanted

    def _read(self, marks: bytes) -> Marks:
        try:
            return read_marks(marks)
        except BadFrame:
            self.talk.figures.malformed += 1
            return Marks()

    def _record_way(self, events: Sequence[Event]) -> None:
        """Events of one source have come by the same way, so most of them say the same."""
        read, written = b"", b""
        for event in events:
            if event.number and event.marks != read:
                read = event.marks
                written = extend_marks(self._read(read), self.turn.node) or read
            if event.number:
                event.marks = written


def _parts_by_route(events: Sequence[Event], routes: Sequence[Route]) -> Iterator[tuple[Route, list[Event]]]:
    """All events with the same route together, unless a pattern belongs to several: its numbers have to rise."""
    parts: dict[int, tuple[Route, list[Event]]] = {}
    for event, route in zip(events, routes, strict=True):
        parts.setdefault(id(route), (route, []))[1].append(event)
    signatures = [signature for route, _ in parts.values() for signature in route.signatures]
    if len(set(signatures)) == len(signatures):
        yield from parts.values()
    else:
        for event, route in zip(events, routes, strict=True):
            yield route, [event]
