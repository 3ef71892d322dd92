"""The numbers of a source: for each pattern, how many of its events there have been.

An event matches several patterns, and whoever wants one of them sees only the events of that one. So it is not enough
to number the events of a source: each event has one number for each pattern that it matches (EPIDEMIC, 4.2), and a
missing number tells whoever wants the pattern that an event is missing. What is the same from one event to the next is
written once (see ``wire.marks``).

Owns: the counts of this life of this broker. Must not know: what matches, or who looks at the numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TypeAlias

from reknit.wire.marks import Number, write_marks

__all__ = ["Numbering", "Way"]

Way: TypeAlias = tuple[tuple[str, ...], str, int]
"""The brokers on the way, the address of the first, and its key; see ``Marks``."""

_ALONE = (0,)


class _Said:
    """Marks of events that match the same patterns, for as long as the numbers of those differ by the same.

    ``told``: the same with the way to this broker; ``told_at``: when it was told last.
    """

    __slots__ = ("lags", "plain", "told", "told_at")

    def __init__(self, lags: tuple[int, ...], plain: bytes, told: bytes, told_at: float) -> None:
        self.lags = lags
        self.plain = plain
        self.told = told
        self.told_at = told_at


class Numbering:
    def __init__(self, patterns_max: int, way: Way = ((), "", 0), told_s: float = 0.0) -> None:
        """Beyond ``patterns_max``, the pattern that was counted first begins anew; ``forgotten`` says how often.

        ``way``: to this broker, its address and its key, where events have to say it. Of those for the same patterns
        one in ``told_s`` does; all, if that is 0.
        """
        self.patterns_max = patterns_max
        self.way = way
        self.told_s = told_s
        self.forgotten = 0
        self._last: dict[int, int] = {}
        self._said: dict[tuple[int, ...], _Said] = {}

    def stamp(self, signatures: tuple[int, ...], count: int, now: float) -> tuple[int, bytes, bytes]:
        """So many more events, one after the other, for these patterns, of which there is at least one.

        The number of the first of them, the marks of all, and those of the first, which may have to tell the way.
        """
        last = self._last
        for signature in signatures:
            if signature in last:
                last[signature] += count
            else:
                self._begin(signature, count)
        end = last[signatures[0]]
        lags = tuple([last[each] - end for each in signatures]) if len(signatures) > 1 else _ALONE
        said = self._said.get(signatures)
        if said is None or said.lags != lags:
            said = self._say(signatures, lags, -math.inf if said is None else said.told_at)
        if now < said.told_at + self.told_s:
            return end - count + 1, said.plain, said.plain
        said.told_at = now
        return end - count + 1, said.plain if self.told_s else said.told, said.told

    def current(self, signatures: Iterable[int]) -> list[Number]:
        """The last numbers of those that have any."""
        return [(signature, self._last[signature]) for signature in signatures if signature in self._last]

    def last(self, signature: int) -> float:
        """The last number of a pattern; no number is known to be beyond it if some pattern has begun anew."""
        return math.inf if self.forgotten else self._last.get(signature, 0)

    def _say(self, signatures: tuple[int, ...], lags: tuple[int, ...], told_at: float) -> _Said:
        numbers = list(zip(signatures, lags, strict=True))
        _, plain = write_marks(numbers)
        _, told = write_marks(numbers, *self.way)
        if len(self._said) >= self.patterns_max:
            self._said.clear()
        said = self._said[signatures] = _Said(lags, plain, told, told_at)
        return said

    def _begin(self, signature: int, count: int) -> None:
        """A pattern keeps its count when nobody wants it for a while: somebody may still remember the last number."""
        if len(self._last) >= self.patterns_max:
            del self._last[next(iter(self._last))]
            self.forgotten += 1
        self._last[signature] = count
