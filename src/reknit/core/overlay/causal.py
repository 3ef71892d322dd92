"""The causal stamp: what keeps causes before effects while three brokers all talk to each other directly.

On a tree with FIFO links causal order comes for free. In the triangle of a swap it does not: x sends e1 directly to y
and to z; y answers with e2 and sends it directly to z, where e2 can overtake e1. So each message among the three
carries how many messages its sender knows to have been sent from each to each (three by three), and a message waits
until all that were sent to its receiver in its past have been handled. It waits for its causes only, never for the
end of the swap.

Owns: the counts. Must not know: what a message holds, or where it waits.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["Stamps"]


class Stamps:
    """The counts as broker ``me``, one of three ``members``, knows them."""

    def __init__(self, members: tuple[str, str, str], me: str) -> None:
        self._place = {name: place for place, name in enumerate(members)}
        self._me = self._place[me]
        self._sent = [0] * 9  # from each to each, as far as is known here
        self._handled = [0] * 3  # of what each has sent here

    def count(self, receiver: str) -> None:
        """One more message is on its way from here to ``receiver``."""
        self._sent[3 * self._me + self._place[receiver]] += 1

    def stamp(self) -> list[int]:
        return list(self._sent)

    def ready(self, sender: str, stamp: Sequence[int]) -> bool:
        """Has all that was sent here before this message been handled? What comes from its sender is in order."""
        return all(
            stamp[3 * other + self._me] <= self._handled[other]
            for other in range(3)
            if other != self._me and other != self._place[sender]
        )

    def handle(self, sender: str, stamp: Sequence[int]) -> None:
        self._handled[self._place[sender]] += 1
        self._sent = [max(known, told) for known, told in zip(self._sent, stamp, strict=True)]
