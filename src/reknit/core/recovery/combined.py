"""The two pulls combined: each round asks towards the publisher or towards other subscribers, by chance.

They complement each other: there may be nobody else who wants a pattern, and the publisher's broker may be gone. Where
the way to the publisher is not known, others are asked.

Owns: which of the two a round is. Must not know: what either does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from reknit.core.recovery.gossip import Talk
from reknit.core.recovery.publisher_pull import PublisherPull
from reknit.core.recovery.strategy import Strategy
from reknit.core.recovery.subscriber_pull import SubscriberPull

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
        (self._by_source if towards_source else self._by_pattern).begin_round()
