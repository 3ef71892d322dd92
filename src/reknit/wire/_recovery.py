"""What brokers say so that lost events come back: gossip along the tree, and what goes past it.

An event whose content nobody at hand knows is named by its source, the signature of a pattern, and its number there.
Owns: these words; ``messages`` lends them out. Must not know: whom they are said to, or when.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TypeAlias

import msgspec

from reknit.model.event import Event

__all__ = [
    "Asker",
    "Bequest",
    "Direct",
    "Gossip",
    "Keeps",
    "Manner",
    "Misses",
    "MissesOf",
    "Range",
    "Repair",
    "Silent",
    "Wants",
]

Range: TypeAlias = tuple[int, int]
"""The first of a run of numbers, and the last."""


class Asker(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """Who has begun a round of gossip, and where it is reached. ``round``: a number that nobody else can guess."""

    name: str
    address: str
    round: int


class Manner(IntEnum):
    """Whom a pull is passed on to."""

    SUBSCRIBERS = 0
    """Neighbours that want the pattern, or lead to somebody who does."""
    ANYBODY = 1
    """Neighbours drawn at random: the reference that ignores the tables."""
    EVERYBODY = 2
    """All of them: the last resort."""


# --- along the tree


class Silent(msgspec.Struct, array_like=True, tag=60, frozen=True, gc=False):
    """The heartbeat of a source that has published nothing more: its last number for each of these patterns.

    ``route``, ``address``, ``key``: as of an event; see ``Marks``.
    """

    source: str
    numbers: list[tuple[int, int]]
    hops: int
    route: tuple[str, ...] = ()
    address: str = ""
    key: int = 0


class Keeps(msgspec.Struct, array_like=True, tag=61, frozen=True, gc=False):
    """Push: these events of the pattern are in the asker's cache, by source. Whoever misses one may ask for it."""

    asker: Asker
    signature: int
    kept: list[tuple[str, list[Range]]]
    hops: int


class Misses(msgspec.Struct, array_like=True, tag=62, frozen=True, gc=False):
    """Pull: the asker misses these events of the pattern, by source, unless they are older than ``age_s``."""

    asker: Asker
    manner: Manner
    signature: int
    age_s: float
    lost: list[tuple[str, list[Range]]]
    hops: int


class MissesOf(msgspec.Struct, array_like=True, tag=63, frozen=True, gc=False):
    """Pull towards the publisher: of ``source`` the asker misses these, by pattern, each with the greatest age.

    ``route``: the brokers that are still ahead, the nearest first; the last is the publisher's, found at ``address``.
    ``key``: as its events have said; past the tree it answers nobody who does not know it.
    ``others``: what is missed of other sources, by source, which that broker may have had; past the tree only.
    ``wants``: patterns that the asker wants, so that it can be asked as well.
    """

    asker: Asker
    source: str
    lost: list[tuple[int, float, list[Range]]]
    route: list[str]
    address: str
    key: int = 0
    others: list[tuple[str, list[tuple[int, float, list[Range]]]]] = []
    wants: list[int] = []


class Bequest(msgspec.Struct, array_like=True, tag=66, frozen=True, gc=False):
    """From a broker that leaves to the one that takes its clients: events of its cache, and the age of each."""

    ages_s: list[float]
    events: list[Event]


Gossip: TypeAlias = Silent | Keeps | Misses | MissesOf | Bequest

# --- past the tree, in datagrams; besides these, a ``MissesOf`` whose next broker is no neighbour


class Wants(msgspec.Struct, array_like=True, tag=64, frozen=True, gc=False):
    """The answer to ``Keeps``, under its round: send these, unless they are older than ``age_s``."""

    asker: Asker
    signature: int
    age_s: float
    lost: list[tuple[str, list[Range]]]


class Repair(msgspec.Struct, array_like=True, tag=65, frozen=True, gc=False):
    """Events that were asked for in this round, and the age of each in seconds. ``sender``: for the trace.

    From their publisher's broker also, by pattern, what of it will not be given: ``gone``, for it is not kept any more;
    ``old``, for it was published before the pattern was wanted; and ``never``, for there has been no such number yet.
    """

    sender: str
    round: int
    ages_s: list[float]
    events: list[Event]
    gone: list[tuple[int, list[Range]]] = []
    old: list[tuple[int, list[Range]]] = []
    never: list[tuple[int, list[Range]]] = []


Direct: TypeAlias = Wants | Repair | MissesOf
