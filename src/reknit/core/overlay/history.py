"""What a broker remembers of the changes of the tree that it has taken part in, for operators.

Each of those who take part has an entry of its own, under the same id: what *it* has sent for the change, and, at the
broker that was asked for it, how it went. Put together they say what a change has cost, and whom it has touched. Every
change that was done has an inverse, by which it can be undone. Where somebody keeps what the next life has to know,
that remembers the changes that were over (``flush``, ``recall``); those under way it takes up from its notes, or not.

Owns: the entries, and how many are kept. Must not know: how a change is made, or who reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from reknit.core.io import KeepChange
from reknit.core.overlay.change import inverse, old_and_new
from reknit.core.overlay.notes import Part, Stage, SwapNote
from reknit.core.overlay.shapes import Edge
from reknit.core.overlay.swap import Step
from reknit.core.turn import Turn
from reknit.wire.messages import Change as Replacement
from reknit.wire.messages import SwapId

__all__ = [
    "ADD",
    "CHANGES_MAX",
    "DRAIN",
    "REPLACE",
    "SWAP",
    "Change",
    "Deed",
    "History",
    "change_name",
    "deed_of",
    "plain_deed",
    "waits_for",
]

CHANGES_MAX = 256
"""Changes that are remembered; beyond it the oldest go."""

SWAP = "swap"
"""The mover, the middle, the goal."""
ADD = "add"
"""A broker that was new, and the one that it was linked with."""
DRAIN = "drain"
"""A broker that has left, and the one that has its clients."""
REPLACE = "replace"
"""All on the path: from one end of the link that goes to its other end, by way of the link that comes."""

_OPPOSITES = {ADD: DRAIN, DRAIN: ADD}

_NUMBER_MASK = (1 << 48) - 1


class Deed(NamedTuple):
    """A change in words: its kind, and the brokers in the order in which its kind names them."""

    kind: str
    brokers: tuple[str, ...]
    strategy: str = ""
    """Of a replacement: how routes follow."""
    near: int = 0
    """Of a replacement: the new link is behind this place of the path."""

    @property
    def inverse(self) -> Deed:
        if self.kind == SWAP:
            return Deed(SWAP, Step(*self.brokers).inverse)
        if self.kind == REPLACE:
            return deed_of(inverse(self._replacement, ""))
        return Deed(_OPPOSITES[self.kind], self.brokers)

    @property
    def ends(self) -> tuple[Edge, Edge]:
        """Of a replacement: the link that goes, and the one that comes."""
        return old_and_new(self._replacement)

    @property
    def _replacement(self) -> Replacement:
        return Replacement("", self.strategy, list(self.brokers), self.near)

    def __str__(self) -> str:
        """The command that does it."""
        if self.kind == REPLACE:
            old, new = self.ends
            return f"link replace {' '.join(old)} --with {' '.join(new)} --strategy {self.strategy}"
        if self.kind in _OPPOSITES:
            return f"broker {self.kind} {self.brokers[0]} {'--link' if self.kind == ADD else '--to'} {self.brokers[1]}"
        return f"{self.kind} {' '.join(self.brokers)}"


def deed_of(change: Replacement) -> Deed:
    return Deed(REPLACE, tuple(change.path), change.strategy, change.near)


def plain_deed(deed: Deed) -> dict[str, Any]:
    """As plain values, for operators."""
    plain = {"kind": deed.kind, "brokers": list(deed.brokers)}
    return {**plain, "strategy": deed.strategy, "near": deed.near} if deed.kind == REPLACE else plain


class Change(msgspec.Struct):
    id: str
    deed: Deed
    part: str
    """Which this broker has in it."""
    begun: float
    ended: float | None = None
    error: str = ""
    """Why it was given up, or why it is not tried right now."""
    of: str = ""
    """The larger change that it is a step of."""
    unsure: bool = False
    """Given up when it had begun: whether it is made, the tree says."""
    messages: int = 0
    """That this broker has sent for it."""
    bytes: int = 0

    def shown(self) -> dict[str, Any]:
        """Plain values. The inverse is there once there is something to be undone, or may be."""
        done = self.ended is not None and (self.unsure or not self.error)
        fields = {name: getattr(self, name) for name in self.__struct_fields__ if name != "deed"}
        return {**fields, **plain_deed(self.deed), "undo": plain_deed(self.deed.inverse) if done else None}


class History:
    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.part_of = ""  # of a new broker: the larger change that its first link is a step of
        self._changes: dict[str, Change] = {}  # by id, in the order in which they began
        self._kept: dict[str, None] = {}  # what somebody keeps for the next life
        self._news: dict[str, None] = {}  # what is not kept as it is now

    def begin(self, name: str, deed: Deed, part: str, of: str = "", begun: float | None = None) -> None:
        while len(self._changes) >= CHANGES_MAX:
            self.forget(next(iter(self._changes)))
        self._changes[name] = Change(name, deed, part, self.turn.now if begun is None else begun, of=of)

    def note(self, name: str, deed: Deed, part: str) -> None:
        """It is done already: the first link of a new broker."""
        self.begin(name, deed, part, self.part_of)
        self.end(name)

    def sent(self, name: str, size: int) -> None:
        """One message more, of so many bytes."""
        if (change := self._changes.get(name)) is not None:
            change.messages += 1
            change.bytes += size
            self._news[name] = None

    def waits(self, name: str, why: str) -> None:
        """It will be tried again."""
        if (change := self._changes.get(name)) is not None:
            change.error = why

    def end(self, name: str, error: str = "", unsure: bool = False) -> None:
        if (change := self._changes.get(name)) is not None and change.ended is None:
            change.ended, change.error, change.unsure = self.turn.now, error, unsure
            self._news[name] = None

    def forget(self, name: str) -> None:
        """Nothing has come of it."""
        self._changes.pop(name, None)
        self._news[name] = None

    def flush(self) -> None:
        """At the end of a turn: what is over is to be kept as it is now, and what is forgotten is not."""
        news, self._news = self._news, {}
        if not self.turn.keeping:
            return
        for name in news:
            change = self._changes.get(name)
            if change is not None and change.ended is not None:
                self._kept[name] = None
                self.turn.effects.append(KeepChange(name, msgspec.to_builtins(change)))
            elif change is None and name in self._kept:
                del self._kept[name]
                self.turn.effects.append(KeepChange(name, None))

    def recall(self, records: Iterable[Mapping[str, Any]]) -> None:
        """What the life before has had kept; what this one has taken up from its notes goes on here."""
        past = sorted((msgspec.convert(each, Change) for each in records), key=lambda change: (change.begun, change.id))
        self._kept.update(dict.fromkeys(change.id for change in past))
        self._changes = {change.id: change for change in past} | self._changes
        while len(self._changes) > CHANGES_MAX:
            self.forget(next(iter(self._changes)))

    def is_open(self, name: str) -> bool:
        return name in self._changes and self._changes[name].ended is None

    def shown(self) -> list[dict[str, Any]]:
        """For operators, plain values only, in the order in which they began."""
        return [change.shown() for change in self._changes.values()]


def change_name(change: SwapId) -> str:
    """The id of a change as text that can be typed: who it is of, and a number."""
    name, number = change
    return f"{name}.{number & _NUMBER_MASK:012x}"


def waits_for(note: SwapNote) -> str:
    """Who has to say something before this broker's part of the swap goes on."""
    mover = note.id[0]
    match note.part, note.stage:
        case Part.MOVER, Stage.FLOOD:
            return note.goal
        case Part.MOVER, _:
            return note.middle
        case Part.MIDDLE, Stage.LOCKED:
            return note.goal
        case Part.MIDDLE, _:
            return mover
        case Part.GOAL, Stage.LOCKED:
            return mover
        case _:
            return note.middle if not note.opened or not note.closed_ab else mover
