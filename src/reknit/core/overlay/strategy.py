"""What every strategy to replace a link offers, and what it may use.

A strategy hears that the old link is gone (at its two ends), that the change is to begin (at the first of them), that
the new link carries messages (at its two ends), and what others on the path say. It answers with overlay events where
the layer above has to do something plain, and does everything else through ``Hands``.

Owns: the shape of a strategy. Must not know: how a path is found, locked or checked.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from reknit.core.overlay.change import Place
from reknit.core.overlay.events import OverlayEvent
from reknit.core.overlay.options import ChangeOptions
from reknit.core.overlay.tables import Tables
from reknit.core.turn import Turn
from reknit.model.pattern import Pattern
from reknit.wire.messages import Change, ChangeMessage

__all__ = ["Hands", "Strategy", "StrategyName", "why_unusable"]

StrategyName: TypeAlias = Literal["strawman", "deferred", "path", "path-batched"]


def why_unusable(strategy: str, editable: bool, covering: bool, where: str) -> str:
    """Why this strategy cannot be used by brokers that route so, for people to read; empty if it can.

    ``editable``: whether a table can be changed entry by entry. ``where``: at which broker that is.
    """
    if strategy == "strawman":
        return ""
    if not editable:
        return f"{strategy} needs the routing subscription-forwarding at {where}; strawman works with any"
    if covering and strategy != "deferred":
        return f"{strategy} does not work with covering, which is on at {where}; use deferred or strawman"
    return ""


@dataclass(frozen=True, slots=True)
class Hands:
    """What a strategy works with."""

    turn: Turn
    routes: Tables | None
    """None where routing cannot be edited; then only a strategy that needs none is used."""
    options: ChangeOptions
    send: Callable[[str, ChangeMessage], None]
    """To a neighbour, or over the new link; nothing happens if there is neither."""
    neighbours: Callable[[], list[str]]
    awaits: Callable[[str], bool]
    """Whether there is a new link to this broker that does not belong to the tree yet."""
    activate: Callable[[str], bool]
    """Make the new link to this broker a link of the tree. False if there is none that waits for it."""
    finished: Callable[[Change], None]
    """To be called at the far end of the new link, once the change is over."""

    @property
    def tables(self) -> Tables:
        assert self.routes is not None
        return self.routes

    def place(self, change: Change) -> Place | None:
        return Place.find(change, self.turn.node)


class Strategy(ABC):
    keeps: ClassVar[bool] = False
    """Whether what a lost neighbour wanted stays in the table for the time being."""

    def __init__(self, hands: Hands) -> None:
        self.hands = hands

    @abstractmethod
    def lost(self, id_: str, peer: str) -> None:
        """The old link is gone; ``peer`` was its other end."""

    @abstractmethod
    def begin(self, place: Place) -> Iterable[OverlayEvent]:
        """At the first broker of the path: the old link is gone at both ends."""

    @abstractmethod
    def connected(self, change: Change, peer: str) -> Iterable[OverlayEvent]:
        """At an end of the new link: it carries messages, and the old link is gone."""

    @abstractmethod
    def receive(self, peer: str, message: ChangeMessage) -> Iterable[OverlayEvent]: ...

    def met(self, peer: str) -> None:
        """``peer`` tells all anew, or is no neighbour any more: what was under way with it is void."""
        return

    def gone(self, peer: str) -> None:
        """``peer`` is no neighbour any more; what it wanted may still be in the table. It will not answer."""
        return

    def ignored(self, peer: str) -> Iterable[Pattern]:
        """The patterns from which an unsubscription of ``peer`` is not to be heeded."""
        return ()

    # --- times

    def deadline(self) -> float | None:
        return None

    def due(self) -> None:
        return

    @property
    def at_rest(self) -> bool:
        return self.deadline() is None
