"""New links that a change brings: they are there, but do not belong to the tree before the change says so.

Either the network has brought one (``appear``), or an end dials the other for a change that it prepares (``ask``). Over
such a link brokers can talk about the change; no event crosses it, and nobody holds the other for a neighbour. One that
has not become a link of the tree in time is given up.

Owns: links that wait. Must not know: what the change does with them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from reknit.core.links.links import Answered, Links, Stranger
from reknit.core.overlay.overlay import Overlay
from reknit.core.turn import Turn
from reknit.wire.messages import Change, Refuse

__all__ = ["NewLink", "NewLinks"]


@dataclass(slots=True)
class NewLink:
    peer: str
    id: str
    until: float
    change: Change | None = None
    """Set where the network brought the link: it is to be used at once, or plainly when nobody has come for it."""
    up: bool = False
    """It carries messages."""


class NewLinks:
    def __init__(self, turn: Turn, links: Links, overlay: Overlay, lease_s: float) -> None:
        self.turn = turn
        self.links = links
        self.overlay = overlay
        self.lease_s = lease_s
        self._of: dict[str, NewLink] = {}  # by the other end
        self._asked: dict[str, tuple[str, str]] = {}  # by the other end: its address, and the change
        self.activated: dict[str, None] = {}  # in this turn

    def awaits(self, peer: str) -> bool:
        return peer in self._of

    def serves(self, peer: str, id_: str) -> bool:
        """The new link to ``peer``, if there is one, is now for this change: an earlier one has come to nothing."""
        new = self._of.get(peer)
        if new is not None:
            new.id, new.until = id_, self.turn.now + self.lease_s
        return new is not None

    def appear(self, peer: str, address: str, change: Change, wait_s_max: float) -> None:
        if peer not in self.links.of:
            self.links.add(peer, address, tentative=True)
            self._of[peer] = NewLink(peer, change.id, self.turn.now + wait_s_max, change)

    def ask(self, peer: str, address: str, id_: str) -> None:
        self._asked[peer] = (address, id_)
        self.overlay.asked[peer] = None
        self.links.ask(peer, address, (id_, 0))

    def stop_asking(self, peer: str) -> None:
        if self._asked.pop(peer, None) is not None:
            del self.overlay.asked[peer]
            self.links.stop_asking(peer)

    # --- what the links report

    def on_stranger(self, stranger: Stranger) -> None:
        """Somebody dials us for a change; what it is, it will say over the link."""
        assert stranger.hello.wave is not None
        if busy := self.overlay.search.busy:
            self.links.refuse(stranger.conn, Refuse(busy, retry=True, stranger=False))
            return
        name = stranger.hello.name
        self.links.add(name, "", tentative=True)
        self._of[name] = NewLink(name, stranger.hello.wave[0], self.turn.now + self.lease_s, up=True)
        self.links.accept(stranger.conn, stranger.hello)

    def on_answered(self, answered: Answered) -> str:
        """The id of the change for which the link is there now; empty if the two have become neighbours meanwhile."""
        address, id_ = self._asked[answered.peer]
        if answered.peer in self.links.of:
            self.stop_asking(answered.peer)
            return ""
        del self._asked[answered.peer], self.overlay.asked[answered.peer]
        self.links.add(answered.peer, address, tentative=True)
        self._of[answered.peer] = NewLink(answered.peer, id_, self.turn.now + self.lease_s, up=True)
        self.links.complete(answered, address)
        return id_

    def came_up(self, peer: str) -> NewLink | None:
        new = self._of.get(peer)
        if new is not None:
            new.up = True
        return new

    # --- its end

    def activate(self, peer: str) -> bool:
        """It belongs to the tree from now on. False if there is none, or none that carries messages yet."""
        new = self._of.get(peer)
        if new is None or not new.up:
            return False
        del self._of[peer]
        self.activated[peer] = None
        self.links.activate(peer)
        return True

    def drop(self, peer: str, reason: str) -> bool:
        if self._of.pop(peer, None) is None:
            return False
        self.links.remove(peer, reason)
        return True

    def deadline(self) -> float | None:
        return min(each.until for each in self._of.values()) if self._of else None

    def overdue(self) -> Iterator[NewLink]:
        for each in list(self._of.values()):
            if self.turn.now >= each.until:
                yield each

    @property
    def at_rest(self) -> bool:
        return not self._of and not self._asked
