"""The named times and bounds of homes."""

from __future__ import annotations

import msgspec

__all__ = ["HomeOptions"]


class HomeOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    unique: bool = False
    """Whether a client has one session in the whole network; set by the broker itself, see ``unique_ids``."""

    homes_max: int = 200_000
    """Clients whose homes are known, those that have just ended included; of others no broker knows but their own."""

    gone_s: float = 60.0
    """How long it is remembered that a client is at home nowhere. An old word that comes later does no harm: whoever is
    said to have the session begins a new one."""
