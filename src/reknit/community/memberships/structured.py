"""Tables from P-Grid: whoever is a member says so there, and gets ``ln N + c`` others by chance, anew every so often.

Nobody has to be told anything but those who keep the list. So tables have all the same size, their members are drawn
evenly, and the size of the community comes with them. Tables of members above are drawn in the same way. Who has died
stays in tables until its lease ends there and the next table is drawn.

Owns: this table. Must not know: how P-Grid finds anybody.
"""

from __future__ import annotations

from math import floor, log

from reknit.community.courier import Courier
from reknit.community.grid.grid import Grid
from reknit.community.grid.registration import Registration
from reknit.community.memberships.base import Membership
from reknit.community.options import TopicOptions
from reknit.community.turn import Turn
from reknit.wire.peers import Contact, Found, Remove, Word

__all__ = ["Structured"]


class Structured(Membership):
    uses_grid = True
    draws_above = True

    def __init__(
        self, topic: str, options: TopicOptions, turn: Turn, courier: Courier, grid: Grid | None = None
    ) -> None:
        super().__init__(topic, options, turn, courier, grid)
        self._registration = Registration(topic, self.need_grid())
        self._population = 1

    def join(self, contacts: tuple[str, ...]) -> None:
        """Members that are known by other ways make do until the first table comes."""
        for contact in contacts:
            if not self.view.is_full() and self._population < 2:
                self.add(contact, self._until())

    def leave(self) -> None:
        self._registration.end()

    def population(self) -> float:
        return float(self.options.population or max(self._population, len(self.view) + 1))

    def found(self, found: Found) -> bool:
        """Another table, if this was the answer to a registration. One without anybody says only that we are first."""
        if not self._registration.is_answered_by(found):
            return False
        self._population = max(1, found.population)
        peers = [peer for peer in found.peers if peer != self.turn.me]
        wanted = dict.fromkeys(peers[: max(1, floor(log(self._population) + self.options.c))])
        for peer in [peer for peer in self.view if peer not in wanted] if wanted else []:
            self.drop(peer)
        for peer in wanted:
            self.add(peer, self._until())
        return True

    def _until(self) -> float:
        """Until when somebody is a member for certain, but for who leaves: no longer than its lease."""
        return self.turn.now + self.need_grid().good_s

    def meet(self, peers: tuple[str, ...]) -> None:
        """The next table has them, if they are members."""

    def receive(self, sender: str, word: Word) -> list[Contact]:
        if isinstance(word, Remove):
            self.drop(sender)
            return []
        return super().receive(sender, word)

    def tell(self, supers: tuple[Contact, ...]) -> None:
        """Everybody finds them for itself."""

    def deadline(self) -> float:
        return min(self._registration.next_at, self.view.next_end())

    def due(self) -> None:
        self.expire()
        self._registration.due()
