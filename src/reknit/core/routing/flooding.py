"""Flooding: every event goes everywhere. The oracle that the clever strategies are compared with."""

from __future__ import annotations

from reknit.core.routing.base import Routing, Sender
from reknit.core.routing.table import Route
from reknit.core.turn import Turn
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.wire.messages import Entry, Message

__all__ = ["Flooding"]


class Flooding(Routing):
    """Subscriptions stay where they are; the table holds clients only."""

    name = "flooding"

    def __init__(self, turn: Turn, send: Sender) -> None:
        super().__init__(turn, send)
        self._neighbours: tuple[str, ...] = ()
        self.route = self._everywhere

    def subscribe(self, name: str, pattern: Pattern) -> None:
        self._add_client(name, pattern)

    def unsubscribe(self, name: str, pattern: Pattern) -> None:
        self._remove_client(name, pattern)

    def tell(self, neighbour: str) -> None:
        if neighbour not in self._neighbours:
            self._neighbours += (neighbour,)
        self._send_snapshot(neighbour, [])

    def forget(self, neighbour: str) -> None:
        self._neighbours = tuple(name for name in self._neighbours if name != neighbour)

    def receive(self, neighbour: str, message: Message) -> None:
        """Nobody has anything to say about subscriptions."""

    def replace(self, neighbour: str, entries: list[Entry]) -> None:
        pass

    def pause(self, neighbour: str) -> None:
        """There is nothing to be said."""

    def resume(self, neighbour: str) -> None:
        pass

    def behind(self, neighbour: str) -> list[Entry]:
        return []

    def apart_from(self, one: str, other: str) -> list[Entry]:
        return []

    def rename(self, old: str, new: str) -> None:
        self._neighbours = tuple(new if name == old else name for name in self._neighbours)

    def merge(self, gone: str, into: str, said: list[Entry]) -> None:
        self.forget(gone)

    def split(self, old: str, new: str, behind_old: list[Entry], behind_new: list[Entry]) -> None:
        self._neighbours += (new,)

    def _everywhere(self, event: Event) -> Route:
        return Route(self._neighbours, self.table.route(event).matches)
