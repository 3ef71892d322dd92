"""Being known on P-Grid as a member of one topic: said anew before the lease ends, and answered with other members.

Owns: when that is said, and which answer belongs to it. Must not know: what becomes of the answer.
"""

from __future__ import annotations

from reknit.community.grid.grid import Grid
from reknit.wire.peers import ENTRIES_MAX, Found

__all__ = ["Registration"]


class Registration:
    """The first ones follow each other quickly: as long as others come, too, an answer is soon old."""

    __slots__ = ("_every_s", "_grid", "_number", "_topic", "next_at")

    def __init__(self, topic: str, grid: Grid) -> None:
        self._topic = topic
        self._grid = grid
        self._number = 0
        self._every_s = min(grid.options.meet_s, grid.options.refresh_s)
        self.next_at = grid.turn.now

    def due(self) -> None:
        turn, options = self._grid.turn, self._grid.options
        if self.next_at > turn.now:
            return
        self._every_s = min(2 * self._every_s, options.refresh_s)
        self.next_at = turn.now + turn.jitter(self._every_s)
        self._number = turn.number()
        self._grid.seek(self._number, self._topic, ENTRIES_MAX, options.lease_s)

    def is_answered_by(self, found: Found) -> bool:
        return (found.number, found.topic) == (self._number, self._topic)

    def end(self) -> None:
        self._grid.withdraw(self._topic)
