"""What the links report to the overlay.

Owns: the words. Must not know: who acts on them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from reknit.core.links.custody import Arrival
from reknit.wire.messages import Hello, Refuse

__all__ = ["Adopted", "Answered", "LinkEvent", "Renewed", "Stranger", "TurnedAway"]


@dataclass(frozen=True, slots=True)
class Renewed:
    """A new session has begun with this neighbour: it may know nothing of what we said.

    ``reborn``: it is in another life than the one that we knew.
    """

    peer: str
    reborn: bool


@dataclass(frozen=True, slots=True)
class Adopted:
    """The caller holds us for its neighbour and we have no memory: now it is ours too."""

    peer: str


@dataclass(frozen=True, slots=True)
class Stranger:
    """Somebody who is no neighbour asks to be joined; answer with ``accept`` or ``refuse``."""

    conn: int
    hello: Hello


@dataclass(frozen=True, slots=True)
class Answered:
    """The broker that we asked to join has agreed."""

    peer: str
    conn: int
    hello: Hello


@dataclass(frozen=True, slots=True)
class TurnedAway:
    """The other end refuses, as a link or as a join; or, unless ``reached``, nobody is there."""

    peer: str
    refusal: Refuse
    reached: bool = True


LinkEvent: TypeAlias = Arrival | Renewed | Adopted | Stranger | Answered | TurnedAway
