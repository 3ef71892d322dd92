"""The named times and bounds of a move of sessions."""

from __future__ import annotations

import msgspec

__all__ = ["SessionOptions"]


class SessionOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    moves_max: int = 32
    """Sessions that are on their way at once; the others are served as ever, until it is their turn."""

    move_s_max: float = 5.0
    """A session of which nothing has moved for so long is taken back, and offered again later."""

    lease_s: float = 15.0
    """A session that was opened and of which nothing more has come for so long is given up where it was to go."""

    again_s_min: float = 0.1
    again_s_max: float = 1.0
    """After a session was taken back, no other is offered for a random time between these."""

    part_bytes: int = 256 * 1024
    """A session's state travels in parts of at most this size."""

    parts_bytes_max: int = 2 * 1024 * 1024
    """Parts under way to the other broker, of all sessions together: events must have room beside them."""

    state_bytes_max: int = 256 * 1024 * 1024
    """A larger state is not taken, and the drain is refused."""

    held_events_max: int = 100_000
    """Events that wait for one session on its way. Beyond it the move is taken back, and nothing is lost."""

    sessions_max: int = 100_000
    """A broker that has so many takes no others in."""
