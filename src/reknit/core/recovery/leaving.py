"""Sessions that leave: one moves when nothing that it wants is known to be missing, but not much later than it could.

What it lacks goes with it (see ``heritage``), but costs its new broker questions that the old one has asked already. So
it stays until that has come, for a bounded time: where ever more is lost there is always something.

Owns: how long each has stayed. Must not know: how a session moves.
"""

from __future__ import annotations

from reknit.core.recovery.gossip import Talk
from reknit.core.recovery.order import Order
from reknit.core.routing.table import client as client_hop

__all__ = ["Leaving"]


class Leaving:
    def __init__(self, talk: Talk, order: Order) -> None:
        self.talk = talk
        self.order = order
        self._since: dict[str, float] = {}  # by client: when it could have left

    def is_early(self, client: str) -> bool:
        """Whether its session should not leave yet."""
        if not self.talk.lost or not self._misses(client):
            return False
        now = self.talk.turn.now
        return now < self._since.setdefault(client, now) + self.talk.options.leave_s_max

    def leave(self, client: str) -> None:
        """Now it does; what waits for it goes along."""
        self._since.pop(client, None)
        self.order.flush(client)

    def _misses(self, client: str) -> bool:
        signatures = self.talk.signatures.of
        return any(self.talk.lost.has_any(signatures[pattern]) for pattern in self.talk.table.of(client_hop(client)))
