"""What a broker keeps of changes for its next life: its part in a swap and how far it is, links that are on their way
out, and neighbours that it has given up or has to find again.

Owns: the shape of the note, as text that a shell can keep. Must not know: the protocol.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from reknit.wire.messages import SwapId

__all__ = ["Closing", "Ended", "Notes", "Part", "Stage", "SwapNote", "read_notes", "write_notes"]


class Part(StrEnum):
    """The brokers of ``SwapLink(a, b, c)``: a's link to b becomes a link to c."""

    MOVER = "mover"  # a
    MIDDLE = "middle"  # b
    GOAL = "goal"  # c


class Stage(StrEnum):
    LOCKED = "locked"  # state 1 of the paper: nothing has changed yet, and the swap may still be given up
    OPEN = "open"  # the mover has accepted the new link; only the goal may still give up
    FLOOD = "flood"  # states 2 and 3: each gives what comes from outside to both others
    MOVED = "moved"  # the mover has taken to the new link


class SwapNote(msgspec.Struct, frozen=True):
    id: SwapId
    middle: str
    goal: str
    address: str
    """Where the mover can be dialled."""
    part: Part
    stage: Stage
    opened: bool = False
    """At the goal: open(acb) has come."""
    closed_ab: bool = False
    """At the goal: close(ab) and open(bca) have come, or are not waited for."""
    unheard: bool = False
    """At the goal: they have not come, and are not waited for. Should the middle come back, it knows the old tree."""
    closed_ba: bool = False
    """At the goal: close(ba) has come."""
    again: bool = False
    """It has been taken up from a note: some of the three has lost its memory."""
    of: str = ""
    """The larger change that it is a step of."""


class Closing(msgspec.Struct, frozen=True):
    """A link that a swap has replaced, and that still has to be emptied."""

    id: SwapId
    goal: str
    address: str
    part: Part
    """Which we had in the swap: the mover, or the middle."""


class Ended(msgspec.Struct, frozen=True):
    """At the goal: a swap that is over here, while the link that it has replaced may not be empty yet."""

    id: SwapId
    middle: str
    alone: bool = False
    """One of the others was lost: it may come back whenever it likes."""
    unheard: bool = False
    """It was the middle: until it has said close(ab) after all, it tells by the old tree."""


class Notes(msgspec.Struct, frozen=True):
    swap: SwapNote | None = None
    closing: dict[str, Closing] = {}
    ended: list[Ended] = []
    lost: dict[str, None] = {}
    """Neighbours that were given up as lost: they may still hold us for theirs."""
    gone: dict[str, list[str]] = {}
    """By neighbour that has left the network for good: who may still hold it for theirs."""
    back: dict[str, str] = {}
    """Brokers to be joined with, and their addresses, unless the tree is whole without: a change may be half done."""
    apart: dict[str, None] = {}
    """Neighbours with whom a part of the tree went, while somebody may not have heard of it."""
    around: dict[str, dict[str, str]] = {}
    """By neighbour: its others, and their addresses."""


def write_notes(notes: Notes) -> str:
    """Empty where there is nothing to keep."""
    return msgspec.json.encode(notes).decode() if notes != Notes() else ""


def read_notes(text: str) -> Notes:
    return msgspec.json.decode(text, type=Notes) if text else Notes()
