"""A broker as a member of a ring: its place (``chord``) and its part of the topics' trees (``trees``), kept in step.

Owns: which of the two hears what, and the times of both. Must not know: how a broker is reached, or what an event is.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from reknit.core.ring.chord import Chord, ChordMessage
from reknit.core.ring.options import RingOptions
from reknit.core.ring.trees import ROOT, Trees
from reknit.core.turn import earliest
from reknit.model.ring import BITS
from reknit.wire.ring import Branch, RingMessage, Spot, Wanted

__all__ = ["Member"]


class Member:
    def __init__(
        self,
        me: Spot,
        send: Callable[[Spot, RingMessage], None],
        options: RingOptions,
        rng: random.Random,
        contacts: Sequence[Spot] = (),
        bits: int = BITS,
    ) -> None:
        self.me, self.options = me, options
        self._send = send
        self.chord = Chord(me, self._say, options, rng, contacts, bits)
        self.trees = Trees(me[0], self, self._say_to, options.hops_max, bits)
        self._spots: dict[int, Spot] = {}  # by id: who is, or was, a next hop
        self._refresh_at: float | None = None

    # --- what the trees see of the ring

    def owns(self, key: int) -> bool:
        return self.chord.owns(key)

    def hop(self, key: int) -> int | None:
        if (spot := self.chord.way_to(key)) is None:
            return None
        self._spots[spot[0]] = spot
        return spot[0]

    # --- inputs

    def received(self, sender: Spot, message: RingMessage) -> None:
        if isinstance(message, Wanted | Branch):
            self.trees.received(sender[0], message)
        else:
            self.chord.received(message)
        self._keep_in_step()

    def want(self, topic: str) -> None:
        self.trees.want(topic)

    def want_no_more(self, topic: str) -> None:
        self.trees.want_no_more(topic)

    def lost(self, spot: Spot) -> None:
        """It is dead, or has begun another life that knows nothing."""
        self.trees.lost(spot[0])
        self.chord.lost(spot)
        self.chord.changed = True
        self._keep_in_step()

    def leave(self) -> None:
        """Topics that are rooted here go to the successor, which owns their keys as soon as it hears of the leave."""
        heir = self.chord.successor
        self.chord.leave()
        if heir == self.me:
            return
        for topic, entries in self.trees.entries.items():
            for member, entry in entries.items():
                if entry.parent == ROOT and member != self.me[0]:
                    self._say(heir, Wanted(topic, member, True))

    def _keep_in_step(self) -> None:
        if self.chord.changed:
            self.chord.changed = False
            self.trees.reroute()

    # --- times

    def deadline(self) -> float | None:
        return earliest(self.chord.deadline(), self._refresh_at)

    def due(self, now: float) -> None:
        self.chord.due(now)
        self._keep_in_step()
        if self._refresh_at is None or now >= self._refresh_at:
            self._refresh_at = now + self.options.refresh_s
            self.trees.refresh()

    # --- effects

    def _say(self, spot: Spot, message: ChordMessage | Wanted | Branch) -> None:
        self._send(spot, message)

    def _say_to(self, number: int, message: Wanted | Branch) -> None:
        self._send(self._spots[number], message)
