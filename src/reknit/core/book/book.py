"""The book: lines that every broker of a tree has, and of which the last word counts.

A line has a kind, a name, a value and a stamp. Whoever writes one tells its neighbours, and they theirs; a line that is
not newer than what is known stops there. Stamps are those of a hybrid clock: the time of day, but later than anything
that was seen before, so that an answer is always newer than what it answers; of equal times the larger source counts.
An empty value says that the thing is gone, and is remembered for a while, lest an old copy bring it back.

Two brokers that become neighbours, or of which one has lost its memory, *compare*: each sends a digest for each of a
number of buckets, and then all its lines of those that differ. So does a link that has moved: a line may have been told
past it. What is lost with a broker that dies in the middle is found in the same way, when its neighbours come together
again. It is enough if one of the two begins: who is asked and knows something else asks back.

Owns: the lines, their order and their bounds. Must not know: what a kind or a value means.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

import msgspec

from reknit.core.book.options import BookOptions
from reknit.core.io import DropLine, KeepLine
from reknit.core.turn import Turn
from reknit.wire.messages import Digests, Line, Lines, Message

__all__ = ["BUCKETS", "Book", "Key"]

BUCKETS = 64
PART_BYTES = 64 * 1024
"""Lines travel in messages of about this size."""
LINE_BYTES = 200
"""What a line takes beside its name and value."""

Key: TypeAlias = tuple[str, str]
"""Kind and name."""


class Book:
    def __init__(
        self,
        turn: Turn,
        source: str,
        neighbours: Callable[[], Iterable[str]],
        send: Callable[[str, Message], None],
        options: BookOptions,
        epoch_s: float = 0.0,
        passing: Mapping[str, float] | None = None,
    ) -> None:
        """``source``: the name under which this life writes. ``epoch_s``: makes a time of the core one since 1970.

        ``passing``: kinds that no next life needs, and for how long it is remembered that one of them is gone.
        """
        self.turn = turn
        self.source = source
        self.neighbours = neighbours
        self.send = send
        self.options = options
        self.refused = 0  # lines for which there was no room
        self.epoch_s = epoch_s
        self._passing = passing or {}
        self._lines: dict[Key, Line] = {}
        self._digests = [0] * BUCKETS
        self._bytes = 0
        self._clock_ms = 0
        self._gone: dict[Key, None] = {}
        self._kept: dict[Key, None] = {}  # lines of passing kinds that the next life needs all the same
        self._unasked: dict[str, None] = {}  # neighbours that were to be compared with, when nothing was known here
        self._asked: dict[str, None] = {}  # neighbours that have been sent digests, and have not sent theirs since
        self._next_due = math.inf

    def __len__(self) -> int:
        return len(self._lines) - len(self._gone)

    def get(self, kind: str, name: str) -> bytes:
        """The value; empty where there is none."""
        line = self._lines.get((kind, name))
        return line.value if line is not None else b""

    def all(self, kind: str) -> Iterator[tuple[str, bytes]]:
        """Names and values of what is there of this kind."""
        return ((line.name, line.value) for line in self._lines.values() if line.kind == kind and line.value)

    # --- writing

    def write(self, kind: str, name: str, value: bytes, *, keep: bool = False) -> bool:
        """Whether there was room. ``keep``: the next life needs this one, though of its kind it needs no other."""
        self._clock_ms = max(self._clock_ms + 1, int(self._wall() * 1000))
        line = Line(kind, name, value, self._clock_ms, self.source)
        if not self._take(line):
            return False
        self._keep(line, anyway=keep)
        self._tell([line], "")
        return True

    def propose(self, kind: str, name: str, value: bytes) -> None:
        """Write it as the oldest word of all: it counts where nobody knows another."""
        line = Line(kind, name, value, 1, self.source)
        if (kind, name) not in self._lines and self._take(line):
            self._keep(line)
            self._tell([line], "")

    def _wall(self) -> float:
        return self.turn.now + self.epoch_s

    def _take(self, line: Line) -> bool:
        key, old = (line.kind, line.name), self._lines.get((line.kind, line.name))
        size = _size(line) - (_size(old) if old is not None else 0)
        many = old is None and len(self._lines) >= self.options.lines_max
        if many or (size > 0 and self._bytes + size > self.options.bytes_max):
            self.refused += 1
            return False
        self._lines[key] = line
        self._bytes += size
        self._digests[_bucket(key)] ^= _digest(line) ^ (_digest(old) if old is not None else 0)
        self._gone.pop(key, None)
        if not line.value:
            self._gone[key] = None
            self._next_due = min(self._next_due, self._forget_at(line))
        return True

    def _forget_at(self, line: Line) -> float:
        """The same moment for all brokers, or they would remind each other."""
        return line.time_ms / 1000 + self._passing.get(line.kind, self.options.gone_s) - self.epoch_s

    def _tell(self, lines: list[Line], but: str) -> None:
        for peer in self.neighbours():
            if peer != but:
                self.send(peer, Lines(lines))

    # --- what others say

    def receive(self, peer: str, message: Lines | Digests) -> list[Key]:
        """What has become another."""
        if isinstance(message, Digests):
            self._send_differing(peer, message.digests)
            return []
        news = [line for line in message.lines if self._is_news(line) and self._take(line)]
        for line in news:
            self._keep(line)
        if news:
            self._clock_ms = max(self._clock_ms, *(line.time_ms for line in news))
            self._tell(news, peer)
        return [(line.kind, line.name) for line in news]

    def _keep(self, line: Line, *, anyway: bool = False) -> None:
        key = (line.kind, line.name)
        if self.turn.keeping and (anyway or line.kind not in self._passing):
            self.turn.effects.append(KeepLine(line))
            if line.kind in self._passing:
                self._kept[key] = None
        elif key in self._kept:
            del self._kept[key]
            self.turn.effects.append(DropLine(*key))

    def recall(self, lines: Iterable[Line]) -> list[Key]:
        """Begin with lines that a life before has kept; what is there now. Neighbours hear of it when they come."""
        taken = [line for line in lines if self._take(line)]
        self._kept.update({(line.kind, line.name): None for line in taken if line.kind in self._passing})
        self._clock_ms = max((line.time_ms for line in taken), default=0)
        return [(line.kind, line.name) for line in taken]

    def _is_news(self, line: Line) -> bool:
        old = self._lines.get((line.kind, line.name))
        if old is None:
            return bool(line.value) or self.turn.now < self._forget_at(line)
        return (line.time_ms, line.source) > (old.time_ms, old.source)

    def compare(self, peer: str) -> None:
        """This neighbour may not know all that we know, nor we what it knows. Who knows nothing waits to be asked."""
        self._unasked[peer] = None
        if self._lines:
            self._ask(peer)

    def _ask(self, peer: str) -> None:
        self._unasked.pop(peer, None)
        self._asked[peer] = None
        self.send(peer, Digests(list(self._digests) if self._lines else []))

    def _send_differing(self, peer: str, digests: list[int]) -> None:
        theirs = digests or [0] * BUCKETS
        differs = len(theirs) == BUCKETS and theirs != self._digests
        if digests and (not self._lines or peer in self._unasked or (differs and peer not in self._asked)):
            self._ask(peer)  # it may have been asked by others meanwhile, and know something now
        self._asked.pop(peer, None)
        if not differs or not self._lines:
            return  # mostly so, and then no line is to be looked at: there may be many
        differ = {place for place in range(BUCKETS) if theirs[place] != self._digests[place]}
        part, size = list[Line](), 0
        for key, line in self._lines.items():
            if _bucket(key) in differ:
                part.append(line)
                size += _size(line)
            if size > PART_BYTES:
                self.send(peer, Lines(part))
                part, size = [], 0
        if part:
            self.send(peer, Lines(part))

    # --- times

    def deadline(self) -> float | None:
        return self._next_due if self._gone else None

    def due(self) -> None:
        """Forget what has been gone for long."""
        if not self._gone or self.turn.now < self._next_due:
            return
        self._next_due = math.inf
        for key in list(self._gone):
            at = self._forget_at(self._lines[key])
            if self.turn.now < at:
                self._next_due = min(self._next_due, at)
            else:
                self._forget(key)

    def _forget(self, key: Key) -> None:
        line = self._lines.pop(key)
        self._bytes -= _size(line)
        self._digests[_bucket(key)] ^= _digest(line)
        del self._gone[key]
        if self.turn.keeping and key[0] not in self._passing:
            self.turn.effects.append(DropLine(*key))


def _size(line: Line) -> int:
    return LINE_BYTES + len(line.kind) + 4 * len(line.name) + len(line.value)


def _bucket(key: Key) -> int:
    return _number(f"{key[0]}/{key[1]}".encode()) % BUCKETS


def _digest(line: Line) -> int:
    return _number(msgspec.msgpack.encode((line.kind, line.name, line.time_ms, line.source)))


def _number(data: bytes) -> int:
    """The same in every process, as ``hash`` is not."""
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big")
