"""What brokers say to each other.

Owns: the vocabulary. Two levels: a *frame* is what a link sends (greetings, numbered data, acknowledgements); a
*message* is what a frame carries on behalf of the layers above. Must not know: what a message makes a broker do.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TypeAlias

import msgspec

from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.wire._book import Digests, Line, Lines
from reknit.wire._changes import (
    Abort,
    AskHeld,
    Change,
    ChangeMessage,
    Commit,
    Ctrl,
    Done,
    Flush,
    Held,
    Prepare,
    Prepared,
    Rec,
)
from reknit.wire._ending import Farewell, Refuse
from reknit.wire._moving import Age, Draining, Lack, Moving, Offer, Opened, Rest, Taken, Told, Welcome, Withdraw
from reknit.wire._recovery import (
    Asker,
    Bequest,
    Direct,
    Gossip,
    Keeps,
    Manner,
    Misses,
    MissesOf,
    Range,
    Repair,
    Silent,
    Wants,
)
from reknit.wire._repair import Apart, Around, RepairMessage
from reknit.wire._returning import Inquire, Mark, Returning
from reknit.wire.placement import PlacementMessage
from reknit.wire.planes import PlanesMessage
from reknit.wire.ring import Down, Ringed, Up

__all__ = [
    "LASTING",
    "RETURNING",
    "Abort",
    "Ack",
    "Age",
    "Apart",
    "Around",
    "Ask",
    "AskHeld",
    "Asker",
    "Bequest",
    "Change",
    "ChangeMessage",
    "Close",
    "Commit",
    "Ctrl",
    "Data",
    "Digests",
    "Direct",
    "Done",
    "Down",
    "Draining",
    "Entry",
    "Events",
    "Farewell",
    "Flush",
    "Frame",
    "Gossip",
    "Held",
    "Hello",
    "Inquire",
    "Keeps",
    "Known",
    "Lack",
    "Leave",
    "Line",
    "Lines",
    "Lock",
    "LockAck",
    "LockNack",
    "Loose",
    "Manner",
    "Mark",
    "Message",
    "Misses",
    "MissesOf",
    "Mode",
    "Moving",
    "Offer",
    "Open",
    "Opened",
    "PlacementMessage",
    "PlanesMessage",
    "Prepare",
    "Prepared",
    "Range",
    "Rec",
    "Refuse",
    "Release",
    "Repair",
    "RepairMessage",
    "Resent",
    "Rest",
    "Returning",
    "Ringed",
    "Seated",
    "Seek",
    "Side",
    "Silent",
    "Snapshot",
    "Sought",
    "Steered",
    "Sub",
    "Swap",
    "SwapId",
    "Taken",
    "Told",
    "Unlock",
    "Unsub",
    "Up",
    "Wants",
    "Wave",
    "Welcome",
    "Withdraw",
]

Wave: TypeAlias = tuple[str, int]
"""The broker that began a search of its tree, and a number of its own. With the number 0: the id of a change."""

SwapId: TypeAlias = tuple[str, int]
"""The broker whose link is swapped, and a number; a number that no wave has."""

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
    """The sender has given up this link; nothing of its own follows.

    ``holders``: it leaves the network for good, and these, which it has given up, may still hold it for a neighbour.
    ``replaced``: another link comes in place of this one, by a change of which the receiver should know.
    """

    holders: list[str] = []
    replaced: bool = False


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


# --- swapping a link: mover - middle becomes mover - goal (SWAP, Figure 5)


class Mode(IntEnum):
    """How an event goes on among the three brokers of a swap."""

    PLAIN = 0
    """As on a tree."""
    FLOOD = 1
    """The sender gives it to both others itself: it goes on outside only."""
    VIA = 2
    """Relayed by the goal while an older one may still be on the direct way: it waits for the close."""


class Steered(msgspec.Struct, array_like=True, tag=9, frozen=True, gc=False):
    """Events between two brokers of swap number ``swap``; of another one, they are events like others.

    ``stamp``: what the sender knows to have been sent among the three.
    """

    swap: int
    mode: Mode
    stamp: list[int]
    events: list[Event]


class Lock(msgspec.Struct, array_like=True, tag=10, frozen=True, gc=False):
    """Take part in this swap, and in nothing else until it is over. ``address``: where the goal finds the mover."""

    id: SwapId
    middle: str
    goal: str
    address: str
    of: str = ""
    """The larger change that it is a step of, for the memory of all three."""


class LockAck(msgspec.Struct, array_like=True, tag=11, frozen=True, gc=False):
    """The new link is there; behind this, nothing for the mover comes by way of the middle: close(cba)."""

    id: SwapId
    torn: bool


class LockNack(msgspec.Struct, array_like=True, tag=12, frozen=True, gc=False):
    """No swap: why, for people to read. ``retry``: only for now."""

    id: SwapId
    reason: str
    retry: bool


class Unlock(msgspec.Struct, array_like=True, tag=13, frozen=True, gc=False):
    """The mover waits no longer; nothing has changed."""

    id: SwapId


class Side(msgspec.Struct, array_like=True, tag=14, frozen=True, gc=False):
    """What is wanted behind the mover, or behind the middle alone: a part of the tables that travel with the swap."""

    id: SwapId
    mover: bool
    entries: list[Entry]


class Swap(msgspec.Struct, array_like=True, tag=15, frozen=True, gc=False):
    """The sender gives all to both others by now; behind this, nothing for the goal comes by the middle: close(abc)."""

    id: SwapId
    torn: bool


class Open(msgspec.Struct, array_like=True, tag=16, frozen=True, gc=False):
    """The sender's way to the third leads through the receiver from now on: open(acb)."""

    id: SwapId
    torn: bool


class Close(msgspec.Struct, array_like=True, tag=17, frozen=True, gc=False):
    """Nothing more comes on the old link from the mover (close(ab)), or from the middle (close(ba)).

    The middle's word to the goal says at once that its own way to the mover leads through the goal now: open(bca).
    """

    id: SwapId
    from_mover: bool
    torn: bool


class Seated(msgspec.Struct, array_like=True, tag=18, frozen=True, gc=False):
    """After a crash among the three: the goal knows now what is whose, and tells the middle all behind this."""

    id: SwapId


class Ask(msgspec.Struct, array_like=True, tag=19, frozen=True, gc=False):
    """A middle or a goal that has waited for long: are you still in this swap? Whoever is not says how it has ended."""

    id: SwapId
    goal: bool
    """The goal asks."""


class Resent(msgspec.Struct, array_like=True, tag=40, frozen=True, gc=False):
    """To a broker without memory: what was kept for it has been sent again, and stands before this."""


Message: TypeAlias = (
    Events
    | Sub
    | Unsub
    | Known
    | Snapshot
    | Leave
    | Seek
    | Sought
    | Release
    | Steered
    | Lock
    | LockAck
    | LockNack
    | Unlock
    | Side
    | Swap
    | Open
    | Close
    | Seated
    | Ask
    | Resent
    | Returning
    | ChangeMessage
    | Moving
    | Lines
    | Digests
    | RepairMessage
    | Gossip
    | Ringed
    | Up
    | Down
    | PlanesMessage
    | PlacementMessage
)

LASTING = (
    Events,
    Steered,
    Lock,
    LockAck,
    LockNack,
    Unlock,
    Side,
    Swap,
    Open,
    Close,
    Seated,
    Ask,
    Inquire,
    Mark,
    Silent,
)
"""What must not be forgotten when the far end has lost its memory: it is sent again, in its place."""

RETURNING = (Up, Down)
"""What comes back to those above instead: its way may be another one by now."""


# --- frames


class Hello(msgspec.Struct, array_like=True, tag=0, frozen=True, gc=False):
    """The first frame of each end on each connection.

    ``dialect``: how it routes; both ends must do the same. ``address``: where it can be dialled. ``linked``: the sender
    holds the receiver for its neighbour already. ``session``: the numbering that it would resume, 0 for none.
    ``received``: the last frame of that session that has reached it. ``wave``: set by a broker that asks to be joined
    and has locked its own tree. ``alone``: that tree is this broker, and nobody else can hold it for a neighbour.
    ``loose``: it sends events on this link in datagrams, once; both ends must do the same.
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
    alone: bool = False
    loose: bool = False


class Data(msgspec.Struct, array_like=True, tag=1, frozen=True, gc=False):
    """Numbered messages, with the acknowledgements of the other direction."""

    session: int
    seq: int
    received: int
    settled: int
    messages: list[Message]


class Ack(msgspec.Struct, array_like=True, tag=2, frozen=True, gc=False):
    """``received``: handled here. ``settled``: every copy that this has caused is in the hands of the next hops.

    Both stand for all frames up to a number; ``beyond`` are single frames that are settled before older ones.
    """

    session: int
    received: int
    settled: int
    beyond: list[int] = []


class Loose(msgspec.Struct, array_like=True, tag=5, frozen=True, gc=False):
    """Messages without a number: sent once, acknowledged by nobody, and lost if the datagram is."""

    session: int
    messages: list[Message]


Frame: TypeAlias = Hello | Data | Ack | Refuse | Farewell | Loose
