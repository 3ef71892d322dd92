"""The strawman: the old link is removed, the new one is added, each with plain (un)subscriptions (PATH, section 4.1).

What the lost neighbour wanted is void at once; the new one is told everything. Most routes are torn down and built up
again, in both halves of the tree, though hardly any of them had to change.

Must not know: routes. Removing and adding a link is what the broker does anyway.
"""

from __future__ import annotations

from collections.abc import Iterable

from reknit.core.overlay.change import Place
from reknit.core.overlay.events import Linked, OverlayEvent
from reknit.core.overlay.strategy import Strategy
from reknit.wire.messages import Change, ChangeMessage, Commit

__all__ = ["Strawman"]


class Strawman(Strategy):
    def lost(self, id_: str, peer: str) -> None:
        """The broker has forgotten it already."""

    def begin(self, place: Place) -> Iterable[OverlayEvent]:
        """The new link may be used: that is for its ends to hear."""
        yield from self._commit(place)

    def receive(self, peer: str, message: ChangeMessage) -> Iterable[OverlayEvent]:
        if isinstance(message, Commit) and (place := self.hands.place(message.change)) is not None:
            yield from self._commit(place)

    def _commit(self, place: Place) -> Iterable[OverlayEvent]:
        if place.is_near:
            self.hands.send(place.behind, Commit(place.change))
            yield from self.connected(place.change, place.behind)
        elif place.is_far:
            yield from self.connected(place.change, place.before)
            self.hands.finished(place.change)
        elif place.in_head:
            self.hands.send(place.behind, Commit(place.change))

    def connected(self, change: Change, peer: str) -> Iterable[OverlayEvent]:
        if self.hands.activate(peer):
            yield Linked(peer, again=False)
