"""What a community asks of whatever keeps its table of members.

Owns: the shape of a membership. Must not know: any of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import inf

from reknit.community.courier import Courier
from reknit.community.grid.grid import Grid
from reknit.community.options import TopicOptions
from reknit.community.turn import Turn
from reknit.community.view import View
from reknit.trace.records import Kind
from reknit.wire.peers import Contact, Found, Word

__all__ = ["Membership"]

TABLE = "table"
"""The detail of records about the topic table, as opposed to tables of members above."""


class Membership(ABC):
    """``view`` is the topic table: those to whom a member gossips."""

    searches = True
    """Whether somebody has to look for members while the table is empty."""

    uses_grid = False
    """Whether members, here and above, are looked for on P-Grid; where all are registered, parts find each other."""

    draws_above = False
    """Whether tables of members above are drawn there anew every so often, as the topic table is."""

    def __init__(
        self, topic: str, options: TopicOptions, turn: Turn, courier: Courier, grid: Grid | None = None
    ) -> None:
        self.topic = topic
        self.options = options
        self.turn = turn
        self.courier = courier
        self.grid = grid
        self.view = View(turn.me, options.scamp.view_max)

    @abstractmethod
    def join(self, contacts: tuple[str, ...]) -> None:
        """Become a member, with the help of any of these, which are members; there may be none (yet)."""

    @abstractmethod
    def leave(self) -> None:
        """Tell whoever has to know."""

    @abstractmethod
    def population(self) -> float:
        """How many members there are, oneself included, as far as is known."""

    def receive(self, sender: str, word: Word) -> list[Contact]:
        """A word about this membership; members of communities above that came with it."""
        self.turn.count("unexpected")
        return []

    def meet(self, peers: tuple[str, ...]) -> None:
        """Members that were found though others are known: perhaps of a part that does not know of ours."""
        self.turn.count("unexpected")

    def found(self, found: Found) -> bool:
        """An answer of P-Grid's; whether it was ours to have."""
        return False

    def need_grid(self) -> Grid:
        if self.grid is None:
            raise ValueError(f"a membership like that of {self.topic} needs P-Grid")
        return self.grid

    def failed(self, to: str, word: Word) -> None:
        """``to`` has not confirmed a word of ours."""
        self.drop(to)

    def beat(self) -> bool:
        """Whether it is time to tell the others of members above; ``tell`` does so."""
        return False

    @abstractmethod
    def tell(self, supers: tuple[Contact, ...]) -> None:
        """Tell others of the community about members above, together with whatever they have to be told."""

    def deadline(self) -> float:
        return inf

    def due(self) -> None:
        """What the time has brought, but for a beat."""
        self.expire()

    def add(self, peer: str, until: float = inf) -> bool:
        if not self.view.add(peer, until):
            return False
        self.turn.saw_table(Kind.ROUTE_ADDED, self.topic, peer, TABLE)
        return True

    def drop(self, peer: str) -> None:
        if self.view.drop(peer):
            self.turn.saw_table(Kind.ROUTE_REMOVED, self.topic, peer, TABLE)

    def expire(self) -> None:
        for peer in self.view.expire(self.turn.now):
            self.turn.saw_table(Kind.ROUTE_REMOVED, self.topic, peer, TABLE)
