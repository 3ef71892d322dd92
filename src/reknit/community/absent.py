"""Who has not answered, and may only have been out of reach.

A peer that does not confirm a word is taken for dead, and goes from all tables at once. When a network falls into
parts for longer than that takes, each side takes the other for dead, and would never hear of it again. So those are
remembered for a while, and every so often one of them is asked anew. Whom the user has named is never given up.

Owns: the memory of those, and when one is due. Must not know: how anybody is asked.
"""

from __future__ import annotations

from math import inf

from reknit.community.options import PeerOptions
from reknit.community.turn import Turn
from reknit.community.view import View

__all__ = ["Absent"]


class Absent:
    __slots__ = ("_given", "_options", "_peers", "_turn", "next_at")

    def __init__(self, options: PeerOptions, turn: Turn) -> None:
        self._options = options
        self._turn = turn
        self._given = View(turn.me, options.contacts_max)
        self._peers = View(turn.me, options.contacts_max)
        self.next_at = inf

    def given(self, contacts: tuple[str, ...]) -> None:
        """By the user: they count for ever."""
        for contact in contacts:
            self._given.add(contact)

    def lost(self, peer: str) -> None:
        is_given = peer in self._given
        if self._peers.is_full() and peer not in self._peers:
            victim = self._peers.one(self._turn.rng, *self._given)
            if victim is not None:
                self._peers.drop(victim)
        self._peers.add(peer, inf if is_given else self._turn.now + self._options.absent_s_max)
        self._wait()

    def heard(self, peer: str) -> None:
        """It lives."""
        if self._peers.drop(peer) and not len(self._peers):
            self.next_at = inf

    def due(self) -> str | None:
        """The one to ask now, if it is time for one."""
        if self.next_at > self._turn.now:
            return None
        self._peers.expire(self._turn.now)
        self.next_at = inf
        self._wait()
        return self._peers.one(self._turn.rng)

    def _wait(self) -> None:
        if len(self._peers) and self.next_at == inf and self._options.absent_s:
            self.next_at = self._turn.now + self._turn.jitter(self._options.absent_s)

    def __contains__(self, peer: str) -> bool:
        return peer in self._peers

    def __len__(self) -> int:
        return len(self._peers)
