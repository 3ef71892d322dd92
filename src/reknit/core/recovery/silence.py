"""Which patterns a source has fallen silent for: the last event of a burst is missed by nobody unless somebody says so.

A gap shows when a later number comes. Behind the last event none does; so a source that has published nothing for a
pattern for a while says which number was the last, and says it again after a longer while, for those whom the first
word has not reached.

Owns: when that is due. Must not know: numbers, or how they are said.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

__all__ = ["Silence"]

WAIT_GROWTH = 4
"""Each time the wait is so many times as long."""


class Silence:
    def __init__(self, wait_s: float, times: int) -> None:
        """``times``: how often the last number is said; 0 for never."""
        self.wait_s = wait_s
        self.times = times
        self.at: float | None = None
        """When to look next, at the latest: asked in every turn. There may be nothing to say by then."""
        self._spoke: dict[int, float] = {}  # by signature: when the last event was; the oldest first
        self._said: dict[int, tuple[float, int]] = {}  # when it is to be said again, and how often it was

    def spoke(self, signatures: Iterable[int], now: float) -> None:
        """There was an event for these patterns."""
        if not self.times:
            return
        if self.at is None or now + self.wait_s < self.at:
            self.at = now + self.wait_s
        last = self._spoke
        for signature in signatures:
            if last.get(signature) != now:  # of all that one turn brings, the first
                last.pop(signature, None)
                last[signature] = now
        if self._said:
            for signature in signatures:
                self._said.pop(signature, None)

    def due(self, now: float) -> list[int]:
        """The patterns of which the last number is to be said now.

        If there is one, those for which half of the wait is over are said with it: one message instead of many.
        """
        if self.at is None or now < self.at:
            return []
        self.at = self._first()
        if self.at is None or now < self.at:
            return []
        found: list[int] = []
        for signature, spoke in self._spoke.items():
            if now < spoke + self.wait_s / 2:
                break
            found.append(signature)
        again = [(each, count) for each, (at, count) in self._said.items() if now >= at - self._wait(count) / 2]
        for signature in found:
            del self._spoke[signature]
            self._say_later(signature, 1, now)
        for signature, count in again:
            del self._said[signature]
            self._say_later(signature, count + 1, now)
        self.at = self._first()
        return found + [signature for signature, _ in again]

    def end(self) -> list[int]:
        """The source ends: all patterns of which the last number was still to be said, now or once more."""
        left = [*self._spoke, *self._said]
        self._spoke.clear()
        self._said.clear()
        self.at = None
        return left

    def _first(self) -> float | None:
        """When something is to be said next."""
        again = min(self._said.values())[0] if self._said else math.inf
        for spoke in self._spoke.values():  # the first of them
            return min(spoke + self.wait_s, again)
        return again if self._said else None

    def _say_later(self, signature: int, count: int, now: float) -> None:
        if count < self.times:
            self._said[signature] = (now + self._wait(count), count)

    def _wait(self, count: int) -> float:
        """Until it is said again, having been said so often."""
        return self.wait_s * float(WAIT_GROWTH**count)
