"""``auto``: each lost event is asked for where it is likeliest to be had at least cost, by what this broker has seen.

Whoever publishes keeps what it has published, and its broker's address stands in each of its events. So a question may
go there, past the tree: one message, and one answer, however far away it is; and it names all that is missing of that
source. That is publisher-based pull without the way. Or it may go to a *fellow*, another broker that wants the same
pattern (``fellows``), and name all that is missing of the pattern, of whatever source: subscriber-based pull without
the way. A publisher has all that is asked of it, a fellow only what it has not lost itself.

Which of the two it is follows from what is missing: in each round the first question goes to the broker that is
expected to give most, the next to the one that gives most of the rest, until all that is due has been asked for. What
is expected of a publisher is its answer, as often as questions are answered at all (the *loss rate*); of a fellow, the
share that it has given so far. So where few publish, or where much is lost, publishers are asked; where there are many
sources with little each (many *patterns*, or *patterns per event*) and others who want the same (*subscribers per
pattern*), those are. A fellow is asked for an event once, and two of them at most; then its publisher is.

Both fail where a publisher's broker is gone, or has kept the event for too short a time. For such events others who
want the pattern are asked along the tree, if there are any; and everybody in the end (the last resort).

The *interval* follows from what was seen, too (``asks``): a question is repeated when its answer is later than answers
are; and what is found missing is gathered for a while before it is asked for, the longer the more messages each event
has cost so far, but never for so long that there were no time left to ask as often as the loss rate makes it likely.

Owns: whom to ask for what. Must not know: how a gap is found, or how answers are made.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import islice
from typing import ClassVar

from reknit.core.recovery.asks import SILENT_MAX
from reknit.core.recovery.gossip import Talk
from reknit.core.recovery.lost import Triple
from reknit.core.recovery.publisher_pull import ask_the_publisher
from reknit.core.recovery.pull import ask_for
from reknit.core.recovery.ranges import to_ranges
from reknit.core.recovery.strategy import Strategy
from reknit.core.recovery.yields import Lacking
from reknit.wire.messages import Manner, MissesOf

__all__ = ["Auto"]

QUESTIONS_MAX = 64
"""Brokers that are asked in one round."""

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
        talk.lost.patience = math.ceil(self.asks.tries())
        lacking = Lacking(talk, self.concerns, self._is_elsewhere)
        for _ in range(QUESTIONS_MAX):
            if (name := lacking.best()) is None:
                break
            self._ask(name, lacking)
        for signature in self._draw(talk.lost.signatures(now)):
            ask_for(talk, signature, Manner.SUBSCRIBERS, talk.some(talk.towards(signature)), self._is_elsewhere)

    def _is_elsewhere(self, triple: Triple) -> bool:
        """Whether its publisher's broker is not the one to be asked for it; one that is silent is every other time."""
        source, signature, _ = triple
        loss = self.talk.lost.entries[triple]
        if loss.elsewhere or source not in self.talk.routes:
            return True
        silent = self.asks.silent.get(source, 0) >= max(SILENT_MAX, self.asks.tries())
        return silent and loss.asked % 2 == 1 and bool(self.talk.towards(signature))

    def _ask(self, name: str, lacking: Lacking) -> None:
        talk, source = self.talk, self.talk.fellows.source_of[name]
        own, others = lacking.take(name, talk.options.digest_numbers_max)
        if not own and not others:
            return
        for lost_of, numbers_by_pattern in ((source, own), *others.items()):
            for signature, numbers in numbers_by_pattern.items():
                talk.ask(lost_of, signature, numbers, name)
        route, address, key = talk.routes[source]
        asker, count = talk.begin(), sum(len(each) for some in others.values() for each in some.values())
        self.asks.ask(asker.round, source if own else "", talk.turn.now, name, count)
        lost = self._named(own)
        rest = [(each, self._named(some)) for each, some in others.items()]
        wants = list(islice(talk.signatures.own, talk.options.wants_max))
        ask_the_publisher(talk, MissesOf(asker, source, lost, list(route[-1:]), address, key, rest, wants))

    def _named(self, numbers: dict[int, list[int]]) -> list[tuple[int, float, list[tuple[int, int]]]]:
        return [(signature, self.talk.age_s(signature), to_ranges(some)) for signature, some in numbers.items()]
