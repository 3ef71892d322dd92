"""The keys that a broker owns, and from which of them on it knows who wants their topics.

A broker owns the keys behind the one before it, up to its own id. When that one goes, more keys are its own, of whose
topics it knows nothing yet; when somebody comes between, fewer are. What is known grows when a former owner hands
over what it had (``handed``), or when those who want something have had the time to say so anew. What it knows and does
not own is another one's to know (``spare``).

Owns: the border between keys that are known and keys that are claimed only. Must not know: topics, or other owners.
"""

from __future__ import annotations

from reknit.model.ring import BITS, distance, within

__all__ = ["Domain"]


class Domain:
    def __init__(self, me: int, handover_s: float, bits: int = BITS) -> None:
        self.me, self.handover_s, self.bits = me, handover_s, bits
        self.known: int | None = None  # the key behind which all is known; None for no key, ``me`` for all of them
        self._claimed: int | None = None  # the same of what is owned; None: that is not known
        self._until: float | None = None
        self._handed: dict[int, int] = {}  # by the last key of a stretch that was handed over: behind which it begins
        self._spare: int | None = None  # the key behind which all is known, up to those that are owned

    def found(self) -> None:
        """This broker is the first one: nobody knows more."""
        self.known = self._claimed = self.me

    def seat(self, after: int) -> None:
        """All is known of the keys behind ``after``: whoever had this place before has told it."""
        self.known = self._claimed = after
        self._until = None

    def forget(self) -> None:
        """Others may have been the owners meanwhile."""
        self.known = self._claimed = self._until = self._spare = None
        self._handed.clear()

    def claim(self, after: int | None, now: float) -> None:
        """Its keys are those behind ``after``, from now on; None: that is not known any more."""
        if after == self._claimed:
            return
        self._claimed = after
        if after is None:
            return
        if self.known is not None and self._reach(after) <= self._reach(self.known):
            self._keep(after)
        else:
            self._until = now + self.handover_s
            self._take_up()

    def handed(self, after: int, upto: int) -> None:
        """A former owner has told all that it knew of the keys behind ``after``, up to ``upto``."""
        self._handed[upto] = after
        self._take_up()

    def due(self, now: float) -> bool:
        """Whether events that waited may go on."""
        if self._until is None or now < self._until:
            return False
        self.known, self._until = self._claimed, None
        self._handed.clear()
        return True

    def spare(self) -> int | None:
        """The key behind which, up to those that are owned, all is known that is not its own any more. Told once."""
        spare, self._spare = self._spare, None
        return spare

    @property
    def deadline(self) -> float | None:
        return self._until

    def knows(self, key: int) -> bool:
        return self.known is not None and within(key, self.known, self.me, self.bits)

    def _take_up(self) -> None:
        """Put stretches that were handed over to what is known, as far as they join it."""
        if self._until is None or self._claimed is None:
            return
        while (after := self._handed.pop(self.me if self.known is None else self.known, None)) is not None:
            if self.known is not None and self._reach(after) <= self._reach(self.known):
                continue
            self.known = after
        if self.known is not None and self._reach(self.known) >= self._reach(self._claimed):
            self._keep(self._claimed)
            self._handed.clear()

    def _keep(self, after: int) -> None:
        """Of what is known, only what is owned."""
        assert self.known is not None
        if self._reach(self.known) > self._reach(after):
            self._spare = self.known
        self.known, self._until = after, None

    def _reach(self, after: int) -> int:
        """How many keys are behind it, up to ``me``; all of them if it is ``me`` itself."""
        return distance(after, self.me, self.bits) or 1 << self.bits
