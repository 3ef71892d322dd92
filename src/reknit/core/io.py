"""The door of the core: what goes in, what comes out.

A shell feeds inputs to ``Broker.handle(input, now)`` and performs the effects that come back, in their order. Inputs
and effects are values; nothing here does anything. A connection is a number that the shell chose: the core never
sees a socket, and the shell never sees what a frame means.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from reknit.core._effects import (
    Admit,
    Close,
    Deliver,
    DeliverShared,
    Dial,
    Discard,
    Drop,
    DropAside,
    DropHad,
    DropLine,
    DropMove,
    Effect,
    Ended,
    Export,
    Import,
    Keep,
    KeepAside,
    KeepChange,
    KeepHad,
    KeepLine,
    KeepMove,
    Kept,
    Match,
    Missed,
    Observe,
    Redirect,
    Refer,
    Remember,
    Reply,
    Reserve,
    Retain,
    Send,
    SendDirect,
    Survey,
    Thaw,
)
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.wire.messages import Change, Line
from reknit.wire.planes import Place

__all__ = [
    "Accepted",
    "AddLink",
    "Admit",
    "Attach",
    "Close",
    "Command",
    "Deliver",
    "DeliverShared",
    "Detach",
    "Dial",
    "DialFailed",
    "Dialled",
    "Direct",
    "Discard",
    "Drain",
    "Drop",
    "DropAside",
    "DropHad",
    "DropLine",
    "DropMove",
    "Due",
    "Effect",
    "Ended",
    "Export",
    "Exported",
    "Import",
    "Input",
    "Join",
    "Keep",
    "KeepAside",
    "KeepChange",
    "KeepHad",
    "KeepLine",
    "KeepMove",
    "Kept",
    "LinkAppeared",
    "LinkVanished",
    "Lost",
    "Match",
    "Missed",
    "Observe",
    "Operation",
    "Part",
    "Presence",
    "Publish",
    "Recall",
    "Received",
    "Redirect",
    "Refer",
    "Relocate",
    "Remember",
    "RemoveLink",
    "Replace",
    "Reply",
    "Reserve",
    "Reshape",
    "Retain",
    "Send",
    "SendDirect",
    "Stay",
    "StopDrain",
    "Subscribe",
    "Substitute",
    "Survey",
    "SwapLink",
    "Thaw",
    "Unsubscribe",
]

# --- inputs: the network


class Accepted(msgspec.Struct, frozen=True, gc=False):
    """Another broker has opened connection ``conn`` to us; who it is, its first frame says.

    ``names``: as whom it may say that it comes, by its certificate; None where it needs none.
    """

    conn: int
    names: tuple[str, ...] | None = None


class Dialled(msgspec.Struct, frozen=True, gc=False):
    """The ``Dial`` to ``peer`` has succeeded, as connection ``conn``."""

    peer: str
    conn: int


class DialFailed(msgspec.Struct, frozen=True, gc=False):
    peer: str
    reason: str


class Received(msgspec.Struct, frozen=True, gc=False):
    """One whole frame, or one datagram."""

    conn: int
    frame: bytes


class Direct(msgspec.Struct, frozen=True, gc=False):
    """A datagram that has come past all connections, from whomever; see ``SendDirect``."""

    datagram: bytes


class Lost(msgspec.Struct, frozen=True, gc=False):
    """Connection ``conn`` is gone; what was under way on it may or may not have arrived."""

    conn: int
    reason: str


class Due(msgspec.Struct, frozen=True, gc=False):
    """The alarm that ``deadline()`` asked for. An early or stale one does nothing."""


# --- inputs: clients


class Attach(msgspec.Struct, frozen=True, gc=False):
    """A client's session begins here. ``follows``: it can be told to go to another broker."""

    client: str
    follows: bool = True


class Detach(msgspec.Struct, frozen=True, gc=False):
    """A client's session has ended; its subscriptions go with it."""

    client: str


class Subscribe(msgspec.Struct, frozen=True, gc=False):
    """``order_s``: how long events of these patterns may wait for earlier ones of their source; 0: not at all."""

    client: str
    patterns: tuple[Pattern, ...]
    order_s: float = 0.0


class Unsubscribe(msgspec.Struct, frozen=True, gc=False):
    client: str
    patterns: tuple[Pattern, ...]


class Join(msgspec.Struct, frozen=True, gc=False):
    """The client shares these patterns with others of the group that stands before each."""

    client: str
    shares: tuple[tuple[str, Pattern], ...]


class Part(msgspec.Struct, frozen=True, gc=False):
    client: str
    shares: tuple[tuple[str, Pattern], ...]


class Presence(msgspec.Struct, frozen=True, gc=False):
    """Whether a client that shares something is connected, and takes what it is given without delay."""

    client: str
    present: bool
    room: bool


class Stay(msgspec.Struct, frozen=True, gc=False):
    """A client whose session is on its way has said goodbye: nobody will come for it there as if he had been sent."""

    client: str


class Publish(msgspec.Struct, frozen=True, gc=False):
    """All events of one client that one read has brought, in their order and not yet stamped."""

    client: str
    events: Sequence[Event]


# --- inputs: operators


class AddLink(msgspec.Struct, frozen=True, gc=False):
    """Join this broker's tree with that of ``peer``. A ``Reply`` with the same ``request`` says how it went."""

    peer: str
    address: str
    request: int


class RemoveLink(msgspec.Struct, frozen=True, gc=False):
    """Split the tree at the link to ``peer``. A ``Reply`` with the same ``request`` says how it went."""

    peer: str
    request: int


class Drain(msgspec.Struct, frozen=True, gc=False):
    """Move all sessions to the only neighbour, and leave the network. A ``Reply`` says how it went; see ``Ended``.

    ``of``: the larger change that it is a step of, for whoever looks back.
    """

    request: int
    of: str = ""


class StopDrain(msgspec.Struct, frozen=True, gc=False):
    """Stay after all, with the sessions that have not moved. A ``Reply`` says whether that is possible."""

    request: int


class Exported(msgspec.Struct, frozen=True, gc=False):
    """The answer to ``Export``: all that the client's session is, apart from what the core knows of it."""

    client: str
    state: bytes


class SwapLink(msgspec.Struct, frozen=True, gc=False):
    """Turn the link to ``middle`` into one to ``goal``, a neighbour of ``middle``, while events flow.

    A ``Reply`` with the same ``request`` says how it went. ``of``: the larger change that it is a step of, if any.
    """

    middle: str
    goal: str
    request: int
    of: str = ""


class Replace(msgspec.Struct, frozen=True, gc=False):
    """Replace the link between the first broker of ``head``, this one, and the last of ``tail``.

    ``head`` leads to the near end of the new link and ``tail`` from its far end, which is found at ``address``; both
    with their ends. A ``Reply`` with the same ``request`` says how it went. ``of``: see ``SwapLink``.
    """

    strategy: str
    head: tuple[str, ...]
    tail: tuple[str, ...]
    address: str
    request: int
    of: str = ""


class Reshape(msgspec.Struct, frozen=True, gc=False):
    """Give brokers on a ring other places; this one is the manager. ``base``: the version that the plan is for.

    A ``Reply`` with the same ``request`` says how it went, and the new version.
    """

    base: int
    places: tuple[Place, ...]
    request: int


class Relocate(msgspec.Struct, frozen=True, gc=False):
    """Let the session of this client move to another broker of the ring."""

    client: str
    spot: tuple[int, str, str]
    """Of that broker."""
    request: int | None = None


# --- inputs: links that come and go by themselves; whoever gives these sees to a tree without swaps on their way


class LinkVanished(msgspec.Struct, frozen=True, gc=False):
    """The link to ``peer`` is gone, with all that was in flight; another is to come in its place. For both ends."""

    peer: str
    strategy: str
    change: str


class LinkAppeared(msgspec.Struct, frozen=True, gc=False):
    """There is a new link to ``peer``, which is to be dialled if there is an address. For both ends."""

    peer: str
    address: str
    change: Change


class Substitute(msgspec.Struct, frozen=True, gc=False):
    """The link that has vanished is replaced by one that has appeared. For the first broker of the path."""

    change: Change


# --- inputs: the life before


class Recall(msgspec.Struct, frozen=True, gc=False):
    """What a life before has left with the shell; the first input of all, if there is any."""

    clients: Mapping[str, Sequence[Pattern]]
    """Those whose sessions are here again, and what they want."""
    seen: Mapping[str, int]
    """By source, the last event that came by; whoever of them wanted it has it."""
    lines: Sequence[Line]
    """Of the book; see ``KeepLine``."""
    kept: Sequence[tuple[Event, bool]]
    """In the order of their numbers; see ``Keep``."""
    changes: Sequence[Mapping[str, Any]] = ()
    """Of the history; see ``KeepChange``."""
    shares: Mapping[str, Sequence[tuple[str, Pattern]]] = {}
    """By client, the groups that it is a member of, and what each shares."""
    asides: Sequence[KeepAside] = ()
    """In the order of their numbers."""
    moves: Sequence[KeepMove] = ()
    had: Mapping[str, Mapping[str, int]] = {}
    """By client; see ``KeepHad``."""
    written: float = math.inf
    """When the life before wrote something down last, by the clock of this one: what it wanted, it wanted by then."""
    sure: Mapping[str, Sequence[Pattern]] = {}
    """By client, what of that is delivered at QoS 1 or 2: what it was given of it at such a QoS was written down."""


Command: TypeAlias = Attach | Detach | Subscribe | Unsubscribe | Join | Part | Presence | Stay | Publish
Operation: TypeAlias = (
    AddLink
    | RemoveLink
    | SwapLink
    | Replace
    | LinkVanished
    | LinkAppeared
    | Substitute
    | Drain
    | StopDrain
    | Reshape
    | Relocate
)
Network: TypeAlias = Accepted | Dialled | DialFailed | Received | Direct | Lost | Due
Input: TypeAlias = Network | Command | Operation | Exported | Recall
