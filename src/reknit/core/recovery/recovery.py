"""Recovery: events that were lost on the way come back by gossip (EPIDEMIC).

Every event that comes by is noted: the ones published here are numbered, for each pattern that a neighbour wants; the
others may show a gap; and all may be kept for those who miss them. What is missing is asked for in rounds, by one of
several algorithms. An event that comes back is delivered to the clients here and kept, but goes to no neighbour:
whoever misses it asks for it, too (erratum 15).

Owns: the numbering, the guard against copies, the alarm of the rounds. Must not know: how the tree is shaped, how an
event is delivered, or how an algorithm finds what is lost.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
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
from reknit.core.recovery.silence import Silence
from reknit.core.recovery.strategies import make_strategies
from reknit.core.routing.signatures import Signatures
from reknit.core.routing.table import Route, Table
from reknit.core.turn import Turn, earliest
from reknit.model.event import NUMBERS_MAX, Event, Marks
from reknit.trace.records import Kind
from reknit.wire.codec import ROUTE_BROKERS_MAX, BadFrame, decode_direct
from reknit.wire.messages import Gossip, Keeps, Manner, Misses, MissesOf, Repair, Silent, Wants

__all__ = ["Recovery", "make_recovery"]

TOLD_EVERY = 64
"""Where events only have to say where their own broker is reached, one of so many does: each costs those that read it.
Whoever has missed it hears it with the next one, or with the heartbeat."""


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
        self.numbering = Numbering(options.patterns_max)
        self.silence = Silence(options.heartbeat_s, options.heartbeats)
        self.strategies = make_strategies(self.talk)
        self.records_routes = any(each.records_routes for each in self.strategies)
        self._names_publisher = any(each.names_publisher for each in self.strategies)
        begins = self.records_routes or self._names_publisher
        self._way = ((turn.node,), address) if begins else ((), "")  # of what begins its way here
        self._proactive = any(isinstance(each, Push) for each in self.strategies)
        self._push = next((each for each in self.strategies if isinstance(each, Push)), Push(self.talk, lambda _: True))
        self._round_at: float | None = None
        self._spoke_at = -1.0
        self._spoke_for: tuple[int, ...] = ()
        # What every event asks for, found once.
        self._keep, self._find_stream, self._lost_now = self.cache.put, self.talk.streams.find, self.lost.entries
        self._held: list[tuple[str, Silent, Custody]] = []

    # --- events that come by

    def note(self, event: Event, route: Route) -> None:
        """It goes on its way now, here as ``route`` says."""
        now = self.turn.now
        if event.source == self.source:
            if event.marks is None and route.signatures:
                self._number(event, route.signatures, now)
                self._keep(event, True, now)
        elif event.marks is not None:
            self._look_at(event, event.marks)
            self._keep(event, bool(route.matches), now)
        if self._round_at is None and (self._proactive or self._lost_now):
            self._set_round()

    def _number(self, event: Event, signatures: tuple[int, ...], now: float) -> None:
        if len(signatures) > NUMBERS_MAX:
            signatures = signatures[:NUMBERS_MAX]
        numbers = self.numbering.stamp(signatures)
        tells = self._way[0] and (self.records_routes or numbers[0][1] % TOLD_EVERY == 1)
        event.marks = Marks(numbers, *self._way) if tells else Marks(numbers)
        if now != self._spoke_at or signatures is not self._spoke_for:  # else it is as it was
            self._spoke_at, self._spoke_for = now, signatures
            self.silence.spoke(signatures, now)

    def _look_at(self, event: Event, marks: Marks) -> None:
        """What its numbers say, and by which way it has come."""
        source = event.source
        for signature, number in marks.numbers:
            epoch = self.own.get(signature)
            if epoch is None:
                continue
            stream = self._find_stream((source, signature))
            if stream is not None and stream.top + 1 == number and stream.epoch == epoch:
                stream.top = number
            else:
                self.talk.arrived(source, signature, number, epoch)
            if self._lost_now:
                self.talk.found((source, signature, number))
        if not marks.route or len(marks.route) >= ROUTE_BROKERS_MAX:
            return
        if self.records_routes or self._names_publisher:
            self._remember_way(source, marks.route, marks.address)
        if self.records_routes:
            event.marks = Marks(marks.numbers, (*marks.route, self.turn.node), marks.address)

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
            marks = event.marks
            if marks is None or event.source == self.source or not self._is_missed(event.source, marks):
                talk.figures.unasked += not self.history.knows(event.source, event.seq)
                continue
            new = self.history.add(event.source, event.seq)
            self._look_at(event, Marks(marks.numbers))
            if new:
                self.cache.put(event, True, self.turn.now - age_s)
                talk.figures.recovered += 1
                self.turn.see(Kind.RECOVERED, peer=repair.sender, event=event)
                yield event, self.turn.now - age_s

    def _is_missed(self, source: str, marks: Marks) -> bool:
        return any((source, *number) in self.lost for number in marks.numbers)

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
            "cached_bytes": self.cache.bytes,
            "missing": len(self.lost),
            **{name: getattr(figures, name) for name in names},
        }


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
