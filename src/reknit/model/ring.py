"""Ring arithmetic: ids on a circle, who owns a key, and the hop that brings a message nearest to it.

The rules of Chord. ``2 ** bits`` ids lie on a circle; a key is owned by the first node at it or behind it, clockwise.
A node knows some others (its fingers, at least its successor), and sends what is for a key to the farthest of them
that does not lie beyond it; where all do, its successor owns the key. Unlike the lookup of Chord's paper, which asks
who precedes a key and so never goes to a finger at the key itself, this goes there at once: topic trees need the way
to a node, and the way to a key is the same by both rules up to the last hop.

Owns: ids, distances, the choice of the next hop. Must not know: brokers, topics, who is alive.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b

__all__ = ["BITS", "distance", "finger_keys", "next_hop", "owner", "ring_id", "within"]

BITS = 64
"""So many that no two of a million names fall on one id, and few enough for a machine's integer."""


def ring_id(name: str, bits: int = BITS) -> int:
    """Where a name lies: of a broker that has no other id, or of a topic."""
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest()) >> (64 - bits)


def distance(start: int, end: int, bits: int = BITS) -> int:
    """Clockwise."""
    return (end - start) % (1 << bits)


def within(key: int, after: int, upto: int, bits: int = BITS) -> bool:
    """Whether ``key`` lies in ``(after, upto]``; where both ends are one, that is the whole ring."""
    return distance(after + 1, key, bits) <= distance(after + 1, upto, bits)


def finger_keys(node: int, bits: int = BITS) -> list[int]:
    """The keys whose owners are the fingers of a node: at twice the distance, each time."""
    return [(node + (1 << power)) % (1 << bits) for power in range(bits)]


def owner(key: int, nodes: Sequence[int], bits: int = BITS) -> int:
    """``successor(key)`` of Chord."""
    return min(nodes, key=lambda node: distance(key, node, bits))


def next_hop(node: int, successor: int, known: Iterable[int], key: int, bits: int = BITS) -> int:
    """From ``node``, which does not own the key. ``successor``: the first behind it; ``known``: others that live."""
    way = distance(node, key, bits)
    before = [other for other in known if 0 < distance(node, other, bits) <= way]
    return max(before, key=lambda other: distance(node, other, bits), default=successor)
