"""The two pulls combined: each round asks towards the publisher or towards other subscribers, by chance.

They complement each other: there may be nobody else who wants a pattern, and the publisher's broker may be gone. Where
the way to the publisher is not known, others are asked in any round.

Owns: which of the two a round is. Must not know: what either does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from reknit.core.recovery.gossip import Talk
from reknit.core.recovery.lost import Triple
from reknit.core.recovery.publisher_pull import PublisherPull
from reknit.core.recovery.pull import ask_for
from reknit.core.recovery.strategy import Strategy
from reknit.core.recovery.subscriber_pull import SubscriberPull
from reknit.wire.messages import Manner

__all__ = ["Combined"]


class Combined(Strategy):
    name: ClassVar[str] = "combined"
    records_routes: ClassVar[bool] = True

    def __init__(self, talk: Talk, concerns: Callable[[int], bool]) -> None:
        super().__init__(talk, concerns)
        self._by_source = PublisherPull(talk, concerns)
        self._by_pattern = SubscriberPull(talk, concerns)

    def is_wanted(self) -> bool:
        return len(self.talk.lost) > 0

    def begin_round(self) -> None:
        towards_source = self.talk.rng.random() < self.talk.options.source_share
        if not towards_source:
            self._by_pattern.begin_round()
            return
        self._by_source.begin_round()
        self._ask_others(self.talk.turn.now)

    def _ask_others(self, now: float) -> None:
        """For events of sources that no way is known to."""
        talk = self.talk
        unknown = [each for each in talk.lost.signatures(now) if any(map(self._is_lonely, talk.lost.due(each, now)))]
        for signature in self._draw(unknown):
            ask_for(talk, signature, Manner.SUBSCRIBERS, talk.some(talk.towards(signature)), self._is_lonely)

    def _is_lonely(self, triple: Triple) -> bool:
        return triple[0] not in self.talk.routes
