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
