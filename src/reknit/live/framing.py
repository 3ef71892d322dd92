"""Frames on a byte stream: a length of four bytes, then the frame.

Owns: cutting a stream into frames, and the bound on what a stranger can make us hold. Must not know: sockets, or what
a frame means. Nothing is held beyond the bound: the length is checked before the frame's bytes are waited for.

The bound can be raised while the frames of one read are being taken, so that a neighbour's first frame, once it is
accepted, can be followed at once by a long one.
"""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["LENGTH_BYTES", "FrameSplitter", "FrameTooLong", "frame_head"]

LENGTH_BYTES = 4


class FrameTooLong(ValueError):
    """The other end's fault: it announced a frame beyond the bound."""


def frame_head(frame: bytes) -> bytes:
    return len(frame).to_bytes(LENGTH_BYTES, "big")


class FrameSplitter:
    """Cuts a stream; ``frame_bytes_max`` may be changed at any time and counts for the next frame."""

    __slots__ = ("_held", "_need", "frame_bytes_max")

    def __init__(self, frame_bytes_max: int) -> None:
        self.frame_bytes_max = frame_bytes_max
        self._held = bytearray()
        self._need = LENGTH_BYTES

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Each frame that ``data`` completes, in order. The iterator must be exhausted before the next ``feed``."""
        if self._held:
            self._held += data
            if len(self._held) < self._need:
                return
            data = bytes(self._held)
            self._held.clear()
        at, end = 0, len(data)
        self._need = LENGTH_BYTES
        while end - at >= LENGTH_BYTES:
            after = at + LENGTH_BYTES + self._length(data, at)
            if after > end:
                self._need = after - at
                break
            frame = data[at + LENGTH_BYTES : after]
            at = after
            yield frame
        self._held += data[at:]

    def _length(self, data: bytes, at: int) -> int:
        length = int.from_bytes(data[at : at + LENGTH_BYTES], "big")
        if length > self.frame_bytes_max:
            raise FrameTooLong(f"a frame of {length} bytes, where {self.frame_bytes_max} are allowed")
        return length
