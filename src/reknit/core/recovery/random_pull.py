"""Random pull: the reference that the steered ones are compared with.

The same question as of subscriber-based pull, but it goes to neighbours drawn at random, whatever the tables say.

Owns: a round of it. Must not know: what becomes of a question (see ``pull``).
"""

from __future__ import annotations

from typing import ClassVar

from reknit.core.recovery.pull import ask_for
from reknit.core.recovery.strategy import Strategy
from reknit.wire.messages import Manner

__all__ = ["RandomPull"]


class RandomPull(Strategy):
    name: ClassVar[str] = "random-pull"

    def is_wanted(self) -> bool:
        return len(self.talk.lost) > 0

    def begin_round(self) -> None:
        talk = self.talk
        for signature in self._draw(talk.lost.signatures(talk.turn.now)):
            ask_for(talk, signature, Manner.ANYBODY, talk.some(talk.neighbours()))
