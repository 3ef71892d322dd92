"""Frames that are too long for one datagram, in pieces.

A frame that loses a piece is lost; whoever sent it sends it again, if it is one that must arrive. So frames should be
short (see ``LinkOptions``); but a part of a session, or a large table, may be longer than a datagram can be.

Owns: how a frame is cut, and what has come of those that are not whole. Must not know: sockets, or what a frame says.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from reknit.wire.codec import FRAME_BYTES_MAX

__all__ = ["PIECE_BYTES", "Pieces", "cut"]

PIECE_BYTES = 32_000
"""No datagram carries more of a frame."""

_HEAD = struct.Struct("!IHH")
_COUNT_MAX = FRAME_BYTES_MAX // PIECE_BYTES + 1

UNFINISHED_MAX = 4
"""Frames of one connection that are not whole; beyond it the oldest is given up."""


def cut(number: int, frame: bytes) -> Iterator[bytes]:
    """``number``: another one for each frame of a connection."""
    count = -(-len(frame) // PIECE_BYTES)
    for index in range(count):
        yield _HEAD.pack(number & 0xFFFFFFFF, index, count) + frame[index * PIECE_BYTES : (index + 1) * PIECE_BYTES]


class Pieces:
    """Those of one connection."""

    def __init__(self) -> None:
        self._of: dict[tuple[int, int], dict[int, bytes]] = {}  # by number and count

    def take(self, piece: bytes) -> bytes | None:
        """The whole frame, if this was the last piece that it lacked."""
        if len(piece) <= _HEAD.size:
            return None
        number, index, count = _HEAD.unpack_from(piece)
        if not index < count <= _COUNT_MAX or len(piece) > _HEAD.size + PIECE_BYTES:
            return None
        some = self._of.setdefault((number, count), {})
        some[index] = piece[_HEAD.size :]
        if len(some) == count:
            del self._of[number, count]
            return b"".join(some[each] for each in range(count))
        if len(self._of) > UNFINISHED_MAX:
            del self._of[next(iter(self._of))]
        return None
