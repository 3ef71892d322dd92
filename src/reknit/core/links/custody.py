"""Custody: the duty to see an input through until the next hops have taken it over.

A broker that receives a frame does not say *settled* at once: it says so when every frame that this one has caused is
settled further on. So, without any disk, a broker may die and nothing that passed through it is lost: whoever sent
it still has it, sends it again to the next life of the broker, and ids weed out what had gone through.

Owns: the count, and who hears when it is down to nothing. Must not know: what the input was, or who waits for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from reknit.core.io import Drop

if TYPE_CHECKING:
    from reknit.core.links.link import Link
    from reknit.core.turn import Turn
    from reknit.model.event import Event
    from reknit.wire.messages import Message

__all__ = ["Arrival", "Custody", "settle"]


class Custody:
    """Of frame ``seq`` of ``link``, or of ``events`` published here; ``pending`` copies are not yet settled."""

    __slots__ = ("events", "kept", "link", "pending", "seq", "session")

    def __init__(self, link: Link | None, session: int, events: list[Event], seq: int = 0) -> None:
        self.link = link
        self.session = session
        self.seq = seq
        self.events = events
        self.kept: bool | None = None  # the shell keeps its events: False before they are routed, then True
        self.pending = 1  # the turn that handles the input holds it too

    def keeps(self, event: Event) -> bool:
        """Has the shell kept this event, so that it outlives us?"""
        return self.kept is not None and any(each.id == event.id for each in self.events)


@dataclass(frozen=True, slots=True)
class Arrival:
    """The messages of one frame, in their order, and the custody that they put on us."""

    peer: str
    messages: list[Message]
    custody: Custody


def settle(custody: Custody, turn: Turn) -> None:
    """All copies are with the next hops: pass the word on to whoever waits for it."""
    if custody.link is not None:
        custody.link.advance_settled(custody)
        return
    if custody.kept is not None:
        turn.effects.append(Drop([event.id for event in custody.events if event.qos]))
    if turn.observing:
        turn.settled(custody.events)
