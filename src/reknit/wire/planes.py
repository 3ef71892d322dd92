"""What brokers on a ring say to each other when their places are changed: the four steps of DYNATOPS, section 5.1.2.

Owns: these words. Must not know: what a word makes a broker do.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TypeAlias

import msgspec

from reknit.model.topic import check_topic
from reknit.wire.ring import Spot, check_id, check_spots, check_version

__all__ = [
    "PLACES_MAX",
    "REPORT_TOPICS_MAX",
    "SEATS_MAX",
    "Dismiss",
    "Place",
    "Places",
    "PlanesMessage",
    "Report",
    "Seat",
    "Seats",
    "Stage",
    "Staged",
    "Step",
    "check_planes",
]

PLACES_MAX = 10_000
"""Brokers of one ring."""

SEATS_MAX = 1024
"""Entries of a table in one message."""

REPORT_TOPICS_MAX = 4096
"""Topics of which one broker tells the manager."""

REASON_CHARS_MAX = 4096

Place: TypeAlias = tuple[Spot, int]
"""Where a broker is to be, and the id that it has had."""

Seat: TypeAlias = tuple[str, int, int, int]
"""An entry of a tree: topic, member, parent and next hop, all as ids; -1 for a root's parent, or no next hop."""


class Step(IntEnum):
    INIT = 1
    """There is a new version: keep both from now on."""
    OVERLAY = 2
    """Take the place that you have there."""
    PUBSUB = 3
    """Take over the trees of that place (3.1), and put them right (3.2)."""
    FINISH = 4
    """Route what is new by the new version."""


class Stage(msgspec.Struct, array_like=True, tag=90, frozen=True, gc=False):
    """From the manager: this step of the change from version ``base`` to ``version``. ``places``: with the first."""

    version: int
    base: int
    step: Step
    manager: str
    places: list[Place] = []


class Staged(msgspec.Struct, array_like=True, tag=91, frozen=True, gc=False):
    """To the manager: the step is done here; or why it cannot be."""

    version: int
    step: Step
    error: str = ""


class Dismiss(msgspec.Struct, array_like=True, tag=92, frozen=True, gc=False):
    """There will be no such version."""

    version: int
    reason: str


class Places(msgspec.Struct, array_like=True, tag=93, frozen=True, gc=False):
    """To one who speaks in another version: this one counts, and so its brokers are placed."""

    version: int
    places: list[Place]


class Seats(msgspec.Struct, array_like=True, tag=94, frozen=True, gc=False):
    """To who has the sender's old place in the new version: what the trees look like there. In parts."""

    version: int
    seats: list[Seat]
    last: bool


class Report(msgspec.Struct, array_like=True, tag=95, frozen=True, gc=False):
    """On the way to who manages the ring: what clients of a broker want, and have published since its last one."""

    version: int
    of: Spot
    wants: list[str]
    published: list[tuple[str, int]]
    hops: int = 0


PlanesMessage: TypeAlias = Stage | Staged | Dismiss | Places | Seats | Report


def check_planes(message: PlanesMessage) -> None:
    """What types alone do not say; ``ValueError`` with the reason."""
    check_version(message.version)
    match message:
        case Stage(base=base, manager=manager, places=places):
            check_version(base)
            check_spots([(0, manager, "")])
            _check_places(places)
        case Places(places=places):
            _check_places(places)
        case Staged(error=reason) | Dismiss(reason=reason):
            if len(reason) > REASON_CHARS_MAX:
                raise ValueError(f"a reason of {len(reason)} characters, over the {REASON_CHARS_MAX} that are allowed")
        case Seats(seats=seats):
            _check_seats(seats)
        case Report():
            _check_report(message)


def _check_report(report: Report) -> None:
    check_spots([report.of])
    topics = [*report.wants, *(topic for topic, _ in report.published)]
    if len(topics) > 2 * REPORT_TOPICS_MAX:
        raise ValueError(f"a report of {len(topics)} topics, over the {2 * REPORT_TOPICS_MAX} that are allowed")
    for topic in topics:
        check_topic(topic)
    for number in (report.hops, *(count for _, count in report.published)):
        if not 0 <= number < 1 << 63:
            raise ValueError(f"a report counts from 0 on, not {number}")


def _check_places(places: list[Place]) -> None:
    if len(places) > PLACES_MAX:
        raise ValueError(f"{len(places)} places, over the {PLACES_MAX} that are allowed")
    for spot, was in places:
        check_spots([spot])
        check_id(was)


def _check_seats(seats: list[Seat]) -> None:
    if len(seats) > SEATS_MAX:
        raise ValueError(f"{len(seats)} entries at once, over the {SEATS_MAX} that are allowed")
    for topic, member, parent, hop in seats:
        check_topic(topic)
        check_id(member)
        for number in (parent, hop):
            if number != -1:
                check_id(number)
