"""What brokers on a ring say to each other: to keep the ring, and to grow topics' trees on it.

Owns: these words. Must not know: what a word makes a broker do.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from reknit.model.topic import check_topic

__all__ = [
    "SPOTS_MAX",
    "Branch",
    "Bye",
    "Find",
    "Found",
    "Notify",
    "Poll",
    "RingMessage",
    "SameId",
    "Spot",
    "State",
    "Wanted",
    "check_ring_message",
]

SPOTS_MAX = 64
"""Brokers behind oneself that are told of."""

ID_MAX = (1 << 64) - 1
NAME_CHARS_MAX = 256
PURPOSE_MIN, PURPOSE_MAX = -2, 63
HOPS_MAX = 1 << 16

Spot: TypeAlias = tuple[int, str, str]
"""A broker on the ring: its id there, its name, and where it can be dialled."""


class Find(msgspec.Struct, array_like=True, tag=70, frozen=True, gc=False):
    """Who owns this key? Passed on along the ring; ``asker`` is to be told. ``purpose``: the asker's own note."""

    key: int
    asker: Spot
    purpose: int
    hops: int = 0


class Found(msgspec.Struct, array_like=True, tag=71, frozen=True, gc=False):
    key: int
    purpose: int
    owner: Spot


class Poll(msgspec.Struct, array_like=True, tag=72, frozen=True, gc=False):
    """To one's successor: who is before you, and who behind?"""

    asker: Spot


class State(msgspec.Struct, array_like=True, tag=73, frozen=True, gc=False):
    of: Spot
    before: Spot | None
    behind: list[Spot]


class Notify(msgspec.Struct, array_like=True, tag=74, frozen=True, gc=False):
    """The sender thinks that it is right before the receiver."""

    sender: Spot


class Bye(msgspec.Struct, array_like=True, tag=75, frozen=True, gc=False):
    """The sender leaves the ring: whom it had before it and behind it, for those two."""

    sender: Spot
    before: Spot | None
    behind: list[Spot]


class SameId(msgspec.Struct, array_like=True, tag=76, frozen=True, gc=False):
    """To one that wants to join: this broker has its id already."""

    holder: Spot


class Wanted(msgspec.Struct, array_like=True, tag=77, frozen=True, gc=False):
    """On the way to the topic's root: the broker with this id wants the topic, or wants it no more."""

    topic: str
    member: int
    wanted: bool
    hops: int = 0


class Branch(msgspec.Struct, array_like=True, tag=78, frozen=True, gc=False):
    """On the way from the root to the member: its branch of the topic's tree leads this way, or does no more."""

    topic: str
    member: int
    grows: bool
    hops: int = 0


RingMessage: TypeAlias = Find | Found | Poll | State | Notify | Bye | SameId | Wanted | Branch


def check_ring_message(message: RingMessage) -> None:
    """What types alone do not say; ``ValueError`` with the reason. A neighbour is trusted no further than a client."""
    match message:
        case Find(key=key, asker=asker, purpose=purpose, hops=hops):
            _check_spots([asker])
            _check_number("purpose", purpose, PURPOSE_MIN, PURPOSE_MAX)
            _check_number("number of hops", hops, 0, HOPS_MAX)
            _check_number("ring id", key, 0, ID_MAX)
        case Found(key=key, purpose=purpose, owner=owner):
            _check_spots([owner])
            _check_number("purpose", purpose, PURPOSE_MIN, PURPOSE_MAX)
            _check_number("ring id", key, 0, ID_MAX)
        case State(of=sender, before=before, behind=behind) | Bye(sender=sender, before=before, behind=behind):
            _check_spots([sender, *behind, *([before] if before else [])])
        case Poll(asker=spot) | Notify(sender=spot) | SameId(holder=spot):
            _check_spots([spot])
        case Wanted(topic=topic, member=member, hops=hops) | Branch(topic=topic, member=member, hops=hops):
            check_topic(topic)
            _check_number("ring id", member, 0, ID_MAX)
            _check_number("number of hops", hops, 0, HOPS_MAX)


def _check_spots(spots: list[Spot]) -> None:
    if len(spots) > SPOTS_MAX + 2:
        raise ValueError(f"{len(spots)} brokers at once, over the {SPOTS_MAX} that are allowed")
    for number, name, address in spots:
        _check_number("ring id", number, 0, ID_MAX)
        if not name or max(len(name), len(address)) > NAME_CHARS_MAX:
            raise ValueError(f"a broker's name has 1 to {NAME_CHARS_MAX} characters, its address no more")


def _check_number(what: str, number: int, least: int, most: int) -> None:
    if not least <= number <= most:
        raise ValueError(f"a {what} of {number}: it lies from {least} to {most}")
