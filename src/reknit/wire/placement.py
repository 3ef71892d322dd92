"""What brokers on a ring say to each other to place clients by interest, and when one session moves.

A session moves by the words of any move (``Offer``, ``Opened``, ``Rest``, ``Taken``, ``Told``, ``Withdraw``); on a ring
two more are needed, as both brokers get every event by ways of their own.

Owns: these words. Must not know: what a word makes a broker do.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import msgspec

from reknit.model.event import INTEGER_MAX, Event
from reknit.model.topic import check_topic
from reknit.wire.ring import Spot, check_spots

__all__ = [
    "CLUSTER_CHARS_MAX",
    "INTEREST_TOPICS_MAX",
    "LASTS_MAX",
    "Interest",
    "LastLine",
    "Lasts",
    "Passed",
    "PlacementMessage",
    "check_placement",
]

CLUSTER_CHARS_MAX = 256
"""The name of a cluster."""

INTEREST_TOPICS_MAX = 4096
"""Topics of which one broker tells its cluster."""

LASTS_MAX = 1024
"""Lines in one message."""

_CLIENT_CHARS_MAX = 65_535
_NAME_CHARS_MAX = 256

LastLine: TypeAlias = tuple[str, str, int]
"""Source, topic, and the number of the last event that was delivered."""


class Interest(msgspec.Struct, array_like=True, tag=96, frozen=True, gc=False):
    """What clients of a broker want: on the way to who keeps its cluster together; ``told``: from there to the others.

    ``load``: how many subscriptions they have. ``fresh_s``: for how long this counts.
    """

    cluster: str
    of: Spot
    topics: list[str]
    load: int
    fresh_s: float
    told: bool = False
    hops: int = 0


class Lasts(msgspec.Struct, array_like=True, tag=97, frozen=True, gc=False):
    """Before the state of a session: what its client has had of each source and topic. In parts."""

    client: str
    move: int
    lines: list[LastLine]


class Passed(msgspec.Struct, array_like=True, tag=98, frozen=True, gc=False):
    """Events that have come to a session's old broker since its state was taken; ``last``: there will be no more."""

    client: str
    move: int
    events: list[Event]
    befores: list[int]
    last: bool = False


PlacementMessage: TypeAlias = Interest | Lasts | Passed


def check_placement(message: PlacementMessage) -> None:
    """What types alone do not say, but for events themselves; ``ValueError`` with the reason."""
    match message:
        case Interest():
            _check_interest(message)
        case Lasts(client=client, lines=lines):
            _check_client(client)
            if len(lines) > LASTS_MAX:
                raise ValueError(f"{len(lines)} lines at once, over the {LASTS_MAX} that are allowed")
            for source, topic, seq in lines:
                _check_name(source)
                check_topic(topic)
                _check_number(seq)
        case Passed(client=client, events=events, befores=befores):
            _check_client(client)
            if len(events) != len(befores):
                raise ValueError(f"{len(events)} events, and {len(befores)} numbers of those before them")
            for event, before in zip(events, befores, strict=True):
                if not 0 <= before < max(event.seq, 1):
                    raise ValueError(f"before number {event.seq} comes none with number {before}")


def _check_interest(interest: Interest) -> None:
    check_spots([interest.of])
    if len(interest.cluster) > CLUSTER_CHARS_MAX:
        raise ValueError(f"a cluster's name of {len(interest.cluster)} characters")
    if len(interest.topics) > INTEREST_TOPICS_MAX:
        raise ValueError(f"an interest in {len(interest.topics)} topics, over the {INTEREST_TOPICS_MAX} allowed")
    for topic in interest.topics:
        check_topic(topic)
    _check_number(interest.load)
    if not 0 <= interest.fresh_s < math.inf:
        raise ValueError(f"an interest counts for a while, not for {interest.fresh_s} s")
    _check_number(interest.hops)


def _check_client(client: str) -> None:
    if len(client) > _CLIENT_CHARS_MAX:
        raise ValueError(f"a client's name of {len(client)} characters")


def _check_name(name: str) -> None:
    if len(name) > _NAME_CHARS_MAX:
        raise ValueError(f"a name of {len(name)} characters, over the {_NAME_CHARS_MAX} that are allowed")


def _check_number(number: int) -> None:
    if not 0 <= number <= INTEGER_MAX:
        raise ValueError(f"it counts from 0 on, not {number}")
