"""Messages by which brokers keep one book; see ``messages``."""

from __future__ import annotations

import msgspec

__all__ = ["Digests", "Line", "Lines"]


class Line(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """``value``: empty if the thing is gone. ``time_ms``, ``source``: the stamp; the larger one counts."""

    kind: str
    name: str
    value: bytes
    time_ms: int
    source: str


class Lines(msgspec.Struct, array_like=True, tag=50, frozen=True, gc=False):
    lines: list[Line]


class Digests(msgspec.Struct, array_like=True, tag=51, frozen=True, gc=False):
    """What the sender's book says, in short, for each bucket; none at all for an empty book."""

    digests: list[int]
