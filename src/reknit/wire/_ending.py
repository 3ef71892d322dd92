"""What ends a connection between brokers, or keeps it from being one.

Owns: these words; ``messages`` lends them out. Must not know: what a broker makes of them.
"""

from __future__ import annotations

import msgspec

__all__ = ["Farewell", "Refuse"]


class Refuse(msgspec.Struct, array_like=True, tag=3, frozen=True, gc=False):
    """No link: why, for an operator to read. ``retry``: only for now. ``stranger``: we are no neighbours.

    ``left``: brokers that have left for good, and that the receiver may hold for its neighbours.
    """

    reason: str
    retry: bool
    stranger: bool
    left: list[str] = []


class Farewell(msgspec.Struct, array_like=True, tag=4, frozen=True, gc=False):
    """The sender closes this connection, not the link."""

    reason: str
