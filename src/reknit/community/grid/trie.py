"""The place of one peer in P-Grid's tree, and whom it knows elsewhere in it.

A peer's *path* is a text of bits: it answers for all keys that begin with it. For each bit of it, the *references* are
peers whose paths agree up to that bit and differ in it, so that for each key somebody is known who is nearer to it.
*Replicas* have the same path. Of another peer no more is known than its path, from itself or from somebody else.

Owns: path, references, replicas. Must not know: how peers meet, or what is kept under a key.
"""

from __future__ import annotations

from hashlib import blake2b
from random import Random

from reknit.community.options import GridOptions
from reknit.wire.peers import BITS_MAX

__all__ = ["Trie", "key_of", "other_bit"]


def key_of(topic: str) -> str:
    number = int.from_bytes(blake2b(topic.encode(), digest_size=BITS_MAX // 8).digest(), "big")
    return f"{number:0{BITS_MAX}b}"


def other_bit(bit: str) -> str:
    return "1" if bit == "0" else "0"


class Trie:
    __slots__ = ("_me", "_options", "_rng", "path", "references", "replicas")

    def __init__(self, me: str, options: GridOptions, rng: Random) -> None:
        self._me = me
        self._options = options
        self._rng = rng
        self.path = ""
        self.references: list[dict[str, str]] = []  # by level: addresses, with their paths
        self.replicas: dict[str, None] = {}

    def common(self, path: str) -> int:
        """Bits that this path and ours begin with together."""
        shorter = min(len(path), len(self.path))
        return next((at for at in range(shorter) if path[at] != self.path[at]), shorter)

    def answers_for(self, key: str) -> bool:
        return key.startswith(self.path)

    def nearer(self, key: str) -> str | None:
        """Somebody who is nearer to this key than we are; None if nobody is known."""
        level = self.references[self.common(key)]
        return self._rng.choice(list(level)) if level else None

    def knows(self, peer: str) -> bool:
        return peer in self.replicas or any(peer in level for level in self.references)

    def known(self) -> list[str]:
        return [*self.replicas, *(peer for level in self.references for peer in level)]

    def note(self, peer: str, path: str, hearsay: bool = False) -> None:
        """File a peer where it belongs. What somebody else says does not count against what it has said itself."""
        if peer == self._me or (hearsay and self.knows(peer)):
            return
        self.drop(peer)
        level = self.common(path)
        if path == self.path:
            self._add(self.replicas, peer, None, self._options.replicas_max, hearsay)
        elif level < min(len(path), len(self.path)):
            self._add(self.references[level], peer, path, self._options.references_max, hearsay)

    def _add(
        self, table: dict[str, str] | dict[str, None], peer: str, path: str | None, most: int, hearsay: bool
    ) -> None:
        if len(table) >= most:
            if hearsay:
                return
            del table[self._rng.choice(list(table))]
        table[peer] = path  # type: ignore[assignment]

    def drop(self, peer: str) -> None:
        self.replicas.pop(peer, None)
        for level in self.references:
            level.pop(peer, None)

    def is_crowded(self) -> bool:
        """Whether so many share the path that each half of it would have enough."""
        enough = len(self.replicas) + 1 >= 2 * self._options.replicas_min
        return enough and len(self.path) < self._options.path_bits_max

    def grow(self, bit: str) -> None:
        """Answer for half of it only. Who shared the path may be on either side now."""
        self.path += bit
        self.references.append({})
        self.replicas.clear()

    def shrink(self) -> bool:
        """Answer for more where nobody is left who would; whether that was so."""
        for level, peers in enumerate(self.references):
            if not peers:
                self.path = self.path[:level]
                del self.references[level:]
                self.replicas.clear()
                return True
        return False

    def told(self) -> tuple[tuple[tuple[str, str], ...], ...]:
        """The references, as others are told them."""
        return tuple(tuple(level.items()) for level in self.references)
