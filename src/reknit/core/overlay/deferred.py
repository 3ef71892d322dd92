"""The optimised strawman of ICDCS 2003: the removal spreads only when the insertion has (errata, section 1).

What the lost neighbour wanted stays in the table for a while; nothing is sent to it. Meanwhile the new link is told
everything, so routes that the old and the new way share survive. Then the removal is made up for: *timed*, after
``defer_s``; *notified*, when a flush, sent behind the subscriptions over the new link, has flooded its way to the end
of the old one, or after that time. A broker that the loss has isolated defers nothing: stale routes would only cross
the new link.

Owns: what is deferred here. Must not know: the path; it works without.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from reknit.core.overlay.events import OverlayEvent
from reknit.core.overlay.strategy import Hands
from reknit.core.overlay.strawman import Strawman
from reknit.wire.messages import Change, ChangeMessage, Flush

__all__ = ["Deferred"]


@dataclass(frozen=True, slots=True)
class _Removal:
    id: str
    at: float


class Deferred(Strawman):
    keeps = True

    def __init__(self, hands: Hands) -> None:
        super().__init__(hands)
        self._removals: dict[str, _Removal] = {}  # by the neighbour that was lost

    def lost(self, id_: str, peer: str) -> None:
        if any(name != peer for name in self.hands.neighbours()):
            self._removals[peer] = _Removal(id_, self.hands.turn.now + self.hands.options.defer_s)
        else:
            self.hands.tables.drop(peer, together=False)

    def connected(self, change: Change, peer: str) -> Iterable[OverlayEvent]:
        for event in super().connected(change, peer):
            yield event
            if self.hands.options.notified:  # behind the subscriptions, which have been sent by now
                self.hands.send(peer, Flush(change))

    def receive(self, peer: str, message: ChangeMessage) -> Iterable[OverlayEvent]:
        if isinstance(message, Flush):
            self._flush(peer, message)
        else:
            yield from super().receive(peer, message)

    def _flush(self, peer: str, flush: Flush) -> None:
        """It floods one side of the tree, up to the end of the old link."""
        if (lost := next((name for name, each in self._removals.items() if each.id == flush.change.id), "")) != "":
            self._remove(lost)
            return
        for neighbour in self.hands.neighbours():
            if neighbour != peer:
                self.hands.send(neighbour, flush)

    def _remove(self, peer: str) -> None:
        del self._removals[peer]
        self.hands.tables.drop(peer, together=False)

    def met(self, peer: str) -> None:
        """It is back, and says itself what it wants."""
        self._removals.pop(peer, None)

    def deadline(self) -> float | None:
        return min(each.at for each in self._removals.values()) if self._removals else None

    def due(self) -> None:
        for peer, each in list(self._removals.items()):
            if self.hands.turn.now >= each.at:
                self._remove(peer)
