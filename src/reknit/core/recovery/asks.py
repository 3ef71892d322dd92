"""What was asked of whom, and what came of it: from that a broker learns whom to ask, when, and how often.

A question past the tree is lost, or its answer is, as any datagram. How long an answer takes says how long to wait for
one. How many questions are answered says how much is lost; from that follows how often something has to be asked for
until it is back, nearly for certain, and so how much time there is to gather questions before the first. How many
messages there have been for each event that came back says whether to gather at all, for one question may name many
events. Of answers that were lost nobody sees anything, but how many there were follows from those that came. And how
much of what it is asked for a fellow gives says whether it is worth a question (see ``fellows``).

Owns: these measures. Must not know: what is asked for, or how.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeVar

__all__ = ["SILENT_MAX", "Asks"]

ASKS_MAX = 1024
"""Questions that are remembered."""

GAIN = 0.1
"""How much the newest of many counts."""

ROUND_TRIP_GAIN = 0.125
SPREAD_GAIN = 0.25
SPREADS = 4
"""How many times its usual spread an answer may be later than usual: the rule by which TCP waits."""

HOLD_GROWTH = 1.25
HOLD_FIRST = 0.25
"""The part of the longest time that is gathered for as long as nothing is known."""

SHARE_FIRST = 0.5
"""Of what a fellow is asked for, what it is expected to give as long as nothing is known."""

SILENT_MAX = 4
"""Questions in a row that a broker leaves unanswered: more say that it is gone, and nothing about what is lost."""

LATE_MAX = 0.001
"""Of what is missing, the share that may still be when there was time to ask so often."""


T = TypeVar("T")


@dataclass(slots=True)
class _Ask:
    """``source``: whose events it was about, if of the broker's own: then an answer is certain unless it is lost.

    ``by``: an answer should have come by then.
    """

    at: float
    by: float
    source: str
    name: str
    others: int
    given: int = 0
    answered: bool = False


class Asks:
    def __init__(
        self, wait_s: float, wait_s_max: float, hold_s_max: float, price: float, back_s: float = math.inf
    ) -> None:
        """``wait_s``: for an answer, at first. ``hold_s_max``: for how long questions may be gathered.

        ``price``: what an event that comes back may cost, in messages. ``back_s``: how soon it should be back.
        """
        self.wait_s_min = wait_s
        self.wait_s_max = wait_s_max
        self.hold_s_max = hold_s_max
        self.price = price
        self.back_s = back_s
        self.wait_s = wait_s
        self.hold_s = hold_s_max * HOLD_FIRST
        self.answered = 1.0
        """The share of questions that are answered."""
        self.silent: dict[str, int] = {}
        """By source: questions in a row that its broker has not answered."""
        self._shares: dict[str, float] = {}  # by broker
        self._round_trip_s = self._spread_s = -1.0
        self._asked = self._heard = self._events = 0.0  # of late
        self._open: dict[int, _Ask] = {}  # by round, the oldest first

    def ask(self, number: int, source: str, now: float, name: str = "", others: int = 0) -> None:
        """``others``: for so many events of other sources, too, or only for such: then there is no ``source``."""
        self._give_up(now)
        if len(self._open) >= ASKS_MAX:
            del self._open[next(iter(self._open))]
        self._open[number] = _Ask(now, now + self.wait_s, source, name, others)
        self._asked += 1

    def answer(self, number: int, events: int, now: float, others: int = 0) -> None:
        """An answer has come, with so many events that were missed, and so many of them of other sources."""
        self._heard += 1
        self._events += events
        ask = self._open.get(number)
        if ask is not None:
            ask.given += others
            if not ask.answered:
                self._first_answer(ask, now)
        self._adjust()

    def source_of(self, number: int) -> str:
        """Whose events this question was about; empty if it is not known any more."""
        ask = self._open.get(number)
        return ask.source if ask is not None else ""

    def is_late(self, number: int, now: float) -> bool:
        """Whether an answer that comes now has been waited for in vain: somebody was too busy to handle a question."""
        ask = self._open.get(number)
        return ask is None or now > ask.by

    def share(self, name: str) -> float:
        """Of what this broker is asked for of others' events, how much has come; questions that were lost count."""
        return self._shares.get(name, SHARE_FIRST)

    def _first_answer(self, ask: _Ask, now: float) -> None:
        ask.answered = True
        if ask.source:
            self.answered += GAIN * (1.0 - self.answered)
            self.silent.pop(ask.source, None)
        self._time(now - ask.at)

    def _time(self, took_s: float) -> None:
        if self._round_trip_s < 0:
            self._round_trip_s, self._spread_s = took_s, took_s / 2
        else:
            self._spread_s += SPREAD_GAIN * (abs(took_s - self._round_trip_s) - self._spread_s)
            self._round_trip_s += ROUND_TRIP_GAIN * (took_s - self._round_trip_s)
        wait = self._round_trip_s + SPREADS * self._spread_s
        self.wait_s = min(max(wait, self.wait_s_min), self.wait_s_max)

    def _give_up(self, now: float) -> None:
        """No answer comes to these any more."""
        late = []
        for number, ask in self._open.items():
            if now < ask.at + self.wait_s:
                break
            late.append(number)
        for number in late:
            ask = self._open.pop(number)
            if ask.others:
                share = self.share(ask.name)
                _note(self._shares, ask.name, share + GAIN * (min(1.0, ask.given / ask.others) - share))
            if ask.source and not ask.answered:
                silent = self.silent.get(ask.source, 0)
                self.answered -= GAIN * self.answered if silent < SILENT_MAX else 0.0
                _note(self.silent, ask.source, silent + 1)

    def _adjust(self) -> None:
        """Gather for longer where events cost too many messages, for less long where they cost few."""
        if self._asked + self._heard < 1 / GAIN:
            return
        sent = self._heard / math.sqrt(max(self.answered, GAIN))  # question and answer are lost alike
        cost = (self._asked + sent) / max(self._events, 1.0)
        if cost > self.price:
            self.hold_s = max(self.hold_s, self.wait_s_min / 2) * HOLD_GROWTH
        elif cost < self.price / HOLD_GROWTH:
            self.hold_s /= HOLD_GROWTH
        self.hold_s = min(self.hold_s, self.longest_hold_s())
        self._asked /= 2
        self._heard /= 2
        self._events /= 2

    def tries(self) -> float:
        """How often it takes to ask, by what is lost, until something is back nearly for certain."""
        return math.log(LATE_MAX) / math.log(min(max(1.0 - self.answered, LATE_MAX), 1.0 - GAIN))

    def longest_hold_s(self) -> float:
        """So that there is time enough for that."""
        return min(self.hold_s_max, max(0.0, self.back_s - self.tries() * self.wait_s))


def _note(of: dict[str, T], name: str, value: T) -> None:
    """The last that was noted comes last; there are no more than so many."""
    of.pop(name, None)
    of[name] = value
    if len(of) > ASKS_MAX:
        del of[next(iter(of))]
