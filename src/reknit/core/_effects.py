"""What comes out of the core: the effects of ``io``, which is the name to import them from.

Owns: their shapes. Must not know: who performs them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from reknit.model.event import Event, EventId
from reknit.model.pattern import Pattern
from reknit.trace.passage import Seen, expand
from reknit.trace.records import Record
from reknit.wire.messages import Line

__all__ = [
    "Close",
    "Deliver",
    "DeliverShared",
    "Dial",
    "Discard",
    "Drop",
    "DropLine",
    "Effect",
    "Ended",
    "Export",
    "Import",
    "Keep",
    "KeepChange",
    "KeepLine",
    "Match",
    "Observe",
    "Redirect",
    "Refer",
    "Remember",
    "Reply",
    "Reserve",
    "Retain",
    "Send",
    "Thaw",
]

Match: TypeAlias = tuple[str, tuple[Pattern, ...]]
"""A client, and its patterns that the event matches."""


class Send(msgspec.Struct, frozen=True, gc=False):
    conn: int
    frame: bytes


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


class DeliverShared(msgspec.Struct, frozen=True, gc=False):
    """Hand ``event`` to ``client``: of all members of the group that share the pattern, it is its turn."""

    event: Event
    client: str
    group: str
    pattern: Pattern


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


class KeepChange(msgspec.Struct, frozen=True, gc=False):
    """What is told of a change that is over, its times by the clock of this life; None: it is remembered no more."""

    id: str
    record: Mapping[str, Any] | None


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
    taken_over: bool = False
    """It is any session, and its client has begun anew elsewhere."""


class Refer(msgspec.Struct, frozen=True, gc=False):
    """Take no client that has no session here: send it to ``broker``, at ``door``. To nobody: take all again."""

    broker: str
    door: str


class Ended(msgspec.Struct, frozen=True, gc=False):
    """This broker has left the network for good, and has no clients. Nothing is lost if it ends now."""


Effect: TypeAlias = (
    Remember
    | Send
    | Close
    | Dial
    | Deliver
    | DeliverShared
    | Observe
    | Reply
    | Retain
    | Keep
    | Drop
    | KeepLine
    | DropLine
    | KeepChange
    | Export
    | Thaw
    | Redirect
    | Reserve
    | Import
    | Discard
    | Refer
    | Ended
)
