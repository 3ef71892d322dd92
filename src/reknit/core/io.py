"""The door of the core: what goes in, what comes out.

A shell feeds inputs to ``Broker.handle(input, now)`` and performs the effects that come back, in their order. Inputs
and effects are values; nothing here does anything. A connection is a number that the shell chose: the core never
sees a socket, and the shell never sees what a frame means.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.trace.records import Record

__all__ = [
    "Accepted",
    "AddLink",
    "Attach",
    "Close",
    "Command",
    "Deliver",
    "Detach",
    "Dial",
    "DialFailed",
    "Dialled",
    "Due",
    "Effect",
    "Input",
    "Lost",
    "Match",
    "Observe",
    "Publish",
    "Received",
    "RemoveLink",
    "Reply",
    "Send",
    "Subscribe",
    "Unsubscribe",
]

# --- inputs: the network


@dataclass(frozen=True, slots=True)
class Accepted:
    """Another broker has opened connection ``conn`` to us; who it is, its first frame says."""

    conn: int


@dataclass(frozen=True, slots=True)
class Dialled:
    """The ``Dial`` to ``peer`` has succeeded, as connection ``conn``."""

    peer: str
    conn: int


@dataclass(frozen=True, slots=True)
class DialFailed:
    peer: str
    reason: str


@dataclass(frozen=True, slots=True)
class Received:
    """One whole frame, or one datagram."""

    conn: int
    frame: bytes


@dataclass(frozen=True, slots=True)
class Lost:
    """Connection ``conn`` is gone; what was under way on it may or may not have arrived."""

    conn: int
    reason: str


@dataclass(frozen=True, slots=True)
class Due:
    """The alarm that ``deadline()`` asked for. An early or stale one does nothing."""


# --- inputs: clients


@dataclass(frozen=True, slots=True)
class Attach:
    """A client's session begins here."""

    client: str


@dataclass(frozen=True, slots=True)
class Detach:
    """A client's session has ended; its subscriptions go with it."""

    client: str


@dataclass(frozen=True, slots=True)
class Subscribe:
    client: str
    patterns: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Unsubscribe:
    client: str
    patterns: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Publish:
    """All events of one client that one read has brought, in their order and not yet stamped."""

    client: str
    events: Sequence[Event]


# --- inputs: operators


@dataclass(frozen=True, slots=True)
class AddLink:
    """Join this broker's tree with that of ``peer``. A ``Reply`` with the same ``request`` says how it went."""

    peer: str
    address: str
    request: int


@dataclass(frozen=True, slots=True)
class RemoveLink:
    """Split the tree at the link to ``peer``. A ``Reply`` with the same ``request`` says how it went."""

    peer: str
    request: int


Command: TypeAlias = Attach | Detach | Subscribe | Unsubscribe | Publish
Input: TypeAlias = Accepted | Dialled | DialFailed | Received | Lost | Due | Command | AddLink | RemoveLink

# --- effects

Match: TypeAlias = tuple[str, tuple[Pattern, ...]]
"""A client, and its patterns that the event matches."""


@dataclass(frozen=True, slots=True)
class Send:
    conn: int
    frame: bytes


@dataclass(frozen=True, slots=True)
class Close:
    """Close ``conn`` after what was sent before has left. No ``Lost`` is expected for it."""

    conn: int
    reason: str


@dataclass(frozen=True, slots=True)
class Dial:
    """Open a connection to ``peer`` at ``address``; answer with ``Dialled`` or ``DialFailed``."""

    peer: str
    address: str


@dataclass(frozen=True, slots=True)
class Deliver:
    """Hand ``event`` to each client of ``matches``, one copy each."""

    event: Event
    matches: tuple[Match, ...]


@dataclass(frozen=True, slots=True)
class Observe:
    """What this input has made the broker see, for the trace."""

    records: list[Record]


@dataclass(frozen=True, slots=True)
class Reply:
    """The outcome of an operator's command; ``error`` is empty when it was done."""

    request: int
    error: str = ""


Effect: TypeAlias = Send | Close | Dial | Deliver | Observe | Reply
