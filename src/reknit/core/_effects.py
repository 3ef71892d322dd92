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
    "Admit",
    "Close",
    "Deliver",
    "DeliverShared",
    "Dial",
    "Discard",
    "Drop",
    "DropAside",
    "DropHad",
    "DropLine",
    "DropMove",
    "Effect",
    "Ended",
    "Export",
    "Import",
    "Keep",
    "KeepAside",
    "KeepChange",
    "KeepHad",
    "KeepLine",
    "KeepMove",
    "Kept",
    "Match",
    "Missed",
    "Observe",
    "Redirect",
    "Refer",
    "Remember",
    "Reply",
    "Reserve",
    "Retain",
    "Send",
    "SendDirect",
    "Survey",
    "Thaw",
]

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


class DeliverShared(msgspec.Struct, frozen=True, gc=False):
    """Hand ``event`` to ``client``: of all members of the group that share the pattern, it is its turn."""

    event: Event
    client: str
    group: str
    pattern: Pattern


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


class KeepChange(msgspec.Struct, frozen=True, gc=False):
    """What is told of a change that is over, its times by the clock of this life; None: it is remembered no more."""

    id: str
    record: Mapping[str, Any] | None


class KeepAside(msgspec.Struct, frozen=True, gc=False):
    """An event for a session that is on its way, and so in no queue; those of one client in the order of numbers.

    ``group``: the one that it is for, if the client is to have it as a member.
    """

    client: str
    number: int
    event: Event
    patterns: tuple[Pattern, ...]
    group: str = ""


class DropAside(msgspec.Struct, frozen=True, gc=False):
    """These events, of which ``KeepAside`` has told, are in the client's queue, or elsewhere."""

    client: str
    numbers: tuple[int, ...]


class KeepMove(msgspec.Struct, frozen=True, gc=False):
    """The session was given to ``peer``, or ``came`` from there, and it is not known yet who has it in the end."""

    client: str
    peer: str
    move: int
    came: bool


class DropMove(msgspec.Struct, frozen=True, gc=False):
    """That is known now, or of no use any more."""

    client: str


class KeepHad(msgspec.Struct, frozen=True, gc=False):
    """By source, the last event that a client may have had where its session was, as far as none came by here."""

    client: str
    had: Mapping[str, int]


class DropHad(msgspec.Struct, frozen=True, gc=False):
    """As much has come by here, or the session is gone."""

    client: str


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
    """A session of this client is on its way here: until it is (``Import``), the client has to wait.

    Behind an ``Import``: it is not sure yet that the session stays here, and the client has to wait on (``Admit``).
    """

    client: str


class Admit(msgspec.Struct, frozen=True, gc=False):
    """A client that had to wait for its session may come now; or there is none any more to wait for."""

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


class Survey(msgspec.Struct, frozen=True, gc=False):
    """The manager of a ring has seen for a while who wants and publishes what: is there a better way to place all?

    Whoever finds one gives a ``Reshape`` for the same ``base``.
    """

    base: int
    spots: tuple[tuple[int, str, str], ...]
    wants: tuple[tuple[str, ...], ...]
    """In the order of ``spots``."""
    events: tuple[tuple[str, float], ...]
    """By topic: how many are expected until the next look."""
    delay_weight: float


Kept: TypeAlias = (
    Keep | Drop | KeepLine | DropLine | KeepChange | KeepAside | DropAside | KeepMove | DropMove | KeepHad | DropHad
)
Effect: TypeAlias = (
    Remember
    | Survey
    | Send
    | SendDirect
    | Close
    | Dial
    | Deliver
    | DeliverShared
    | Missed
    | Observe
    | Reply
    | Retain
    | Kept
    | Export
    | Thaw
    | Redirect
    | Reserve
    | Admit
    | Import
    | Discard
    | Refer
    | Ended
)
