"""Looking for members of a community, or of the nearest one above it that has any (FIND_SUPER_CONTACT).

A *ladder* is where to look, the nearest community first. The first attempt names the first rung only, each later one
a rung more, up to the last: were all named at once, members of the topmost community would answer everybody. When
somebody was found on a rung, that rung and those above it are not named again, unless whoever was found there is lost;
those below are, for ever, but rarely: a level that is empty now may be filled later. With somebody on the first rung
the search ends.

Owns: which rungs are named when. Must not know: who is asked, or what becomes of those who are found.
"""

from __future__ import annotations

from collections import deque
from math import inf

from reknit.community.options import SuperOptions
from reknit.community.turn import Turn

__all__ = ["ATTEMPTS_MAX", "Search"]

ATTEMPTS_MAX = 8
"""Attempts whose answers are still taken."""


class Search:
    __slots__ = (
        "_answered",
        "_attempts",
        "_every_s",
        "_options",
        "_probes",
        "_reach",
        "_scope",
        "_turn",
        "ladder",
        "next_at",
    )

    def __init__(self, ladder: tuple[str, ...], options: SuperOptions, turn: Turn) -> None:
        self.ladder = ladder
        self._options = options
        self._turn = turn
        self._attempts: deque[int] = deque(maxlen=ATTEMPTS_MAX)
        self._probes: deque[int] = deque(maxlen=ATTEMPTS_MAX)
        self._answered = True  # the last attempt that was sent
        self._reach = len(ladder)  # rungs from here on are not named
        self._scope = 0
        self._every_s = options.search_s
        self.next_at = inf

    def is_on(self) -> bool:
        return self.next_at < inf

    def start(self) -> None:
        """From the first rung; nothing happens if it is under way."""
        if not self.is_on() and self.ladder and self._options.search_s:
            self._reach, self._scope = len(self.ladder), 0
            self._every_s = self._options.search_s
            self.next_at = self._turn.now

    def stop(self) -> None:
        self.next_at = inf

    def attempt(self) -> tuple[int, tuple[str, ...]]:
        """It is time: the number of this attempt, and which communities to ask for."""
        if self._scope < self._reach:
            self._scope += 1
        else:
            self._every_s = min(2 * self._every_s, self._options.search_s_max)
        self.next_at = self._turn.now + self._turn.jitter(self._every_s)
        number = self._turn.number()
        self._attempts.append(number)
        return number, self.ladder[: min(self._scope, self._reach)]

    def skip(self) -> None:
        """It is time, but others of the community ask: what is named grows with what was sent only."""
        if self._scope >= self._reach:
            self._every_s = min(2 * self._every_s, self._options.search_s_max)
        self.next_at = self._turn.now + self._turn.jitter(self._every_s)

    def sent(self) -> None:
        """An attempt is on its way; that nobody has answered the one before is counted."""
        if not self._answered:
            self._turn.count("unanswered")
        self._answered = False

    def probe(self) -> int:
        """An attempt out of turn: its number."""
        number = self._turn.number()
        self._attempts.append(number)
        self._probes.append(number)
        return number

    def is_first_of_probe(self, attempt: int) -> bool:
        """Whether it answers an attempt out of turn, and is the first to: others may have been asked in its name."""
        if attempt not in self._probes:
            return False
        self._probes.remove(attempt)
        return True

    def asked(self, attempt: int, topic: str) -> bool:
        asked = attempt in self._attempts and topic in self.ladder
        self._answered = self._answered or asked
        return asked

    def widen(self, rung: int) -> None:
        """Nobody below this rung is known any more: those from where it was looked for last up to there count again."""
        if self.is_on() and rung > self._reach:
            self._reach = rung
            self._every_s = self._options.search_s
            self.next_at = min(self.next_at, self._turn.now + self._turn.jitter(self._every_s))

    def found(self, topic: str) -> None:
        """Somebody of this community is known now, by whatever way."""
        rung = self.ladder.index(topic)
        self._reach = min(self._reach, rung)
        if rung == 0:
            self.stop()
