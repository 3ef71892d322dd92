"""``auto``: each lost event is asked for where it is likeliest to be had at least cost, by what this broker has seen.

Whoever publishes keeps what it has published, and its broker's address stands in each of its events. So the first
question goes there, past the tree: one message, and one answer, however far away it is; and one question names all that
is missing of a source. That is publisher-based pull without the way. It fails where that broker is gone, or has kept
the event for too short a time. For such events others who want the pattern are asked, as in subscriber-based pull, if
there are any; and everybody in the end (the last resort).

The *interval* follows from what was seen, too (``asks``): a question is repeated when its answer is later than answers
are; and what is found missing is gathered for a while before it is asked for, the longer the more messages each event
has cost so far, so that much loss, or many patterns with few events each, do not make many messages.

Owns: whom to ask for what. Must not know: how a gap is found, or how answers are made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from reknit.core.recovery.gossip import Talk
from reknit.core.recovery.lost import Triple
from reknit.core.recovery.publisher_pull import ask_the_publisher
from reknit.core.recovery.pull import ask_for
from reknit.core.recovery.ranges import to_ranges
from reknit.core.recovery.strategy import Strategy
from reknit.wire.messages import Manner, MissesOf, Range

__all__ = ["Auto"]

SOURCES_MAX = 64
"""Brokers that are asked in one round."""

SILENT_MAX = 4
"""Questions in a row that a broker leaves unanswered before others are asked as well."""

STEP_S_MIN = 0.02


class Auto(Strategy):
    name: ClassVar[str] = "auto"
    names_publisher: ClassVar[bool] = True

    def __init__(self, talk: Talk, concerns: Callable[[int], bool]) -> None:
        super().__init__(talk, concerns)
        self.asks = talk.asks
        talk.lost.hold_s, talk.lost.is_held = self.asks.hold_s, concerns

    def is_wanted(self) -> bool:
        return len(self.talk.lost) > 0

    def interval_s(self) -> float:
        return min(max(self.asks.wait_s / 2, STEP_S_MIN), self.talk.options.gossip_s)

    def begin_round(self) -> None:
        talk, now = self.talk, self.talk.turn.now
        talk.lost.learned_s, talk.lost.hold_s = self.asks.wait_s, self.asks.hold_s
        due = talk.lost.sources(now)
        for source in due[:SOURCES_MAX]:
            if source in talk.routes:
                self._ask_publisher(source)
        for signature in self._draw(talk.lost.signatures(now)):
            ask_for(talk, signature, Manner.SUBSCRIBERS, talk.some(talk.towards(signature)), self._is_elsewhere)

    def _is_elsewhere(self, triple: Triple) -> bool:
        """Whether its publisher's broker is not the one to be asked for it; one that is silent is every other time."""
        source, signature, _ = triple
        loss = self.talk.lost.entries[triple]
        if loss.elsewhere or source not in self.talk.routes:
            return True
        silent = self.asks.silent.get(source, 0) >= SILENT_MAX
        return silent and loss.asked % 2 == 1 and bool(self.talk.towards(signature))

    def _ask_publisher(self, source: str) -> None:
        """For all that is missing of this source, and not being asked for already."""
        talk, (route, address, key) = self.talk, self.talk.routes[source]
        left = talk.options.digest_numbers_max
        lost: list[tuple[int, float, list[Range]]] = []
        for signature, numbers in list(talk.lost.ripe(source, talk.turn.now)):
            here = [each for each in numbers if not self._is_elsewhere((source, signature, each))]
            chosen = talk.lost.newest(source, signature, here, left) if self.concerns(signature) else []
            if chosen:
                left -= len(chosen)
                lost.append((signature, talk.signatures.age_s(signature), to_ranges(chosen)))
                talk.ask(source, signature, chosen)
        if lost:
            asker = talk.begin()
            self.asks.ask(asker.round, source, talk.turn.now)
            ask_the_publisher(talk, MissesOf(asker, source, lost, list(route[-1:]), address, key))
