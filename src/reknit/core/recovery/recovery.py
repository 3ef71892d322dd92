"""Recovery: events that were lost on the way come back by gossip (EPIDEMIC).

Events that come by are noted, all of a frame at once: those published here are numbered, for each pattern that a
neighbour wants; others may show a gap; and all may be kept for those who miss them. What is missing is asked for in
rounds, by one of several algorithms. An event that comes back is delivered to the clients here and kept, but goes to no
neighbour: whoever misses it asks for it, too (erratum 15).

Owns: the numbering, the guard against copies, the alarm of the rounds. Must not know: how the tree is shaped, how an
event is delivered, or how an algorithm finds what is lost.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

from reknit.core.links.custody import Custody
from reknit.core.overlay.overlay import Overlay
from reknit.core.recovery.cache import EventCache
from reknit.core.recovery.gossip import Talk
from reknit.core.recovery.history import History
from reknit.core.recovery.numbering import Numbering
from reknit.core.recovery.options import RecoveryOptions
from reknit.core.recovery.policies import make_policy
from reknit.core.recovery.publisher_pull import receive_misses_of
from reknit.core.recovery.pull import ask_for, receive_misses
from reknit.core.recovery.push import Push
from reknit.core.recovery.ranges import numbers_of
from reknit.core.recovery.runs import Run, runs_of
from reknit.core.recovery.silence import Silence
from reknit.core.recovery.strategies import make_strategies
from reknit.core.routing.signatures import Signatures
from reknit.core.routing.table import Route, Table
from reknit.core.turn import Turn, earliest
from reknit.model.event import INTEGER_MAX, NUMBERS_MAX, Event
from reknit.trace.records import Kind
from reknit.wire.codec import ROUTE_BROKERS_MAX, BadFrame, decode_direct
from reknit.wire.marks import Marks, extend_marks, numbers_of_event, read_marks
from reknit.wire.messages import Gossip, Keeps, Manner, Misses, MissesOf, Repair, Silent, Wants

__all__ = ["Recovery", "make_recovery"]

TOLD_S = 0.5
"""Where events only have to say where their own broker is reached, of those for the same patterns one in so long does:
each costs those that read it. Whoever has missed it hears it with the next one, or with the heartbeat."""


class Recovery:
    def __init__(
        self,
        turn: Turn,
        overlay: Overlay,
        table: Table,
        source: str,
        address: str,
        options: RecoveryOptions,
        history: History,
        rng: random.Random,
    ) -> None:
        """``history``: which events have come by; also kept by whoever routes them."""
        self.turn = turn
        self.source = source
        self.options = options
        self.rng = rng
        signatures = table.signatures = Signatures(turn)
        self.own = signatures.own
        self.cache = EventCache(make_policy(options.cache, rng), options.cache_events_max, options.cache_bytes_max)
        self.talk = Talk(turn, overlay, table, signatures, self.cache, options, source, address, rng)
        self.lost = self.talk.lost
        self.history = history
        self.silence = Silence(options.heartbeat_s, options.heartbeats)
        self.strategies = make_strategies(self.talk)
        self.records_routes = any(each.records_routes for each in self.strategies)
        self._names_publisher = any(each.names_publisher for each in self.strategies)
        begins = self.records_routes or self._names_publisher
        self._way = ((turn.node,), address) if begins else ((), "")  # of what begins its way here
        self.numbering = Numbering(options.patterns_max, self._way, 0.0 if self.records_routes else TOLD_S)
        self._proactive = any(isinstance(each, Push) for each in self.strategies)
        self._push = next((each for each in self.strategies if isinstance(each, Push)), Push(self.talk, lambda _: True))
        self._round_at: float | None = None
        self._spoke_at = -1.0
        self._spoke_for: tuple[int, ...] = ()
        self._lost_now, self._find_stream = self.lost.entries, self.talk.streams.find  # asked for every run
        self._held: list[tuple[str, Silent, Custody]] = []

    # --- events that come by

    def number(self, events: Sequence[Event], routes: Sequence[Route]) -> Sequence[Event]:
        """They were published here; those that are wanted elsewhere get numbers, and are returned.

        ``routes``: where each goes; those of one topic are the same.
        """
        if routes and routes.count(routes[0]) == len(routes):
            parts = [(routes[0], events)]
        else:
            parts = list(_parts_by_route(events, routes))
        numbered: list[Event] = []
        for route, some in parts:
            if route.signatures:
                self._number(some, route.signatures[:NUMBERS_MAX])
                numbered += some
        return numbered

    def _number(self, events: Sequence[Event], signatures: tuple[int, ...]) -> None:
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

    def keep(self, events: Sequence[Event]) -> None:
        """They were published and numbered here."""
        self.cache.put(events, True, self.turn.now)
        if self._round_at is None and self._proactive:
            self._set_round()

    def note(self, events: Sequence[Event], frame: bytes = b"", run: Run | None = None) -> None:
        """They have come, and none is a copy. ``frame``: what has brought them and no others, if anything has.

        ``run``: all of them, if they are one.
        """
        if run is not None and frame:
            self.cache.put_frame(frame, len(events), self._look_at(run), self.turn.now)
        else:
            self._note_runs(events, frame)
        if self.records_routes:
            self._record_way(events)
        if self._round_at is None and (self._proactive or self._lost_now):
            self._set_round()

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
            epoch = self.own.get(signature)
            if epoch is None:
                continue
            wanted, first, last = True, run.first + lag, run.last + lag
            stream = self._find_stream((run.source, signature))
            if stream is not None and stream.top + 1 == first and stream.epoch == epoch and not self._lost_now:
                stream.top = last
            elif 0 < first <= last <= INTEGER_MAX:
                self.talk.arrived(run.source, signature, first, last, epoch)
        if marks.route and (self.records_routes or self._names_publisher):
            self._remember_way(run.source, marks.route, marks.address)
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

    def _remember_way(self, source: str, way: tuple[str, ...], address: str) -> None:
        routes = self.talk.routes
        if source not in routes and len(routes) >= self.options.sources_max:
            del routes[next(iter(routes))]
        routes[source] = (way[::-1], address)

    # --- gossip

    def receive(self, peer: str, message: Gossip, custody: Custody, ready: bool) -> None:
        """``ready``: it is known here who wants what."""
        match message:
            case Silent() if not ready:
                self._hold(peer, message, custody)
            case Silent():
                self._hear_silence(peer, message, custody)
            case Keeps():
                self._push.receive(peer, message)
            case Misses():
                receive_misses(self.talk, peer, message)
            case MissesOf():
                receive_misses_of(self.talk, peer, message)
        if self._round_at is None:
            self._set_round()

    def receive_direct(self, datagram: bytes) -> Iterator[tuple[Event, float]]:
        """The events that have come back, and when each was published."""
        try:
            message = decode_direct(datagram)
        except BadFrame:
            self.talk.figures.malformed += 1
            return
        match message:
            case Wants():
                self._push.on_wants(message)
            case MissesOf():
                receive_misses_of(self.talk, "", message)
            case Repair():
                yield from self._repaired(message)

    def _repaired(self, repair: Repair) -> Iterator[tuple[Event, float]]:
        talk = self.talk
        if not talk.rounds.is_ours(repair.round):
            talk.figures.unasked += 1
            return
        before = talk.figures.recovered
        yield from self._events_of(repair)
        self._gone(repair)
        talk.asks.answer(repair.round, talk.figures.recovered - before, self.turn.now)

    def _gone(self, repair: Repair) -> None:
        """What its publisher does not have any more others may have; what is too old was suspected in vain."""
        source, numbers_max = self.talk.asks.source_of(repair.round), self.options.digest_numbers_max
        for signature, ranges in repair.gone:
            for number in numbers_of(ranges, numbers_max):
                if (loss := self.lost.entries.get((source, signature, number))) is not None:
                    loss.elsewhere = True
        for signature, ranges in repair.old:
            for number in numbers_of(ranges, numbers_max):
                loss = self.lost.entries.get((source, signature, number))
                if loss is not None and loss.suspected:
                    self.lost.remove((source, signature, number))

    def _events_of(self, repair: Repair) -> Iterator[tuple[Event, float]]:
        talk = self.talk
        for event, age_s in sorted(zip(repair.events, repair.ages_s, strict=True), key=lambda pair: pair[0].seq):
            if event.source == self.source or not self._is_missed(event):
                talk.figures.unasked += not self.history.knows(event.source, event.seq)
                continue
            new = self.history.add(event.source, event.seq)
            self._arrived_again(event)
            if new:
                self.cache.put([event], True, self.turn.now - age_s)
                talk.figures.recovered += 1
                self.turn.see(Kind.RECOVERED, peer=repair.sender, event=event)
                yield event, self.turn.now - age_s

    def _is_missed(self, event: Event) -> bool:
        return any((event.source, *number) in self.lost for number in numbers_of_event(event))

    def _arrived_again(self, event: Event) -> None:
        """By another way than events usually come, which is not to be remembered."""
        for signature, number in numbers_of_event(event):
            if (epoch := self.own.get(signature)) is not None:
                self.talk.arrived(event.source, signature, number, number, epoch)

    # --- the last of a burst

    # These words must arrive, for nobody repeats them for ever; so they are numbered on every link, and in custody, as
    # events are on links that lose nothing: a broker on the way may die.

    def _hold(self, peer: str, message: Silent, custody: Custody) -> None:
        """Until it is known who wants to hear it."""
        if len(self._held) < self.options.held_max:
            custody.pending += 1
            self._held.append((peer, message, custody))

    def release_held(self) -> None:
        held, self._held = self._held, []
        for peer, message, custody in held:
            self.turn.custodies.append(custody)  # takes over the hold that the queue had
            self._hear_silence(peer, message, custody)

    def _hear_silence(self, peer: str, message: Silent, custody: Custody) -> None:
        if message.source == self.source:
            self.talk.figures.replayed += 1
            return
        for signature, number in message.numbers:
            if signature in self.own:
                self.talk.announced(message.source, signature, number)
        way, address = message.route, message.address
        if way and (self.records_routes or self._names_publisher) and len(way) < ROUTE_BROKERS_MAX:
            self._remember_way(message.source, way, address)
            way = (*way, self.turn.node) if self.records_routes else way
        if message.hops < self.options.hops_max:
            self._say_silence(Silent(message.source, message.numbers, message.hops + 1, way, address), peer, custody)

    def _say_silence(self, message: Silent, apart_from: str = "", custody: Custody | None = None) -> None:
        """To each neighbour the patterns that it wants."""
        by_name: dict[str, list[tuple[int, int]]] = {}
        for number in message.numbers:
            for name in self.talk.towards(number[0], apart_from):
                by_name.setdefault(name, []).append(number)
        for name, some in by_name.items():
            if (link := self.talk.overlay.link(name)) is not None:
                link.send(Silent(message.source, some, message.hops, message.route, message.address), custody)
                self.talk.figures.heartbeats += 1

    # --- times

    def deadline(self) -> float | None:
        return earliest(self._round_at, self.silence.deadline(), self.lost.next_expiry())

    def due(self) -> None:
        now = self.turn.now
        if silent := self.silence.due(now):
            self._say_silence(Silent(self.source, self.numbering.current(silent), 0, *self._way))
        if self.lost:
            self.talk.given_up(self.lost.expired(now))
        if self._round_at is not None and now >= self._round_at:
            self._begin_rounds()
            self._round_at = None
            self._set_round(1.0)

    def _set_round(self, part: float | None = None) -> None:
        """The next round, unless there is no reason for one. Rounds of different brokers do not fall together."""
        if self.lost or any(each.is_wanted() for each in self.strategies):
            part = self.rng.random() if part is None else part
            self._round_at = self.turn.now + part * min(each.interval_s() for each in self.strategies)

    def _begin_rounds(self) -> None:
        for signature in [each for each in self.lost.signatures(self.turn.now) if each not in self.own]:
            self.lost.forget(signature)  # nobody wants it any more
        self._ask_everybody()
        for each in self.strategies:
            if each.is_wanted():
                each.begin_round()

    def _ask_everybody(self) -> None:
        """The last resort, for what those who were asked do not have."""
        if self.options.last_resort_s:
            now = self.turn.now
            stubborn = self.lost.stubborn(self.options.last_resort_s, now)
            for signature in dict.fromkeys(signature for _, signature, _ in stubborn):
                ask_for(self.talk, signature, Manner.EVERYBODY, self.talk.neighbours())
            for triple in stubborn:
                self.lost.rest(triple, now)

    # --- looking in

    @property
    def at_rest(self) -> bool:
        """Nothing is missing, nothing is to be said, and nothing is offered any more."""
        return self._round_at is None and not self.lost and self.silence.deadline() is None

    def admits(self, client: str, patterns: tuple[Any, ...], born: float) -> bool:
        """Whether the client has wanted one of these patterns since before the event was published."""
        wanted_since = self.talk.signatures.wanted_since
        return any(wanted_since(client, pattern) <= born for pattern in patterns)

    def shown(self) -> dict[str, Any]:
        """For operators."""
        figures = self.talk.figures
        names: list[str] = list(type(figures).__dataclass_fields__)
        return {
            "algorithm": self.options.algorithm,
            "cached": len(self.cache),
            "cached_bytes": self.cache.size,
            "missing": len(self.lost),
            **{name: getattr(figures, name) for name in names},
        }


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


def make_recovery(
    options: RecoveryOptions,
    loose: bool,
    turn: Turn,
    overlay: Overlay,
    table: Table,
    source: str,
    address: str,
    rng: random.Random,
) -> tuple[Recovery | None, History | None]:
    """No recovery where nothing is to be recovered: then nothing is numbered either, and it costs nothing.

    No history where events come in the order of their numbers: if links are not ``loose`` either.
    """
    if not options.names:
        return None, History(options.sources_max, options.ids_max) if loose else None
    history = History(options.sources_max, options.ids_max)
    return Recovery(turn, overlay, table, source, address, options, history, rng), history
