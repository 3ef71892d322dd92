"""Recovery: events that were lost on the way come back by gossip (EPIDEMIC).

Events that come by are noted (``passing``); what is missing is asked for in rounds, by one of several algorithms. An
event that comes back (``returns``) is delivered to the clients here and kept, but goes to no neighbour: whoever misses
it asks for it, too (erratum 15).

Owns: the parts of recovery and the alarm of the rounds. Must not know: how the tree is shaped, how an event is
delivered, or how an algorithm finds what is lost.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from reknit.core.links.custody import Custody
from reknit.core.overlay.overlay import Overlay
from reknit.core.recovery.bequest import Bequests
from reknit.core.recovery.cache import EventCache
from reknit.core.recovery.gossip import Talk
from reknit.core.recovery.heartbeat import Heartbeat
from reknit.core.recovery.heritage import Heritage
from reknit.core.recovery.history import History
from reknit.core.recovery.leaving import Leaving
from reknit.core.recovery.lost import Triple
from reknit.core.recovery.numbering import Numbering, Way
from reknit.core.recovery.options import RecoveryOptions
from reknit.core.recovery.order import Order
from reknit.core.recovery.passing import Passing
from reknit.core.recovery.policies import make_policy
from reknit.core.recovery.publisher_pull import receive_misses_of, receive_question
from reknit.core.recovery.pull import ask_for, receive_misses
from reknit.core.recovery.push import Push
from reknit.core.recovery.returns import Returned, Returns
from reknit.core.recovery.runs import Run
from reknit.core.recovery.silence import Silence
from reknit.core.recovery.strategies import make_strategies
from reknit.core.routing.signatures import Signatures
from reknit.core.routing.table import Table
from reknit.core.turn import Turn, earliest
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.wire.codec import BadFrame, decode_direct
from reknit.wire.messages import Gossip, Keeps, Lack, Manner, Misses, MissesOf, Repair, Silent, Wants

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
        self.options = options
        self.rng = rng
        signatures = table.signatures = Signatures(turn)
        self.cache = EventCache(make_policy(options.cache, rng), options.cache_events_max, options.cache_bytes_max)
        self.talk = Talk(turn, overlay, table, signatures, self.cache, options, source, address, rng)
        self.lost = self.talk.lost
        self.silence = Silence(options.heartbeat_s, options.heartbeats)
        self.strategies = make_strategies(self.talk)
        records = any(each.records_routes for each in self.strategies)
        remembers = records or any(each.names_publisher for each in self.strategies)
        way: Way = ((turn.node,), address, self.talk.key) if remembers else ((), "", 0)  # of what begins its way here
        numbering = Numbering(options.patterns_max, way, 0.0 if records else TOLD_S)
        self.talk.last_of = numbering.last
        self.heartbeat = Heartbeat(self.talk, numbering, self.silence, records=records, remembers=remembers)
        self.order = Order(self.talk)
        self.leaving = Leaving(self.talk, self.order)
        self.heritage = Heritage(self.talk)
        self.returns = Returns(self.talk, history)
        self.bequests = Bequests(self.talk, history, self.returns)
        passing = Passing(self.talk, numbering, self.silence, records=records, remembers=remembers)
        self.number = passing.number
        self._keep, self._note = passing.keep, passing.note
        self._proactive = any(isinstance(each, Push) for each in self.strategies)
        self._push = next((each for each in self.strategies if isinstance(each, Push)), Push(self.talk, lambda _: True))
        self._round_at: float | None = None  # of the next one, whichever algorithm it is of
        self._round_of: dict[str, float] = {}  # by algorithm: its next one
        self._lost_now = self.lost.entries  # asked for every frame

    # --- events that come by

    def keep(self, events: Sequence[Event]) -> None:
        """They were published and numbered here."""
        self._keep(events)
        if self._round_at is None and self._proactive:
            self._set_round()

    def note(self, events: Sequence[Event], frame: bytes = b"", run: Run | None = None) -> None:
        """As ``Passing.note``."""
        self._note(events, frame, run)
        if self._round_at is None and (self._proactive or self._lost_now):
            self._set_round()

    def inherit(
        self, client: str, lacks: Sequence[Lack], has_had: Callable[[Event], bool]
    ) -> list[tuple[Event, tuple[Pattern, ...]]]:
        """As ``Heritage.take``."""
        kept = self.heritage.take(client, lacks, has_had)
        if self._round_at is None:
            self._set_round()
        return kept

    # --- gossip

    def receive(self, peer: str, message: Gossip, custody: Custody, ready: bool) -> None:
        """``ready``: it is known here who wants what."""
        match message:
            case Silent():
                self.heartbeat.hear(peer, message, custody, ready)
            case Keeps():
                self._push.receive(peer, message)
            case Misses():
                receive_misses(self.talk, peer, message)
            case MissesOf():
                receive_misses_of(self.talk, peer, message)
        if self._round_at is None:
            self._set_round()

    def receive_direct(self, datagram: bytes) -> Iterator[Returned]:
        """The events that have come back."""
        try:
            message = decode_direct(datagram)
        except BadFrame:
            self.talk.figures.malformed += 1
            return
        match message:
            case Wants():
                self._push.on_wants(message)
            case MissesOf():
                receive_question(self.talk, message)
            case Repair():
                yield from self.returns.repaired(message, hash(datagram))

    def leave(self) -> None:
        """This broker is about to leave for good: nobody else could say, or give, what only it knows and has."""
        self.bequests.leave()
        self.heartbeat.end()

    def release_held(self) -> None:
        """It is known by now who wants what."""
        self.heartbeat.release_held()

    # --- times

    def deadline(self) -> float | None:
        """Asked in every turn; where nothing is missing and nobody waits, only silence is to be told."""
        silence = self.heartbeat.deadline()
        if self._round_at is None and not self._lost_now and not self.order.busy:
            return silence
        return earliest(self._round_at, silence, self.lost.next_expiry(), self.order.deadline())

    def due(self) -> None:
        now = self.turn.now
        self.heartbeat.due(now)
        if self.lost:
            self.talk.given_up(self.lost.expired(now))
        if self._round_at is not None and now >= self._round_at:
            self._begin_rounds(now)
            self._set_round(1.0)

    def _set_round(self, part: float | None = None) -> None:
        """The next round of each algorithm that has none before it, unless there is no reason for one.

        Rounds of different brokers do not fall together.
        """
        idle = [each for each in self.strategies if each.name not in self._round_of]
        if some := [each for each in idle if self.lost or each.is_wanted()]:
            part = self.rng.random() if part is None else part
            for each in some:
                self._round_of[each.name] = self.turn.now + part * each.interval_s()
        self._round_at = min(self._round_of.values(), default=None)

    def _begin_rounds(self, now: float) -> None:
        for signature in [each for each in self.lost.signatures(self.turn.now) if each not in self.talk.signatures.own]:
            self.lost.forget(signature)  # nobody wants it any more
        self._ask_everybody()
        for each in self.strategies:
            if self._round_of.get(each.name, math.inf) <= now:
                del self._round_of[each.name]
                if each.is_wanted():
                    each.begin_round()

    def _ask_everybody(self) -> None:
        """The last resort, for what those who were asked do not have."""
        if self.options.last_resort_s:
            now = self.turn.now
            long_missing = self.lost.stubborn(self.options.last_resort_s, now)
            stubborn = [each for each in long_missing if self._is_asked_for(each)]
            for signature in dict.fromkeys(signature for _, signature, _ in stubborn):
                ask_for(self.talk, signature, Manner.EVERYBODY, self.talk.neighbours())
            for triple in stubborn:
                self.lost.rest(triple, now)

    def _is_asked_for(self, triple: Triple) -> bool:
        """Not where the algorithm for the pattern is ``none``: there it is only known that something is missing."""
        return any(each.concerns(triple[1]) for each in self.strategies)

    # --- looking in

    @property
    def at_rest(self) -> bool:
        """Nothing is missing, nothing is to be said, nothing is offered any more, and nothing waits."""
        return self._round_at is None and not self.lost and self.heartbeat.deadline() is None and not self.order.busy

    def admits(self, client: str, patterns: tuple[Any, ...], event: Event, born: float) -> bool:
        """Whether the client has wanted one of these patterns since before the event was published, at ``born``."""
        wanted_since = self.talk.signatures.wanted_since
        return any(wanted_since(client, pattern, event.qos) <= born for pattern in patterns)

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
