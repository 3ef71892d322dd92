"""The numbers of a source: for each pattern, how many of its events there have been.

An event matches several patterns, and whoever wants one of them sees only the events of that one. So it is not enough
to number the events of a source: each event carries one number for each pattern that it matches (EPIDEMIC, 4.2), and a
missing number tells whoever wants the pattern that an event is missing.

Owns: the counts of this life of this broker. Must not know: what matches, or who looks at the numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["Number", "Numbering"]

Number = tuple[int, int]
"""The signature of a pattern, and how many events of this source there have been for it."""


class Numbering:
    def __init__(self, patterns_max: int) -> None:
        """Beyond ``patterns_max``, the pattern that was counted first begins anew; ``forgotten`` says how often."""
        self.patterns_max = patterns_max
        self.forgotten = 0
        self._last: dict[int, int] = {}

    def stamp(self, signatures: Sequence[int]) -> tuple[Number, ...]:
        """One more event, for these patterns."""
        last = self._last
        try:
            if len(signatures) == 1:  # as most
                number = last[signatures[0]] = last[signatures[0]] + 1
                return ((signatures[0], number),)
        except KeyError:
            pass
        for signature in signatures:
            number = last.get(signature, 0) + 1
            if number == 1:
                self._make_room()
            last[signature] = number
        return tuple([(signature, last[signature]) for signature in signatures])

    def current(self, signatures: Iterable[int]) -> list[Number]:
        """The last numbers of those that have any."""
        return [(signature, self._last[signature]) for signature in signatures if signature in self._last]

    def _make_room(self) -> None:
        """A pattern keeps its count when nobody wants it for a while: somebody may still remember the last number."""
        if len(self._last) >= self.patterns_max:
            del self._last[next(iter(self._last))]
            self.forgotten += 1
