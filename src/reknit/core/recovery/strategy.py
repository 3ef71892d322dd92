"""The shape of an algorithm of recovery: what it does in a round, and what it does with the gossip of others.

Owns: the shape. Must not know: any algorithm. An algorithm keeps nothing of its own; all that is shared is in ``Talk``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

from reknit.core.recovery.gossip import Talk

__all__ = ["Strategy"]


class Strategy(ABC):
    name: ClassVar[str]
    records_routes: ClassVar[bool] = False
    """Whether events have to say by which brokers they have come."""
    names_publisher: ClassVar[bool] = False
    """Whether they have to say where their own broker is reached."""

    def __init__(self, talk: Talk, concerns: Callable[[int], bool]) -> None:
        """``concerns``: whether this algorithm is the one for the pattern with this signature."""
        self.talk = talk
        self.concerns = concerns

    @abstractmethod
    def is_wanted(self) -> bool:
        """Is there a reason for a round?"""

    @abstractmethod
    def begin_round(self) -> None: ...

    def interval_s(self) -> float:
        """From one round to the next."""
        return self.talk.options.gossip_s

    def _draw(self, signatures: list[int]) -> list[int]:
        """The patterns that this round is about."""
        mine = [each for each in signatures if self.concerns(each)]
        count = min(len(mine), self.talk.options.patterns_per_round)
        return self.talk.rng.sample(mine, count) if count else []
