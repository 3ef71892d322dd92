"""What brokers on a ring say to each other: to keep the ring, to grow topics' trees on it, and to bring events along.

Owns: these words. Must not know: what a word makes a broker do.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from reknit.model.event import Event
from reknit.model.topic import check_topic

__all__ = [
    "HAND_TOPICS_MAX",
    "PATH_IDS_MAX",
    "SPOTS_MAX",
    "Branch",
    "Bye",
    "Down",
    "Find",
    "Found",
    "Hand",
    "Notify",
    "Poll",
    "RingMessage",
    "Ringed",
    "SameId",
    "Spot",
    "State",
    "Up",
    "Wanted",
    "check_id",
    "check_on_its_way",
    "check_ring_message",
    "check_ringed",
    "check_spots",
    "check_version",
]

SPOTS_MAX = 64
"""Brokers behind oneself that are told of."""

HAND_TOPICS_MAX = 64
"""Topics of which one word hands the members over."""

PATH_IDS_MAX = 256
"""Brokers that an event has passed on its way up, or down."""

MEMBERS_MAX = 65_536
VERSION_MAX = (1 << 63) - 1
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


class Hand(msgspec.Struct, array_like=True, tag=79, frozen=True, gc=False):
    """To who owns these keys from now on, those behind ``after`` up to ``upto``: topics, and who wants each.

    With the last such word it knows all that the sender has known of them.
    """

    after: int
    upto: int
    wants: list[tuple[str, list[int]]]
    last: bool


RingMessage: TypeAlias = Find | Found | Poll | State | Notify | Bye | SameId | Wanted | Branch | Hand


class Ringed(msgspec.Struct, array_like=True, tag=80, frozen=True, gc=False):
    """A word in one version of the control plane. ``counts``: the version by which the sender routes what is new.

    ``sender``: its id there.
    """

    version: int
    counts: int
    sender: int
    word: RingMessage


class Up(msgspec.Struct, array_like=True, tag=81, frozen=True, gc=False):
    """Events on the way to their topics' roots. ``befores``: for each the number before it that has to come first.

    ``path``: the ids that they have passed, the last one's last.
    """

    version: int
    path: list[int]
    events: list[Event]
    befores: list[int]


class Down(msgspec.Struct, array_like=True, tag=82, frozen=True, gc=False):
    """Events on the way from a root. ``path``: the ids that they have passed, the root's first."""

    version: int
    path: list[int]
    events: list[Event]
    befores: list[int]


def check_ringed(message: Ringed) -> None:
    _check_number("version", message.version, 0, VERSION_MAX)
    _check_number("version", message.counts, 0, VERSION_MAX)
    _check_number("ring id", message.sender, 0, ID_MAX)
    check_ring_message(message.word)


def check_on_its_way(message: Up | Down) -> None:
    """All but the events themselves."""
    _check_number("version", message.version, 0, VERSION_MAX)
    if len(message.befores) != len(message.events):
        raise ValueError(f"{len(message.events)} events, and what comes before {len(message.befores)}")
    for event, before in zip(message.events, message.befores, strict=True):
        _check_number("number before an event", before, 0, max(event.seq - 1, 0))
    if len(message.path) > PATH_IDS_MAX:
        raise ValueError(f"a way over {len(message.path)} brokers, more than the {PATH_IDS_MAX} that are allowed")
    for number in message.path:
        _check_number("ring id", number, 0, ID_MAX)


def check_ring_message(message: RingMessage) -> None:
    """What types alone do not say; ``ValueError`` with the reason. A neighbour is trusted no further than a client."""
    match message:
        case Find(key=key, asker=asker, purpose=purpose, hops=hops):
            check_spots([asker])
            _check_number("purpose", purpose, PURPOSE_MIN, PURPOSE_MAX)
            _check_number("number of hops", hops, 0, HOPS_MAX)
            _check_number("ring id", key, 0, ID_MAX)
        case Found(key=key, purpose=purpose, owner=owner):
            check_spots([owner])
            _check_number("purpose", purpose, PURPOSE_MIN, PURPOSE_MAX)
            _check_number("ring id", key, 0, ID_MAX)
        case State(of=sender, before=before, behind=behind) | Bye(sender=sender, before=before, behind=behind):
            check_spots([sender, *behind, *([before] if before else [])])
        case Poll(asker=spot) | Notify(sender=spot) | SameId(holder=spot):
            check_spots([spot])
        case Wanted(topic=topic, member=member, hops=hops) | Branch(topic=topic, member=member, hops=hops):
            check_topic(topic)
            _check_number("ring id", member, 0, ID_MAX)
            _check_number("number of hops", hops, 0, HOPS_MAX)
        case Hand():
            _check_hand(message)


def _check_hand(hand: Hand) -> None:
    _check_number("ring id", hand.after, 0, ID_MAX)
    _check_number("ring id", hand.upto, 0, ID_MAX)
    if len(hand.wants) > HAND_TOPICS_MAX or sum(len(members) for _, members in hand.wants) > MEMBERS_MAX:
        raise ValueError(f"{len(hand.wants)} topics at once, or more members than one word may hand over")
    for topic, members in hand.wants:
        check_topic(topic)
        for member in members:
            _check_number("ring id", member, 0, ID_MAX)


def check_id(number: int) -> None:
    _check_number("ring id", number, 0, ID_MAX)


def check_version(number: int) -> None:
    _check_number("version", number, 0, VERSION_MAX)


def check_spots(spots: list[Spot]) -> None:
    if len(spots) > SPOTS_MAX + 2:
        raise ValueError(f"{len(spots)} brokers at once, over the {SPOTS_MAX} that are allowed")
    for number, name, address in spots:
        _check_number("ring id", number, 0, ID_MAX)
        if not name or max(len(name), len(address)) > NAME_CHARS_MAX:
            raise ValueError(f"a broker's name has 1 to {NAME_CHARS_MAX} characters, its address no more")


def _check_number(what: str, number: int, least: int, most: int) -> None:
    if not least <= number <= most:
        raise ValueError(f"a {what} of {number}: it lies from {least} to {most}")
