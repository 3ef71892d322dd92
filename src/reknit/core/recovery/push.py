"""Push, with positive digests (EPIDEMIC, 4.1, Figure 2).

In each round a broker draws a pattern from its whole table, and tells some who want it which of its cached events
match. Whoever wants the pattern and misses one of them asks for it, past the tree; and everybody may pass the message
on. It is proactive: it needs no gap to be seen, and costs about the same whether anything is lost or not. So that a
network at rest is at rest, an event is offered for a while only.

Owns: a round of push, and what others do with it. Must not know: how a gap is found otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from reknit.core.recovery.ranges import to_ranges
from reknit.core.recovery.strategy import Strategy
from reknit.wire.messages import Asker, Keeps, Wants

__all__ = ["Push"]


class Push(Strategy):
    name: ClassVar[str] = "push"

    def is_wanted(self) -> bool:
        talk = self.talk
        return talk.cache.newest >= talk.turn.now - talk.options.digest_s_max

    def begin_round(self) -> None:
        talk = self.talk
        fresh = [each for each in talk.cache.signatures() if talk.towards(each) and any(self._fresh(each))]
        for signature in self._draw(fresh):
            self._offer(signature)

    def _fresh(self, signature: int) -> Iterator[tuple[str, list[int]]]:
        return self.talk.cache.fresh(signature, self.talk.turn.now - self.talk.options.digest_s_max)

    def _offer(self, signature: int) -> None:
        talk = self.talk
        left = talk.options.digest_numbers_max
        kept = []
        for source, numbers in self._fresh(signature):
            newest = sorted(numbers)[-left:]
            left -= len(newest)
            kept.append((source, to_ranges(newest)))
            if left <= 0:
                break
        towards = talk.towards(signature)
        chosen = [name for name in towards if talk.rng.random() < talk.options.forward]
        talk.tell(chosen or [talk.rng.choice(towards)], Keeps(talk.begin(signature), signature, kept, 0))

    # --- what others say

    def receive(self, sender: str, message: Keeps) -> None:
        talk = self.talk
        if not talk.is_new(message.asker):
            return
        if message.signature in talk.signatures.own:
            self._ask(message)
        if message.hops < talk.options.hops_max:
            towards = talk.towards(message.signature, apart_from=sender)
            chosen = [name for name in towards if talk.rng.random() < talk.options.forward]
            talk.tell(chosen, Keeps(message.asker, message.signature, message.kept, message.hops + 1))

    def _ask(self, message: Keeps) -> None:
        """For what has not come here."""
        talk, signature = self.talk, message.signature
        lost = talk.compare(signature, message.kept)
        if lost:
            talk.rounds.expect(message.asker.round)
            asker = Asker(talk.turn.node, talk.address, message.asker.round)
            talk.send(message.asker, Wants(asker, signature, talk.age_s(signature), lost))
            talk.figures.requests += 1

    def on_wants(self, message: Wants) -> None:
        """Whom we have told of our events under this round; of other patterns it was told nothing."""
        talk = self.talk
        if not talk.rounds.is_ours(message.asker.round):
            talk.figures.unasked += 1
        elif not talk.rounds.has_offered(message.asker.round, message.signature):
            talk.figures.unentitled += 1
        elif talk.is_new(message.asker) and talk.is_entitled(message.signature, ""):
            found, _ = talk.take_out(message.signature, message.age_s, message.lost)
            talk.answer(message.asker, found)
