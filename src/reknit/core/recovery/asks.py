"""What was asked of whom, and what came of it: from that a broker learns how to ask.

A question past the tree is lost, or its answer is, as any datagram. How long an answer takes says how long to wait for
one; how many questions are answered says how much is lost; and how many messages there have been for each event that
came back says whether questions should rather be gathered for a while, for one question may name many events.

Owns: these measures. Must not know: what is asked for, or how.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Asks"]

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


@dataclass(slots=True)
class _Ask:
    at: float
    source: str
    answered: bool = False


class Asks:
    def __init__(self, wait_s: float, wait_s_max: float, hold_s_max: float, price: float) -> None:
        """``wait_s``: for an answer, at first. ``hold_s_max``: for how long questions may be gathered.

        ``price``: what an event that comes back may cost, in messages.
        """
        self.wait_s_min = wait_s
        self.wait_s_max = wait_s_max
        self.hold_s_max = hold_s_max
        self.price = price
        self.wait_s = wait_s
        self.hold_s = hold_s_max * HOLD_FIRST
        self.answered = 1.0
        """The share of questions that are answered."""
        self.silent: dict[str, int] = {}
        """By source: questions in a row that its broker has not answered."""
        self._round_trip_s = self._spread_s = -1.0
        self._messages = self._events = 0.0  # of late
        self._open: dict[int, _Ask] = {}  # by round, the oldest first

    def ask(self, number: int, source: str, now: float) -> None:
        self._give_up(now)
        if len(self._open) >= ASKS_MAX:
            del self._open[next(iter(self._open))]
        self._open[number] = _Ask(now, source)
        self._messages += 1

    def answer(self, number: int, events: int, now: float) -> None:
        """An answer has come, with so many events that were missed."""
        self._messages += 1
        self._events += events
        ask = self._open.get(number)
        if ask is not None and not ask.answered:
            ask.answered = True
            self.answered += GAIN * (1.0 - self.answered)
            self.silent.pop(ask.source, None)
            self._time(now - ask.at)
        self._adjust()

    def source_of(self, number: int) -> str:
        """Whose events this question was about; empty if it is not known any more."""
        ask = self._open.get(number)
        return ask.source if ask is not None else ""

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
            if ask.answered:
                continue
            self.answered -= GAIN * self.answered
            self.silent[ask.source] = self.silent.pop(ask.source, 0) + 1
            if len(self.silent) > ASKS_MAX:
                del self.silent[next(iter(self.silent))]

    def _adjust(self) -> None:
        """Gather for longer where events cost too many messages, for less long where they cost few."""
        if self._messages < 1 / GAIN:
            return
        cost = self._messages / max(self._events, 1.0)
        if cost > self.price:
            self.hold_s = min(max(self.hold_s, self.wait_s_min / 2) * HOLD_GROWTH, self.hold_s_max)
        elif cost < self.price / HOLD_GROWTH:
            self.hold_s /= HOLD_GROWTH
        self._messages /= 2
        self._events /= 2
