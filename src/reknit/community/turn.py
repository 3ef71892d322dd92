"""One turn of a peer: what its parts share while one input is handled.

Owns: the time of the turn, the effects, the counters, numbers that are used once. Must not know: which part does what.
"""

from __future__ import annotations

import random

from reknit.community.hierarchy import filter_of
from reknit.community.io import Effect, Observe, Send
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.trace.records import Kind, Record
from reknit.wire.peers import Word, encode_word

__all__ = ["Turn"]

LIVES = 2**31
"""After so many lives numbers come again: by then nobody remembers them, and each fits into 64 bits."""


class Turn:
    """The parts of one peer hold the same turn; the peer sets its time and takes its effects."""

    __slots__ = ("_number", "counters", "effects", "me", "now", "observing", "rng")

    def __init__(self, me: str, rng: random.Random, observing: bool, life: int = 0) -> None:
        """``life``: numbers of one life of a peer must not be those of another, as who has seen one ignores it."""
        self.me = me
        self.rng = rng
        self.observing = observing
        self.now = 0.0
        self.effects: list[Effect] = []
        self.counters: dict[str, int] = {}
        self._number = life % LIVES << 32

    def send(self, to: str, word: Word) -> None:
        self.effects.append(Send(to, encode_word(word)))

    def count(self, what: str) -> None:
        self.counters[what] = self.counters.get(what, 0) + 1

    def number(self) -> int:
        self._number += 1
        return self._number

    def jitter(self, span_s: float) -> float:
        """About ``span_s``, so that what many do at once they do not do at one moment."""
        return span_s * self.rng.uniform(0.9, 1.1)

    def saw(self, kind: Kind, event: Event, peer: str = "", detail: str = "") -> None:
        if self.observing:
            self.effects.append(Observe(Record(self.now, self.me, kind, peer=peer, event=event, detail=detail)))

    def saw_table(self, kind: Kind, community: str, peer: str = "", detail: str = "") -> None:
        """A community joined or left, or a member of one that has come into a table or gone from it."""
        if self.observing:
            pattern = Pattern(filter_of(community))
            self.effects.append(Observe(Record(self.now, self.me, kind, peer=peer, pattern=pattern, detail=detail)))
