"""The door of the core: what goes in, what comes out.

A shell feeds inputs to ``Broker.handle(input, now)`` and performs the effects that come back, in their order. Inputs
and effects are values; nothing here does anything. A connection is a number that the shell chose: the core never
sees a socket, and the shell never sees what a frame means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import msgspec

from reknit.model.event import Event, EventId
from reknit.model.pattern import Pattern
from reknit.trace.passage import Seen, expand
from reknit.trace.records import Record
from reknit.wire.messages import Change, Line

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
    "Direct",
    "Discard",
    "Drain",
    "Drop",
    "DropLine",
    "Due",
    "Effect",
    "Ended",
    "Export",
    "Exported",
    "Import",
    "Input",
    "Keep",
    "KeepLine",
    "LinkAppeared",
    "LinkVanished",
    "Lost",
    "Match",
    "Missed",
    "Observe",
    "Operation",
    "Publish",
    "Recall",
    "Received",
    "Redirect",
    "Refer",
    "Remember",
    "RemoveLink",
    "Replace",
    "Reply",
    "Reserve",
    "Retain",
    "Send",
    "SendDirect",
    "StopDrain",
    "Subscribe",
    "Substitute",
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
    """A client's session begins here."""

    client: str


class Detach(msgspec.Struct, frozen=True, gc=False):
    """A client's session has ended; its subscriptions go with it."""

    client: str


class Subscribe(msgspec.Struct, frozen=True, gc=False):
    client: str
    patterns: tuple[Pattern, ...]


class Unsubscribe(msgspec.Struct, frozen=True, gc=False):
    client: str
    patterns: tuple[Pattern, ...]


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


Command: TypeAlias = Attach | Detach | Subscribe | Unsubscribe | Publish
Operation: TypeAlias = (
    AddLink | RemoveLink | SwapLink | Replace | LinkVanished | LinkAppeared | Substitute | Drain | StopDrain
)
Network: TypeAlias = Accepted | Dialled | DialFailed | Received | Direct | Lost | Due
Input: TypeAlias = Network | Command | Operation | Exported | Recall

# --- effects

Match: TypeAlias = tuple[str, tuple[Pattern, ...]]
"""A client, and its patterns that the event matches."""


class Send(msgspec.Struct, frozen=True, gc=False):
    conn: int
    frame: bytes


class SendDirect(msgspec.Struct, frozen=True, gc=False):
    """One datagram to a broker that need be no neighbour; it may be lost. Answered by nothing."""

    peer: str
    address: str
    datagram: bytes


class Close(msgspec.Struct, frozen=True, gc=False):
    """Close ``conn`` after what was sent before has left. No ``Lost`` is expected for it."""

    conn: int
    reason: str


class Dial(msgspec.Struct, frozen=True, gc=False):
    """Open a connection to ``peer`` at ``address``; answer with ``Dialled`` or ``DialFailed``."""

    peer: str
    address: str


class Deliver(msgspec.Struct, frozen=True, gc=False):
    """Hand ``event`` to each client of ``matches``, one copy each."""

    event: Event
    matches: tuple[Match, ...]


class Missed(msgspec.Struct, frozen=True, gc=False):
    """To these clients events of ``source`` for ``pattern`` are "missing"; or "recovered", or "given up"."""

    clients: tuple[str, ...]
    pattern: Pattern
    source: str
    first: int
    last: int
    state: str


class Observe(msgspec.Struct, frozen=True, gc=False):
    """What this input has made the broker see, for the trace."""

    seen: list[Seen]

    @property
    def records(self) -> list[Record]:
        """The same, one by one."""
        return expand(self.seen)


class Reply(msgspec.Struct, frozen=True, gc=False):
    """The outcome of an operator's command; ``error`` is empty when it was done. ``change``: its id in the history."""

    request: int
    error: str = ""
    change: str = ""


class Remember(msgspec.Struct, frozen=True, gc=False):
    """Keep this, and give it to the next life of this broker: names, with addresses where they are known.

    ``neighbours`` are its links, which the other ends hold too; ``wanted`` it was to be linked with, and is not yet;
    ``notes`` are its own, on a change of the tree that is under way.
    """

    neighbours: dict[str, str]
    wanted: dict[str, str]
    notes: str = ""
    leaves: bool = False
    """It was drained, and is to leave its neighbours, if it still has one, and end."""


class Retain(msgspec.Struct, frozen=True, gc=False):
    """Keep this event for those who subscribe to its topic later; if its payload is empty, forget what was kept."""

    event: Event


# --- effects: what the next life has to know, if somebody keeps it


class Keep(msgspec.Struct, frozen=True, gc=False):
    """These events were taken from clients, and no neighbour has taken them over yet.

    ``routed``: the clients of this broker that want them have them, so that only neighbours still need them.
    """

    events: Sequence[Event]
    routed: bool


class Drop(msgspec.Struct, frozen=True, gc=False):
    """These events, of which ``Keep`` has told, are with all who want them, or with their brokers."""

    events: Sequence[EventId]


class KeepLine(msgspec.Struct, frozen=True, gc=False):
    """A line of the book is another now."""

    line: Line


class DropLine(msgspec.Struct, frozen=True, gc=False):
    """A line of the book is not needed any more."""

    kind: str
    name: str


# --- effects: sessions that move


class Export(msgspec.Struct, frozen=True, gc=False):
    """Nothing more is delivered to this client here. Answer with ``Exported``; after that, take nothing from it."""

    client: str


class Thaw(msgspec.Struct, frozen=True, gc=False):
    """It stays after all: serve it as before. An ``Exported`` that is still to come is not wanted any more."""

    client: str


class Redirect(msgspec.Struct, frozen=True, gc=False):
    """Its session is with ``broker`` now: send it there, to ``door``, and forget it. No ``Detach`` is expected."""

    client: str
    broker: str
    door: str


class Reserve(msgspec.Struct, frozen=True, gc=False):
    """A session of this client is on its way here: until it is (``Import``), the client has to wait."""

    client: str


class Import(msgspec.Struct, frozen=True, gc=False):
    """The session is here, with the state that another shell has exported. What is delivered comes behind it."""

    client: str
    state: bytes


class Discard(msgspec.Struct, frozen=True, gc=False):
    """A session that was reserved or imported is void. No ``Detach`` is expected."""

    client: str


class Refer(msgspec.Struct, frozen=True, gc=False):
    """Take no client that has no session here: send it to ``broker``, at ``door``. To nobody: take all again."""

    broker: str
    door: str


class Ended(msgspec.Struct, frozen=True, gc=False):
    """This broker has left the network for good, and has no clients. Nothing is lost if it ends now."""


Kept: TypeAlias = Keep | Drop | KeepLine | DropLine
Moved: TypeAlias = Export | Thaw | Redirect | Reserve | Import | Discard | Refer | Ended
_Network: TypeAlias = Remember | Send | SendDirect | Close | Dial
Effect: TypeAlias = _Network | Deliver | Missed | Observe | Reply | Retain | Kept | Moved
