"""Messages that move clients' sessions, from a broker that is being drained to its only neighbour; see ``messages``."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from reknit.model.event import EventId
from reknit.model.pattern import Pattern
from reknit.wire._recovery import Range

__all__ = ["Age", "Draining", "Lack", "Moving", "Offer", "Opened", "Rest", "Taken", "Told", "Welcome", "Withdraw"]

Age: TypeAlias = tuple[int, float, float]
"""The signature of a pattern, and for how many seconds it has been wanted; and the same of what is not of QoS 0."""

Lack: TypeAlias = tuple[str, int, int, list[Range]]
"""Of what a source has said for a pattern, by its signature: the last number that has come, and what is missing.

With 0 for the last number, what is not certain to be missing, so that the client was told nothing of it: it may have
been before the first that has come, or it is only known from others that there was something, or it came too late."""


class Draining(msgspec.Struct, array_like=True, tag=30, frozen=True, gc=False):
    """May the sessions of the sender's clients come over? Or, if it is not ``going``: it stays after all.

    ``of``: the larger change that the drain is a step of, which the one that stays remembers.
    """

    going: bool
    of: str = ""


class Welcome(msgspec.Struct, array_like=True, tag=31, frozen=True, gc=False):
    """The answer: why not, or empty. ``door``: where the sender's own clients connect."""

    refused: str
    door: str


class Offer(msgspec.Struct, array_like=True, tag=32, frozen=True, gc=False):
    """Open a session for ``client``, which wants these patterns; ``part`` counts from 0.

    ``shares``: groups, and the patterns that it shares with their other members.
    """

    client: str
    move: int
    part: int
    patterns: list[Pattern]
    last: bool
    shares: list[tuple[str, Pattern]] = []


class Opened(msgspec.Struct, array_like=True, tag=33, frozen=True, gc=False):
    """It is open: what comes by the sender from here on is its to deliver. Or why it is not; ``retry``: not now.

    On a ring, ``door``: where the sender's own clients connect; ``relay``: where other brokers bring them.
    """

    client: str
    move: int
    refused: str
    retry: bool
    door: str = ""
    relay: str = ""


class Rest(msgspec.Struct, array_like=True, tag=34, frozen=True, gc=False):
    """The state of the session, in parts. The first, which is empty, says: events behind it are the receiver's.

    ``seen``, of the first: by source, the last event that the client may have had; what comes again is a copy for it.
    It also says which events its client has ``had`` on another way than along the link: they stand nowhere in line.

    Where events may be lost, it says more: by source the ``runs`` of what the client has had, for all or some of the
    sources in ``seen``, for which they count instead; how old its wishes are; and what it ``lacks``.
    """

    client: str
    move: int
    state: bytes
    last: bool
    seen: dict[str, int] = {}
    had: list[EventId] = []
    runs: dict[str, list[Range]] = {}
    ages: list[Age] = []
    lacks: list[Lack] = []


class Taken(msgspec.Struct, array_like=True, tag=35, frozen=True, gc=False):
    """The session is whole at the sender; the client may come."""

    client: str
    move: int


class Told(msgspec.Struct, array_like=True, tag=36, frozen=True, gc=False):
    """The client was sent to the receiver.

    ``lacks``: as in the rest, but at the end, with what came back to the sender meanwhile and was in nobody's hands.
    """

    client: str
    move: int
    lacks: list[Lack] = []


class Withdraw(msgspec.Struct, array_like=True, tag=37, frozen=True, gc=False):
    """The session stays where it was, or has ended there: forget it."""

    client: str
    move: int


Moving: TypeAlias = Draining | Welcome | Offer | Opened | Rest | Taken | Told | Withdraw
