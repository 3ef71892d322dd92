"""The links of a broker on a ring: one to each broker that there is something to say to, made when it is first said.

Either end may make one; whoever is called by a broker that it does not know takes it in. A link to which there has been
no connection for a while is removed, and nobody remembers it: who has something to say makes another one. When that
happens, and when the far end has begun a life that knows nothing, what was on its way there comes back.

Owns: when a link is made and removed. Must not know: what is said, or who belongs to a ring.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from reknit.core.links.custody import Arrival
from reknit.core.links.links import Adopted, Answered, LinkEvent, Links, Renewed, Stranger, TurnedAway
from reknit.core.links.returning import Returned, ReturningLink
from reknit.core.turn import Turn, earliest
from reknit.trace.records import BEGINS_ANEW, Kind
from reknit.wire.messages import Message, Refuse

__all__ = ["Gone", "Met", "PeerEvent", "Peers"]


@dataclass(frozen=True, slots=True)
class Met:
    """There is a new link, or a new session on one: the far end may know nothing of us."""

    peer: str


@dataclass(frozen=True, slots=True)
class Gone:
    """Nobody answers there any more; or it is another life that does. ``returned``: what was on its way there."""

    peer: str
    why: str
    returned: list[Returned]


PeerEvent: TypeAlias = Arrival | Met | Gone


class Peers:
    def __init__(self, turn: Turn, links: Links, lost_s: float) -> None:
        self.turn, self.links, self.lost_s = turn, links, lost_s
        links.make = ReturningLink

    def link(self, name: str, address: str = "") -> ReturningLink | None:
        """The link to this broker; a new one if there is none, and room for it. None if there is not."""
        link = self.links.of.get(name)
        if link is None:
            if not address or len(self.links.of) >= self.links.options.neighbours_max:
                return None
            link = self.links.add(name, address, quiet=True)
            link.dial_at = self.turn.now  # the far end knows nothing of it, so that there is nobody to wait for
        assert isinstance(link, ReturningLink)
        return link

    def say(self, name: str, address: str, message: Message) -> None:
        """What is not said for want of room for a link is said again by whoever says it."""
        if (link := self.link(name, address)) is not None:
            link.send(message)

    def flush(self) -> None:
        """What comes now is in other frames than what has gone before."""
        self.links.flush()

    def on_link_event(self, event: LinkEvent) -> Iterator[PeerEvent]:
        match event:
            case Arrival():
                yield event
            case Renewed(peer=peer):
                yield from self._forgotten(peer)
                yield Met(peer)
            case Adopted(peer=peer):
                self.turn.tell(Kind.LINK_ADDED, peer=peer)
                yield Met(peer)
            case Stranger(conn=conn):
                reason = f"{self.turn.node} is on a ring, and joins no tree"
                self.links.refuse(conn, Refuse(reason, retry=False, stranger=False))
            case TurnedAway(peer=peer, refusal=refusal):
                if peer in self.links.of and not refusal.retry:
                    self.turn.tell(Kind.REFUSED, peer=peer, detail=refusal.reason)
                    yield self._remove(peer, refusal.reason)
            case Answered():
                pass  # nobody is asked to be joined

    def _forgotten(self, peer: str) -> Iterator[PeerEvent]:
        """A new session: whatever was said before may not be known there. Before the first one nothing was."""
        link = self.link(peer)
        if link is not None and link.again:
            yield Gone(peer, "it has forgotten what was said", link.returned())

    def drop(self, peer: str) -> Gone:
        """End the link, so that the far end sees that this one begins anew."""
        return self._remove(peer, BEGINS_ANEW)

    def _remove(self, peer: str, why: str) -> Gone:
        link = self.link(peer)
        assert link is not None
        self.turn.tell(Kind.LINK_LOST, peer=peer, detail=why)
        self.links.remove(peer, why)
        self.links.former.meets(peer)  # it may come again, and is taken in
        self.turn.tell(Kind.LINK_REMOVED, peer=peer, detail=why)
        return Gone(peer, why, link.returned())

    # --- times

    def deadline(self) -> float | None:
        away = [link.away_since for link in self.links.of.values()]
        return earliest(*(since + self.lost_s for since in away if since is not None))

    def due(self) -> Iterator[PeerEvent]:
        for peer, link in list(self.links.of.items()):
            if link.away_since is not None and self.turn.now >= link.away_since + self.lost_s:
                yield self._remove(peer, f"out of reach for {self.lost_s:g} s")

    @property
    def at_rest(self) -> bool:
        """No event is on its way from here."""
        return not any(isinstance(link, ReturningLink) and link.carries_events for link in self.links.of.values())
