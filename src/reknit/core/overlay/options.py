"""The named times and bounds of changes of the overlay."""

from __future__ import annotations

import msgspec

__all__ = ["OverlayOptions"]


class OverlayOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    lease_s: float = 10.0
    """A broker that a join has locked is free again after so long, whatever has become of the join."""

    join_s_max: float = 20.0
    """An operator's join that has found no free moment by then is given up."""

    backoff_s_min: float = 0.05
    backoff_s_max: float = 1.0
    """A join that collided waits for a random time between these, before it tries again."""

    refused_s: float = 30.0
    """A configured link that was refused, because of a cycle, say, is tried again after so long."""

    leave_s_max: float = 10.0
    """A neighbour that has not answered a leave by then is left on this side only."""

    close_s_max: float = 120.0
    """A link that a swap has replaced, and that has not been emptied by then, is given up on this side."""

    causal: bool = True
    """Whether events keep their causal order during a swap too, for a stamp of nine small numbers on each message."""

    cause_s_max: float = 60.0
    """An event that waits for something during a swap waits for its causes no longer than this."""
