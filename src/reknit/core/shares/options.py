"""The named times and bounds of shared subscriptions."""

from __future__ import annotations

import msgspec

__all__ = ["ShareOptions"]


class ShareOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    linger_s: float = 10.0
    """How long a broker without a member any more goes on to want what the group shares: brokers that have not heard
    of it yet send events here, which it sends on. A drain takes so much longer."""

    orphan_s: float = 5.0
    """How long an event waits for a member where none is known: a broker that was restarted has yet to read where they
    are. Until then it is not settled."""

    orphans_max: int = 10_000
    """Events that may wait for that; beyond it they are dropped, which is seen and counted."""
