"""The named times and bounds of changes of the overlay."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec

__all__ = ["ChangeOptions", "OverlayOptions", "RepairOptions"]


Seconds: TypeAlias = Annotated[float, msgspec.Meta(gt=0)]


class OverlayOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    lease_s: Seconds = 10.0
    """A broker that a join, or a change that has changed nothing yet, has locked is free again after so long. A swap is
    carried through later on: then whoever waits for another asks it every so often."""

    join_s_max: Seconds = 20.0
    """An operator's join, or replacement, that has found no free moment by then is given up."""

    backoff_s_min: Seconds = 0.05
    backoff_s_max: Seconds = 1.0
    """One that collided waits for a random time between these, before it tries again."""

    refused_s: Seconds = 30.0
    """A configured link that was refused, because of a cycle, say, is tried again after so long."""

    leave_s_max: Seconds = 10.0
    """A neighbour that has not answered a leave by then is left on this side only."""

    drained_s_max: Seconds = 60.0
    """A broker that is drained, and has handed all over, waits so long for a neighbour out of reach to hear of it."""

    close_s_max: Seconds = 120.0
    """A link that a swap has replaced, and that has not been emptied by then, is given up on this side."""

    absent_s_max: Seconds = 30.0
    """One of the three brokers of a swap that has been away for so long is not waited for any longer by the others."""

    causal: bool = True
    """Whether events keep their causal order during a swap too, for a stamp of nine small numbers on each message."""

    cause_s_max: Seconds = 60.0
    """An event that waits for something during a swap waits for its causes no longer than this."""


class ChangeOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a link is replaced."""

    defer_s: float = 3.0
    """deferred: what a lost neighbour wanted is given up after so long. Longer than it takes to have another link, and
    for subscriptions to spread over it."""

    notified: bool = False
    """deferred: or earlier, as soon as a flush says that they have spread."""

    rec_s_max: float = 20.0
    """path: the end of a lost link that has not heard of its replacement by then removes it plainly."""

    ctrl_s_max: float = 5.0
    """path: unsubscriptions of a neighbour that has not acknowledged by then are heeded again."""

    flush_s_max: float = 10.0
    """path: the new link's far end waits for the tail no longer than that; nor, path-batched, for an answer of the near
    end."""


class RepairOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a tree that has lost a link or a broker is made whole again."""

    lost_s: float = 0.0
    """A neighbour that has been out of reach for so long is given up as lost, and the tree is repaired without it. 0:
    never. The same for all brokers of a network; longer than a restart takes."""

    around_max: int = 64
    """Neighbours of a neighbour that are known, to turn to when it is lost."""

    tries_max: int = 6
    """Attempts to replace a lost link by way of these, before the tree is searched instead."""

    standby: dict[str, str] = {}
    """Brokers to be linked with when the tree is torn, and where they are. Set from the file's standby links."""
