"""Which events have been here: the guard against copies where events may come late.

Links that lose nothing bring the events of a source in the order of their numbers, and the last number is all there is
to remember. Where events are lost and recovered, a later one comes first. So for each source there is a *floor*, up to
which everything counts as known, and the numbers above it that have come. As soon as the next number above the floor
has come, the floor rises; and it does when there is no more room: then what has not come by now is taken for a copy,
which loses an event that was very late, and doubles none.

Owns: these numbers. Must not know: what an event is about.
"""

from __future__ import annotations

from collections.abc import Iterator

from reknit.core.recovery.ranges import to_ranges
from reknit.wire.messages import Range

__all__ = ["History"]

RUNS_MAX = 256
"""Runs of one source that are told."""

IDS_MIN = 64
"""Numbers above the floor that each source may have, however many sources there are."""


class _Source:
    __slots__ = ("above", "floor")

    def __init__(self) -> None:
        self.floor = 0
        self.above: set[int] = set()  # only ever asked whether it holds a number, or sorted


class History:
    def __init__(self, sources_max: int, ids_max: int) -> None:
        """``ids_max``: numbers above floors, of all sources together; each keeps to its share whenever one of its own
        comes above the floor, and has at least ``IDS_MIN``.
        """
        self.sources_max = sources_max
        self.ids_max = ids_max
        self.forgotten = 0
        """Numbers that were above a floor when it had to rise."""
        self._of: dict[str, _Source] = {}

    def knows(self, source: str, seq: int) -> bool:
        known = self._of.get(source)
        return known is not None and (seq <= known.floor or seq in known.above)

    def add(self, source: str, seq: int) -> bool:
        """False if it has been here before."""
        known = self._of.get(source)
        if known is None:
            known = self._begin(source)
        if seq == known.floor + 1:
            known.floor = seq
            if known.above:
                self._rise(known)
            return True
        if seq <= known.floor or seq in known.above:
            return False
        known.above.add(seq)
        if len(known.above) > IDS_MIN and len(known.above) > self.ids_max // len(self._of):
            self._make_room(known)
        return True

    def add_run(self, source: str, first: int, last: int) -> bool:
        """All from ``first`` to ``last``, if they are just the next ones; if not, nothing is added."""
        known = self._of.get(source)
        if known is None:
            known = self._begin(source)
        if first != known.floor + 1 or known.above:
            return False
        known.floor = last
        return True

    def runs(self) -> Iterator[tuple[str, list[Range]]]:
        """By source, what has been here, or counts as if it had.

        Of the runs of one source the newest so many; whatever is before them counts, too.
        """
        for source, known in self._of.items():
            above = to_ranges(known.above)
            runs = [(1, known.floor), *above] if known.floor else above
            if len(runs) > RUNS_MAX:
                runs = [(1, runs[-RUNS_MAX][1]), *runs[1 - RUNS_MAX :]]
            yield source, runs

    def _begin(self, source: str) -> _Source:
        if len(self._of) >= self.sources_max:
            del self._of[next(iter(self._of))]
        known = self._of[source] = _Source()
        return known

    def _rise(self, known: _Source) -> None:
        above = known.above
        while known.floor + 1 in above:
            known.floor += 1
            above.remove(known.floor)

    def _make_room(self, known: _Source) -> None:
        """The older half counts as known from now on."""
        numbers = sorted(known.above)
        older = numbers[: len(numbers) // 2]
        self.forgotten += len(older)
        known.floor = older[-1]
        known.above = set(numbers[len(older) :])
        self._rise(known)
