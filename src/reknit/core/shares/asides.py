"""Sessions on their way, and what was put aside for them: as much of it as a next life of this broker has to know.

An event for a session that is on its way is in no queue: it waits in memory until it is known where the session stays.
Where events are kept it has an entry as any queue has, and so has the move itself: the old broker's next life takes a
session back that it may have given away, and the new one's knows that the one it has may be taken back.

    entry   from                                        to
    ------  ------------------------------------------  --------------------------------------------------------------
    aside   an event is put aside for a session         it is known where the session stays
    move    the old one: it gives the state away        the session is gone, or ends, or moves again: who has taken it
                                                        back says so again in each life, in case that it was not heard
            the new one: it has the state               the client knows where its session is, or the session is gone

Owns: which of these entries there are. Must not know: why a session moves, or who is told.
"""

from __future__ import annotations

from collections.abc import Iterable

from reknit.core.io import DropAside, DropMove, KeepAside, KeepMove
from reknit.core.turn import Turn
from reknit.model.event import Event
from reknit.model.pattern import Pattern

__all__ = ["Asides"]


class Asides:
    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self._numbers: dict[str, list[int]] = {}  # by client: its entries
        self._last = 0
        self._moves: dict[str, None] = {}  # clients that have an entry

    def put(self, client: str, event: Event, patterns: tuple[Pattern, ...], group: str = "") -> None:
        """``group``: the one that the event is for, if it is not for the client itself."""
        if self.turn.keeping and event.qos:
            self._last += 1
            self._numbers.setdefault(client, []).append(self._last)
            self.turn.effects.append(KeepAside(client, self._last, event, patterns, group))

    def clear(self, client: str) -> None:
        """All that was put aside for it is somewhere else now, or of no use."""
        if numbers := self._numbers.pop(client, None):
            self.turn.effects.append(DropAside(client, tuple(numbers)))

    def begin(self, client: str, peer: str, move: int, *, came: bool) -> None:
        """Its session is given to ``peer``, or has come from there."""
        if self.turn.keeping:
            self._moves[client] = None
            self.turn.effects.append(KeepMove(client, peer, move, came))

    def end(self, client: str) -> None:
        """The next life need not know that it was on its way."""
        self.clear(client)
        if client in self._moves:
            del self._moves[client]
            self.turn.effects.append(DropMove(client))

    def recall(self, asides: Iterable[KeepAside], moves: Iterable[KeepMove]) -> None:
        """Entries of a life before, which are there until they are dropped."""
        for each in asides:
            self._numbers.setdefault(each.client, []).append(each.number)
            self._last = max(self._last, each.number)
        for move in moves:
            self._moves[move.client] = None
