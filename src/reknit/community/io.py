"""The door of a peer: what goes in, what comes out.

A shell feeds inputs to ``Peer.handle(input, now)`` and performs the effects that come back, in their order. A peer is
known by its address, a text that the shell can send to; the peer never sees a socket.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from reknit.model.event import Event
from reknit.trace.records import Record
from reknit.wire.peers import Contact

__all__ = ["Deliver", "Due", "Effect", "Input", "Join", "Leave", "Meet", "Observe", "Publish", "Received", "Send"]

# --- inputs


class Received(msgspec.Struct, frozen=True, gc=False):
    """One datagram, whole, and the address that it came from."""

    sender: str
    frame: bytes


class Due(msgspec.Struct, frozen=True, gc=False):
    """The alarm that ``deadline()`` asked for. An early or stale one does nothing."""


class Meet(msgspec.Struct, frozen=True, gc=False):
    """Addresses of any peers, whatever their topics: who to ask when nobody else is known."""

    contacts: tuple[str, ...]


class Join(msgspec.Struct, frozen=True, gc=False):
    """Become a member of the community of ``topic``: all that is published there and below.

    ``selector``: what of it is delivered. ``contacts``: members of this very community, where some are known.
    ``supers``: members of communities above it. ``deliver``: False for one that only publishes.
    """

    topic: str
    selector: str = ""
    contacts: tuple[str, ...] = ()
    supers: tuple[Contact, ...] = ()
    deliver: bool = True


class Leave(msgspec.Struct, frozen=True, gc=False):
    topic: str


class Publish(msgspec.Struct, frozen=True, gc=False):
    """Publish in the community of the event's topic; a peer that is no member becomes one that only publishes."""

    event: Event


Input: TypeAlias = Received | Due | Meet | Join | Leave | Publish

# --- effects


class Send(msgspec.Struct, frozen=True, gc=False):
    to: str
    frame: bytes


class Deliver(msgspec.Struct, frozen=True, gc=False):
    """An event for whoever has joined ``topic`` here. ``hops`` that it took from its publisher."""

    topic: str
    event: Event
    hops: int


class Observe(msgspec.Struct, frozen=True, gc=False):
    record: Record


Effect: TypeAlias = Send | Deliver | Observe
