"""Custody: the duty to see an input through until the next hops have taken it over.

A broker that receives a frame does not say *settled* at once: it says so when every frame that this one has caused is
settled further on. So, without any disk, a broker may die and nothing that passed through it is lost: whoever sent
it still has it, sends it again to the next life of the broker, and ids weed out what had gone through.

Owns: the count. Must not know: what the input was, or who waits for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reknit.core.links.link import Link
    from reknit.model.event import Event

__all__ = ["Custody"]


class Custody:
    """Of frame ``seq`` of ``link``, or of ``events`` published here; ``pending`` copies are not yet settled."""

    __slots__ = ("events", "link", "pending", "seq", "session")

    def __init__(self, link: Link | None, session: int, events: list[Event], seq: int = 0) -> None:
        self.link = link
        self.session = session
        self.seq = seq
        self.events = events
        self.pending = 1  # the turn that handles the input holds it too
