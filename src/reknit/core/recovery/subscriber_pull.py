"""Subscriber-based pull (EPIDEMIC, 4.2, Figure 3, left).

In a round a broker draws a pattern of its own clients of which something is missing, and asks towards others who want
it: they are where events of the pattern gather. It is reactive: where nothing is lost, nothing is said.

Owns: a round of it. Must not know: what becomes of a question (see ``pull``).
"""

from __future__ import annotations

from typing import ClassVar

from reknit.core.recovery.pull import ask_for
from reknit.core.recovery.strategy import Strategy
from reknit.wire.messages import Manner

__all__ = ["SubscriberPull"]


class SubscriberPull(Strategy):
    name: ClassVar[str] = "subscriber-pull"

    def is_wanted(self) -> bool:
        return len(self.talk.lost) > 0

    def begin_round(self) -> None:
        talk = self.talk
        for signature in self._draw(talk.lost.signatures(talk.turn.now)):
            ask_for(talk, signature, Manner.SUBSCRIBERS, talk.some(talk.towards(signature)))
