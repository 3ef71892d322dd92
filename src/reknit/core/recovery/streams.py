"""Gaps: which numbers of a source have not come, though later ones have.

A *stream* is what one source says for one pattern. Its highest number that has come is the *top*; whatever is between
the old top and a number that comes now is missing. Numbers at or below the top are late or recovered, and never make a
gap; nor do they lower the top. A stream belongs to one *epoch* of interest in its pattern: whoever wants a pattern
again begins anew.

At first contact there is no top. Earlier numbers are then no gap, but they may have been lost, too: the first events
after a subscription are as likely to be lost as any. They are *suspected*, as many as a window has room for; whether
they were meant for us, those who have them can tell by their age (see ``cache``). Where a life before has wanted the
pattern, all was lost that came while nobody was here: then the window is as wide as a gap may be.

What a source only says that it has sent (a heartbeat, a digest) makes nobody's top rise: a lie would hide all that
follows. And it is *hearsay*, and no more than suspected, where nothing that has come stands for it: at first contact,
and where it is further beyond the top than a gap may be long.

Owns: the tops. Must not know: what becomes of what is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

__all__ = ["Gap", "Streams"]


@dataclass(frozen=True, slots=True)
class Gap:
    """These numbers have not come; unless ``suspected``, it is certain that they should have."""

    numbers: range
    suspected: bool
    cut: int = 0
    """So many more are missing before them, beyond what one gap may hold."""
    hearsay: bool = False
    """Somebody says so, and nothing that has come stands for it."""


class _Stream:
    """``top`` may be raised by whoever has the next events of the same epoch: that is what nearly all do."""

    __slots__ = ("epoch", "top")

    def __init__(self, epoch: int, top: int) -> None:
        self.epoch = epoch
        self.top = top


class Streams:
    def __init__(self, streams_max: int, gap_max: int, first_max: int) -> None:
        """``gap_max``: the newest numbers of a gap that count. ``first_max``: those suspected at first contact."""
        self.streams_max = streams_max
        self.gap_max = gap_max
        self.first_max = first_max
        self.forgotten = 0
        self.recalled: dict[int, int] = {}
        """By signature: the epoch of interest that a life before has begun."""
        self._of: dict[tuple[str, int], _Stream] = {}
        self.find = self._of.get

    def arrived(self, source: str, signature: int, first: int, last: int, epoch: int) -> Gap | None:
        """Events have come, on whatever way, with all the numbers from ``first`` to ``last``."""
        stream = self._of.get((source, signature))
        if stream is None or stream.epoch != epoch:
            self._begin(source, signature, last, epoch)
            return self._first(signature, epoch, first - 1)
        top = stream.top
        stream.top = max(top, last)
        return self._gap(top, first - 1) if first > top + 1 else None

    def announced(self, source: str, signature: int, number: int, epoch: int) -> Gap | None:
        """Somebody says that there has been an event of this number."""
        stream = self._of.get((source, signature))
        if stream is None or stream.epoch != epoch:
            return self._first(signature, epoch, number, hearsay=True)
        if number > stream.top + self.gap_max:
            return Gap(range(number - self.gap_max + 1, number + 1), suspected=True, hearsay=True)
        return self._gap(stream.top, number) if number > stream.top else None

    def has_passed(self, source: str, signature: int, number: int, epoch: int) -> bool:
        """Whether this number is at or below the top: then it has come, or is known to be missing, or was given up."""
        stream = self._of.get((source, signature))
        return stream is not None and stream.epoch == epoch and number <= stream.top

    def begin(self, source: str, signature: int, number: int, epoch: int) -> int:
        """Somebody whose wish has come here has got as far as that. The top, which is another if there was one."""
        stream = self._of.get((source, signature))
        if stream is None or stream.epoch != epoch:
            self._begin(source, signature, number, epoch)
            return number
        return stream.top

    def tops(self, epochs: Mapping[int, int]) -> Iterator[tuple[tuple[str, int], int]]:
        """By source and signature, of those that belong to the epochs that last."""
        for key, stream in self._of.items():
            if epochs.get(key[1]) == stream.epoch:
                yield key, stream.top

    def __len__(self) -> int:
        return len(self._of)

    def _first(self, signature: int, epoch: int, last: int, hearsay: bool = False) -> Gap | None:
        if last < 1 or not self.first_max:
            return None
        window = self.gap_max if self.recalled.get(signature) == epoch else self.first_max
        return Gap(range(max(1, last - window + 1), last + 1), suspected=True, hearsay=hearsay)

    def _gap(self, top: int, last: int) -> Gap:
        first = max(top + 1, last - self.gap_max + 1)
        return Gap(range(first, last + 1), suspected=False, cut=first - top - 1)

    def _begin(self, source: str, signature: int, number: int, epoch: int) -> None:
        self._of.pop((source, signature), None)
        if len(self._of) >= self.streams_max:
            del self._of[next(iter(self._of))]
            self.forgotten += 1
        self._of[source, signature] = _Stream(epoch, number)
