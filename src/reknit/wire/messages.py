"""What brokers say to each other.

Owns: the vocabulary. Two levels: a *frame* is what a link sends (greetings, numbered data, acknowledgements); a
*message* is what a frame carries on behalf of the layers above. Must not know: what a message makes a broker do.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from reknit.model.event import Event
from reknit.model.pattern import Pattern

__all__ = [
    "Ack",
    "Data",
    "Entry",
    "Events",
    "Farewell",
    "Frame",
    "Hello",
    "Known",
    "Leave",
    "Message",
    "Refuse",
    "Release",
    "Seek",
    "Snapshot",
    "Sought",
    "Sub",
    "Unsub",
    "Wave",
]

Wave: TypeAlias = tuple[str, int]
"""The broker that began a search of its tree, and a number of its own."""

Entry: TypeAlias = tuple[str, list[Pattern]]
"""Patterns under the name of the broker whose clients want them; the name is empty where routing hides it."""


# --- messages


class Events(msgspec.Struct, array_like=True, tag=0, frozen=True, gc=False):
    events: list[Event]


class Sub(msgspec.Struct, array_like=True, tag=1, frozen=True, gc=False):
    """The sender wants events of these patterns from now on."""

    patterns: list[Pattern]


class Unsub(msgspec.Struct, array_like=True, tag=2, frozen=True, gc=False):
    patterns: list[Pattern]


class Known(msgspec.Struct, array_like=True, tag=3, frozen=True, gc=False):
    """Complete knowledge: what the clients of one broker, somewhere behind the sender, have come or ceased to want."""

    origin: str
    added: list[Pattern]
    removed: list[Pattern]


class Snapshot(msgspec.Struct, array_like=True, tag=4, frozen=True, gc=False):
    """All that the sender wants, in parts; with the last part, what the receiver holds beyond it is void."""

    entries: list[Entry]
    last: bool


class Leave(msgspec.Struct, array_like=True, tag=5, frozen=True, gc=False):
    """The sender has given up this link; nothing of its own follows."""


class Seek(msgspec.Struct, array_like=True, tag=6, frozen=True, gc=False):
    """A wave through the sender's tree: is ``target`` in it? Each broker that it passes is locked for joins."""

    wave: Wave
    target: str
    path: list[str]


class Sought(msgspec.Struct, array_like=True, tag=7, frozen=True, gc=False):
    """The echo of a wave: the path to the target if it was found; ``busy`` if some broker was locked already."""

    wave: Wave
    path: list[str]
    busy: str


class Release(msgspec.Struct, array_like=True, tag=8, frozen=True, gc=False):
    wave: Wave


Message: TypeAlias = Events | Sub | Unsub | Known | Snapshot | Leave | Seek | Sought | Release


# --- frames


class Hello(msgspec.Struct, array_like=True, tag=0, frozen=True, gc=False):
    """The first frame of each end on each connection.

    ``dialect``: how it routes; both ends must do the same. ``address``: where it can be dialled. ``linked``: the sender
    holds the receiver for its neighbour already. ``session``: the numbering that it would resume, 0 for none.
    ``received``: the last frame of that session that has reached it. ``wave``: set by a broker that asks to be joined
    and has locked its own tree.
    """

    version: int
    dialect: str
    name: str
    address: str
    incarnation: int
    session: int
    received: int
    linked: bool
    wave: Wave | None


class Data(msgspec.Struct, array_like=True, tag=1, frozen=True, gc=False):
    """Numbered messages, with the acknowledgements of the other direction."""

    session: int
    seq: int
    received: int
    settled: int
    messages: list[Message]


class Ack(msgspec.Struct, array_like=True, tag=2, frozen=True, gc=False):
    """``received``: handled here. ``settled``: every copy that this has caused is in the hands of the next hops."""

    session: int
    received: int
    settled: int


class Refuse(msgspec.Struct, array_like=True, tag=3, frozen=True, gc=False):
    """No link: why, for an operator to read. ``retry``: only for now. ``stranger``: we are no neighbours."""

    reason: str
    retry: bool
    stranger: bool


class Farewell(msgspec.Struct, array_like=True, tag=4, frozen=True, gc=False):
    """The sender closes this connection, not the link."""

    reason: str


Frame: TypeAlias = Hello | Data | Ack | Refuse | Farewell
