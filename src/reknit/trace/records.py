"""What a node saw: one record per observation.

Owns: the vocabulary of the trace. Readers (checkers, console, lab, pipeline) know these records and never a node's
inside. Must not know: who reads, or how records are stored (see ``columns`` and ``store``).
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from reknit.model.event import Event
from reknit.model.pattern import Pattern

__all__ = [
    "BEGINS_ANEW",
    "DRAINED",
    "NOBODY_LEFT",
    "NO_CONNECTION",
    "PLACED_BETTER",
    "SWAP_WITHOUT",
    "Kind",
    "Record",
]

BEGINS_ANEW = "begins anew"
"""The detail of a ``link_lost``: a broker on a ring ends its links, since it has missed a change of places."""
DRAINED = "drain: end at the leaver"
"""The detail of a ``change``: this broker has no session left, and all that it has sent is settled."""
SWAP_WITHOUT = "swap: without"
"""How the detail of a ``change`` begins: a swap goes on without one of its three, and what that one had may be lost."""

PLACED_BETTER = "placement: sent where others want the same"
"""A broker sends a client elsewhere because of what it wants."""

NOBODY_LEFT = "no member of the group is left"
"""The detail of a ``dropped``: the event was for a group that has no member any more."""


NO_CONNECTION = "no connection, and events do not wait for one"
"""The detail of a ``dropped``, on a link on which events may be lost."""


class Kind(StrEnum):
    """What was seen. The fields that each kind fills stand behind it."""

    STARTED = "started"  # a node began a life: detail = the source of its events
    CRASHED = "crashed"  # written by whoever saw it die, never by the node itself
    PAUSED = "paused"  # written by the simulator: the node does nothing for a while
    CUT = "cut"  # peer: written by the simulator: nothing gets from the node to peer for a while
    ATTACHED = "attached"  # client
    DETACHED = "detached"  # client
    MOVING = "moving"  # client, peer: its session, as it is now, is on its way to peer; it may still be taken back
    MOVED_IN = "moved_in"  # client, peer: the session that it had at peer goes on here, and it is a client here
    MOVED_OUT = "moved_out"  # client, peer: it was told that its session is with peer; what it is owed, peer owes it
    SUBSCRIBED = "subscribed"  # client, pattern
    UNSUBSCRIBED = "unsubscribed"  # client, pattern
    JOINED = "joined"  # client, pattern, detail = a group: it shares the pattern with the other members
    PARTED = "parted"  # client, pattern, detail = a group
    ROUTE_ADDED = "route_added"  # peer, pattern: the table now sends events of pattern to peer
    ROUTE_REMOVED = "route_removed"  # peer, pattern
    PUBLISHED = "published"  # client, event: accepted here, and stamped
    FORWARDED = "forwarded"  # peer, event, size = the event's bytes as the link's outbox counts them
    DELIVERED = "delivered"  # client, event
    SHARED = "shared"  # client, event, pattern, detail = a group: delivered to the member whose turn it was
    PASSED_ON = "passed_on"  # peer, event; detail = source and number of the event it was made of, and the group
    TAKEN = "taken"  # client, event: written by the simulator: it has left the session, and the client has it
    DROPPED = "dropped"  # event; peer or client where one is meant; detail = the reason
    ORDERED = "ordered"  # client, pattern; detail = how long its events may wait for earlier ones, in seconds; 0: not
    WAITING = "waiting"  # client, event: it is held for this client, for something before it is missing
    GAP = "gap"  # pattern, size = how many; detail = source, first and last number: events that have not come
    RECOVERED = "recovered"  # event, peer: it has come back, from that broker, and is delivered to those who want it
    GIVEN_UP = "given_up"  # pattern; detail = source and number: an event of a gap that is not asked for any more
    KEPT = "kept"  # event: written by the simulator: it is in the cache of this node when all faults are healed
    SETTLED = "settled"  # event: all next hops have taken over every copy of an event published here
    CALM = "calm"  # written by the shell: nothing is in flight and every table is final
    LINK_ADDED = "link_added"  # peer: the overlay has this link from now on
    LINK_REMOVED = "link_removed"  # peer, detail
    LINK_LOST = "link_lost"  # peer, detail: out of reach for too long, or so it says; whatever it still holds is void
    LINK_MOVED = "link_moved"  # peer, detail = a broker: the link to that broker leads to peer from now on
    LINK_HANDED = "link_handed"  # peer, detail = a broker: the link of peer leads to that broker now, no more here
    LINK_TAKEN = "link_taken"  # peer, detail = a broker: the link that led from peer to that broker leads here now
    CHANGE = "change"  # peer; detail = a step of a change of the tree, and the part that this node has in it
    LINK_UP = "link_up"  # peer: a connection carries the link
    LINK_DOWN = "link_down"  # peer; detail = why
    LINK_STALLED = "link_stalled"  # peer; detail: it took bytes, but made no progress
    PLACED = "placed"  # size, detail: a version of the ring's control plane, which counts here now, and the id there
    REFUSED = "refused"  # peer; detail: a link that was asked for, and why it is none
    UNTRACED = "untraced"  # written by the trace itself: size = how many records are missing here; detail = why


class Record(msgspec.Struct, array_like=True, tag=0, gc=False):
    """One observation. ``time`` is in seconds: of the run in the simulator, since 1970 live."""

    time: float
    node: str
    kind: Kind
    peer: str = ""
    client: str = ""
    event: Event | None = None
    pattern: Pattern | None = None
    size: int = 0
    detail: str = ""
