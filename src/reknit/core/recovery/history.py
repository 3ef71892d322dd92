"""Which events have been here: the guard against copies where events may come late.

Links that lose nothing bring the events of a source in the order of their numbers, and the last number is all there is
to remember. Where events are lost and recovered, a later one comes first. So for each source there are the *runs* of
numbers that have come: one that is behind all others makes the last run longer, or a new one, for what nobody here
wants does not come at all; one that comes late closes a gap, or makes one smaller. When there is no more room, the
older half counts as one run from the first number on: what has not come by now is taken for a copy, which loses an
event that was very late, and doubles none.

Owns: these numbers. Must not know: what an event is about.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from reknit.wire.messages import Range

__all__ = ["History"]

RUNS_MAX = 256
"""Runs of one source that are told."""

IDS_MIN = 64
"""Runs that each source may have, however many sources there are."""


class _Source:
    """The first and the last number of each run, in ascending order; between two runs something is missing."""

    __slots__ = ("firsts", "lasts")

    def __init__(self) -> None:
        self.firsts: list[int] = []
        self.lasts: list[int] = []


class History:
    def __init__(self, sources_max: int, ids_max: int) -> None:
        """``ids_max``: runs of all sources together; each keeps to its share whenever it has a new one, and has at
        least ``IDS_MIN``.
        """
        self.sources_max = sources_max
        self.ids_max = ids_max
        self.forgotten = 0
        """Runs that were not kept apart any more."""
        self._of: dict[str, _Source] = {}

    def knows(self, source: str, seq: int) -> bool:
        known = self._of.get(source)
        if known is None or not known.lasts or seq > known.lasts[-1]:
            return False
        return known.firsts[bisect_left(known.lasts, seq)] <= seq

    def add(self, source: str, seq: int) -> bool:
        """False if it has been here before."""
        known = self._of.get(source)
        if known is None:
            known = self._begin(source)
        lasts = known.lasts
        if not lasts or seq > lasts[-1]:
            self._append(known, seq, seq)
            return True
        at = bisect_left(lasts, seq)  # the run that holds it, or the first behind it
        if known.firsts[at] <= seq:
            return False
        self._insert(known, at, seq)
        return True

    def add_run(self, source: str, first: int, last: int) -> bool:
        """All from ``first`` to ``last``, if they are behind all that have come; if not, nothing is added."""
        known = self._of.get(source)
        if known is None:
            known = self._begin(source)
        if known.lasts and first <= known.lasts[-1]:
            return False
        self._append(known, first, last)
        return True

    def runs(self) -> Iterator[tuple[str, list[Range]]]:
        """By source, what has been here, or counts as if it had.

        Of the runs of one source the newest so many; whatever is before them counts, too.
        """
        for source, known in self._of.items():
            runs = list(zip(known.firsts, known.lasts, strict=True))
            if len(runs) > RUNS_MAX:
                runs = [(1, runs[-RUNS_MAX][1]), *runs[1 - RUNS_MAX :]]
            yield source, runs

    def _begin(self, source: str) -> _Source:
        if len(self._of) >= self.sources_max:
            del self._of[next(iter(self._of))]
        known = self._of[source] = _Source()
        return known

    def _append(self, known: _Source, first: int, last: int) -> None:
        lasts = known.lasts
        if lasts and lasts[-1] + 1 == first:
            lasts[-1] = last
            return
        known.firsts.append(first)
        lasts.append(last)
        self._keep_to_share(known)

    def _insert(self, known: _Source, at: int, seq: int) -> None:
        """Before run ``at``, and behind the one before that."""
        firsts, lasts = known.firsts, known.lasts
        meets_next, meets_last = firsts[at] == seq + 1, at > 0 and lasts[at - 1] == seq - 1
        if meets_next and meets_last:
            del firsts[at], lasts[at - 1]
        elif meets_next:
            firsts[at] = seq
        elif meets_last:
            lasts[at - 1] = seq
        else:
            firsts.insert(at, seq)
            lasts.insert(at, seq)
            self._keep_to_share(known)

    def _keep_to_share(self, known: _Source) -> None:
        """Where there are too many, the older half counts as one."""
        count = len(known.firsts)
        if count > IDS_MIN and count > self.ids_max // len(self._of):
            half = count // 2 + 1
            self.forgotten += half
            known.firsts[:half] = [1]
            known.lasts[: half - 1] = []
