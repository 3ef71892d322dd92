"""Rounds of gossip: which are ours, and which have been heard.

A round has a number that nobody can guess. Whoever answers must know it, so a stranger's datagram brings nothing in and
gets nothing out; and each round of another broker is heard once, so a message that is sent again has no effect. One
in which others are told what is kept is about one pattern: whoever has heard of it may ask for that one, and no other.

Owns: the numbers. Must not know: what is asked.
"""

from __future__ import annotations

import random

__all__ = ["Rounds", "draw"]

ROUND_BITS = 62


def draw(rng: random.Random) -> int:
    """A number that nobody can guess."""
    return rng.getrandbits(ROUND_BITS) + 1


class Rounds:
    def __init__(self, rounds_max: int, rng: random.Random) -> None:
        self.rounds_max = rounds_max
        self.rng = rng
        self._ours: dict[int, int | None] = {}  # and of which pattern it has told others what is kept here
        self._heard: dict[tuple[str, int], None] = {}
        self._answers: dict[tuple[int, int], None] = {}

    def begin(self, offers: int | None = None) -> int:
        """``offers``: the signature of the pattern of which others are told what is kept here."""
        number = draw(self.rng)
        self._ours[number] = offers
        self._forget()
        return number

    def expect(self, number: int) -> None:
        """Answers may come under this number from now on."""
        self._ours.setdefault(number, None)
        self._forget()

    def _forget(self) -> None:
        if len(self._ours) > self.rounds_max:
            del self._ours[next(iter(self._ours))]

    def is_ours(self, number: int) -> bool:
        return number in self._ours

    def has_offered(self, number: int, signature: int) -> bool:
        """Whether it is ours, and has told others of this pattern."""
        return self._ours.get(number) == signature

    def is_first(self, number: int, mark: int) -> bool:
        """Whether no answer under this number was the same; ``mark`` stands for what it says. A round has several."""
        if (number, mark) in self._answers:
            return False
        self._answers[number, mark] = None
        if len(self._answers) > self.rounds_max:
            del self._answers[next(iter(self._answers))]
        return True

    def hear(self, who: str, number: int) -> bool:
        """False if this one has been heard before."""
        if (who, number) in self._heard:
            return False
        self._heard[who, number] = None
        if len(self._heard) > self.rounds_max:
            del self._heard[next(iter(self._heard))]
        return True
