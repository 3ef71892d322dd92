"""What the overlay tells the layers above: a short list of values. It never calls up.

Owns: the words. Must not know: who acts on them. The last group re-seats what is known of neighbours when a link moves;
it speaks of neighbours and what they want, so that routing need not know that a change of the tree is under way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from reknit.core.links.custody import Custody
from reknit.core.links.links import LinkEvent
from reknit.wire.messages import Entry, Message

__all__ = [
    "Arrived",
    "Bypassed",
    "Established",
    "Left",
    "Linked",
    "Merged",
    "Outside",
    "OverlayEvent",
    "Paused",
    "Renamed",
    "Replayed",
    "Resumed",
    "SidesWanted",
    "Split",
    "Tell",
    "TurnedDown",
    "Unlinked",
]


@dataclass(frozen=True, slots=True)
class Linked:
    """This neighbour knows nothing of us yet: a new link, or a neighbour that has lost its memory (``again``)."""

    peer: str
    again: bool


@dataclass(frozen=True, slots=True)
class Established:
    """A new link belongs to the tree, and either end knows already what the other wants; but nothing else of it."""

    peer: str


@dataclass(frozen=True, slots=True)
class Unlinked:
    """No neighbour any more. ``keep``: what it wanted stays in the table, for a change that is under way.

    ``lost``: nobody knows whether it will ever be back. ``replaced``: it says that another link comes instead.
    """

    peer: str
    keep: bool = False
    lost: bool = False
    replaced: bool = False


@dataclass(frozen=True, slots=True)
class Left:
    """The link is gone at both ends; or, unless ``heard``, at this one only."""

    peer: str
    heard: bool


@dataclass(frozen=True, slots=True)
class Outside:
    """This concerns a link that does not belong to the tree, or not yet: it is made for a change."""

    event: LinkEvent


@dataclass(frozen=True, slots=True)
class TurnedDown:
    """Nobody waits for what it wants: a configured link would close a cycle, say, and is tried again, slowly."""

    peer: str


@dataclass(frozen=True, slots=True)
class Replayed:
    """Whatever this broker had kept for a former life of ours has come."""

    peer: str


@dataclass(frozen=True, slots=True)
class Arrived:
    """Messages for the layers above. Events of them go to none of the neighbours in ``skip``.

    ``relay``: neighbours that need even an event that has been here before.
    """

    peer: str
    messages: list[Message]
    custody: Custody
    skip: tuple[str, ...]
    relay: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Paused:
    """Say nothing to this neighbour of what is wanted from it, until it is resumed."""

    peer: str


@dataclass(frozen=True, slots=True)
class Resumed:
    """Say to this neighbour what it has not been told meanwhile."""

    peer: str


@dataclass(frozen=True, slots=True)
class Tell:
    """Say to this neighbour all that is wanted from it."""

    peer: str


@dataclass(frozen=True, slots=True)
class Bypassed:
    """What ``gone`` wants, or part of it, ``by`` will tell, which has to tell all for that.

    ``wholly``: ``gone`` will tell nothing any more.
    """

    gone: str
    by: str
    wholly: bool = True


@dataclass(frozen=True, slots=True)
class SidesWanted:
    """What is wanted behind ``one``, and what by all but it and ``other``? Answer with ``SwapLinks.take_sides``."""

    one: str
    other: str


@dataclass(frozen=True, slots=True)
class Renamed:
    """What ``old`` wanted is wanted by ``new``, which knows what ``old`` was told, unless it is to be told all."""

    old: str
    new: str
    tell: bool


@dataclass(frozen=True, slots=True)
class Merged:
    """What ``gone`` wanted is wanted by ``into``, which has been told of ``said`` (None: nothing for sure)."""

    gone: str
    into: str
    said: list[Entry] | None


@dataclass(frozen=True, slots=True)
class Split:
    """Of what ``old`` wanted, ``behind_new`` is wanted by ``new``, and ``behind_old`` by ``old``.

    Each of the two knows of what the other wants, and of what ``old`` was told.
    """

    old: str
    new: str
    behind_old: list[Entry]
    behind_new: list[Entry]


OverlayEvent: TypeAlias = (
    Linked
    | Established
    | Unlinked
    | Left
    | Outside
    | TurnedDown
    | Replayed
    | Arrived
    | Paused
    | Resumed
    | Tell
    | Bypassed
    | SidesWanted
    | Renamed
    | Merged
    | Split
)
