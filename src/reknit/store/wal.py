"""The journal beside an SQLite file, read before SQLite reads it.

SQLite takes a journal (``-wal``) up to the first frame whose checksum is wrong, and says nothing of what follows. After
a crash that is right: what stands there was never synced. But if a bit has flipped in the middle, then what stands
behind it was synced, and acknowledged, and would be lost in silence. The two can be told apart: every commit is synced
before the next one begins, so at most *one* commit can be torn. Where two or more commits stand at or behind the first
bad frame, the journal is damaged.

The format: a head of 32 bytes (magic, version, page size, number, two salts, two checksums), then frames of a head of
24 bytes (page, size of the file after a commit or 0, the same salts, two checksums) and a page. The checksums run on
from one frame to the next.

Owns: that format. Must not know: what is in a page.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Journal", "read_journal"]

_HEAD_BYTES = 32
_FRAME_HEAD_BYTES = 24
_MAGIC = {0x377F0682: "<", 0x377F0683: ">"}
_PAGE_BYTES_MAX = 65_536
_MASK = 0xFFFF_FFFF


@dataclass(frozen=True, slots=True)
class Journal:
    """What stands in a journal: ``frames`` that are sound, and behind them ``commits`` that are not."""

    frames: int = 0
    commits: int = 0
    torn_bytes: int = 0
    """Behind the sound frames, of the same journal."""

    @property
    def damaged(self) -> bool:
        return self.commits > 1


def read_journal(path: Path) -> Journal:
    """``OSError`` if it cannot be read; an empty one if there is none."""
    if not path.exists():
        return Journal()
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
        if len(head) < _HEAD_BYTES:
            return Journal(torn_bytes=len(head))
        magic, _, page_bytes = struct.unpack(">3I", head[:12])
        order = _MAGIC.get(magic, "<")
        page_bytes = page_bytes if 512 <= page_bytes <= _PAGE_BYTES_MAX else 4096
        sums = _sums(head[:24], order, (0, 0))
        headed = sound = magic in _MAGIC and sums == struct.unpack(">2I", head[24:])
        frames, commits, torn = 0, 0, 0
        salts = head[16:24]
        while frame := file.read(_FRAME_HEAD_BYTES + page_bytes):
            if sound:
                sums = _sums(frame[:8] + frame[_FRAME_HEAD_BYTES:], order, sums) if len(frame) % 8 == 0 else (0, 0)
                whole = len(frame) == _FRAME_HEAD_BYTES + page_bytes
                sound = whole and frame[8:16] == salts and sums == struct.unpack(">2I", frame[16:24])
            elif not headed and not torn:
                salts = frame[8:16]  # the head cannot be trusted: its frames must at least agree with each other
            if sound:
                frames += 1
            elif frame[8:16] == salts:
                torn += len(frame)
                commits += frame[4:8] != b"\0\0\0\0"
        return Journal(frames, commits, torn)


def _sums(data: bytes, order: str, sums: tuple[int, int]) -> tuple[int, int]:
    """Two running sums over pairs of words, as SQLite has them."""
    one, two = sums
    words = iter(struct.unpack(f"{order}{len(data) // 4}I", data))
    for word in words:
        one = (one + word + two) & _MASK
        two = (two + next(words) + one) & _MASK
    return one, two
