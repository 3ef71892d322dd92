"""What a broker that leaves has kept for others goes to the one that takes its clients over.

Whatever it has published, and its neighbours have lost, nobody else may have. So before its last link is left, its
cache is sent along it, the newest first, as much as there is room for; the link loses none of that. Who takes it over
keeps it like what its own clients want. What it has not had itself has come back with it.

Owns: what is handed over, and what becomes of it there. Must not know: how sessions move, or when a link is left.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from reknit.core.links.link import Link
from reknit.core.links.loose import datagram_bytes_of
from reknit.core.recovery.cache import Cached
from reknit.core.recovery.gossip import Talk
from reknit.core.recovery.history import History
from reknit.core.recovery.returns import Returned, Returns
from reknit.model.event import Event
from reknit.trace.records import Kind
from reknit.wire.marks import numbers_of_event
from reknit.wire.messages import Bequest

__all__ = ["Bequests"]

PART_BYTES = 16 * 1024
"""It travels in messages of about this size."""


class Bequests:
    def __init__(self, talk: Talk, history: History, returns: Returns) -> None:
        self.turn = talk.turn
        self.talk = talk
        self.history = history
        self.returns = returns
        self._handed_over = -math.inf  # all that was published until then
        self._heirs: list[tuple[str, int]] = []  # to whom, and in which life of theirs

    # --- who leaves

    def leave(self) -> None:
        """To the only neighbour; once, unless it has died since."""
        talk = self.talk
        heirs = [(link.peer, link.peer_incarnation) for link in self._links()]
        after = self._handed_over if heirs == self._heirs else -math.inf
        self._handed_over, self._heirs = talk.cache.newest, heirs
        if talk.cache.newest <= after:
            return
        left, part, size = talk.options.bequest_bytes_max, list[Cached](), 0
        for cached in sorted(talk.cache.every(after), key=lambda each: each.born, reverse=True):
            needs = datagram_bytes_of(cached.event)
            left -= needs
            if left < 0:
                break
            if part and size + needs > PART_BYTES:
                self._send(part)
                part, size = [], 0
            part.append(cached)
            size += needs
        if part:
            self._send(part)

    def _send(self, part: list[Cached]) -> None:
        now = self.turn.now
        bequest = Bequest([max(0.0, now - each.born) for each in part], [each.event for each in part])
        for link in self._links():
            link.send(bequest)

    def _links(self) -> list[Link]:
        links = [self.talk.overlay.link(name) for name in self.talk.neighbours()]
        return [link for link in links if link is not None]

    # --- who stays

    def take(self, peer: str, bequest: Bequest) -> Iterator[Returned]:
        """What of it comes back to this broker itself."""
        talk, now = self.talk, self.turn.now
        for event, age_s in sorted(zip(bequest.events, bequest.ages_s, strict=True), key=lambda pair: pair[0].seq):
            if event.source == talk.source:
                continue
            born, missed = now - age_s, self.returns.is_missed(event)
            new = (missed or self._is_wanted(event)) and self.history.add(event.source, event.seq)
            if missed or new:
                self.returns.arrived_again(event)
            if not self._is_kept(event):
                talk.cache.put([event], True, born)
            if new:
                talk.figures.recovered += 1
                self.turn.see(Kind.RECOVERED, peer=peer, event=event)
            if missed or new:
                yield Returned(event, born, new)

    def _is_wanted(self, event: Event) -> bool:
        return any(signature in self.talk.signatures.own for signature, _ in numbers_of_event(event))

    def _is_kept(self, event: Event) -> bool:
        find = self.talk.cache.find
        return any(find(event.source, signature, [n], -math.inf)[0] for signature, n in numbers_of_event(event))
