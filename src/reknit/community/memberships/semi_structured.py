"""SCAMP, with contacts found through P-Grid rather than by asking around.

A member is known there as such, so newcomers are spread over all members from the beginning, and parts that do not know
of each other meet again: answers to registrations name some members, and every so often one who is a stranger is met.

Owns: being known. Must not know: how P-Grid finds anybody; views are SCAMP's.
"""

from __future__ import annotations

from math import inf

from reknit.community.courier import Courier
from reknit.community.grid.grid import Grid
from reknit.community.grid.registration import Registration
from reknit.community.memberships.scamp import Scamp
from reknit.community.options import TopicOptions
from reknit.community.turn import Turn
from reknit.wire.peers import Found

__all__ = ["SemiStructured"]


class SemiStructured(Scamp):
    uses_grid = True

    def __init__(
        self, topic: str, options: TopicOptions, turn: Turn, courier: Courier, grid: Grid | None = None
    ) -> None:
        super().__init__(topic, options, turn, courier, grid)
        self._registration = Registration(topic, self.need_grid())
        self._meet_at = turn.now + self.terms.reunion_s if self.terms.reunion_s else inf

    def found(self, found: Found) -> bool:
        if not self._registration.is_answered_by(found):
            return False
        if not len(self.view):
            self.join(found.peers)
        elif self._meet_at <= self.turn.now:
            self._meet_at = self.turn.now + self.terms.reunion_s
            self.meet(found.peers)
        return True

    def leave(self) -> None:
        self._registration.end()
        super().leave()

    def deadline(self) -> float:
        return min(self._registration.next_at, super().deadline())

    def due(self) -> None:
        self._registration.due()
        super().due()
