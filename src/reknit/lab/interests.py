"""Who wants which topics: the three patterns of DYNATOPS's Poisson model (section 6.1.2).

Owns: the drawing of topics for users. Must not know: brokers, or what is measured. Everything comes from the
generator that is given. One mode for each user in the multimodal pattern; the exponent of Zipf's law is not in the
paper."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

__all__ = ["PATTERNS", "Interests", "Pattern"]

Pattern: TypeAlias = Literal["uniform", "zipf", "multimodal"]
PATTERNS: tuple[Pattern, ...] = get_args(Pattern)


class Interests:
    """``modes``: so many equal parts of the topics, of which a user wants one (multimodal)."""

    def __init__(self, pattern: Pattern, topics: int, each: int, modes: int = 1, sigma: float = 1.0) -> None:
        if pattern not in PATTERNS:
            raise ValueError(f"pattern {pattern!r}: it is one of {', '.join(PATTERNS)}")
        if modes < 1 or (modes > 1 and pattern != "multimodal") or topics % modes:
            raise ValueError(f"{topics} topics in {modes} modes: only the multimodal pattern has some, of equal size")
        self._room = topics // modes
        if not 0 < each <= self._room:
            raise ValueError(f"{each} topics for each user, of {self._room}")
        self.pattern, self.topics, self.each, self.modes = pattern, topics, each, modes
        weights = np.arange(2, topics + 2) ** -sigma  # as printed: (i + 1) ** -sigma, i from 1 on
        self._popularity = weights / weights.sum()

    def draw(self, users: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """A row for each user: different topics."""
        size = self._room
        found = np.zeros((users, self.each), dtype=np.int64)
        for column in range(self.each):
            again = np.arange(users)
            while again.size:
                found[again, column] = self._some(again.size, size, rng)
                again = again[(found[again, :column] == found[again, column][:, None]).any(axis=1)]
        if self.pattern == "multimodal":
            found += rng.integers(self.modes, size=users)[:, None] * size
        return found

    def replacement(self, wanted: npt.NDArray[np.int64], rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """One of the topics is given up for another of the same pattern, and of the same mode."""
        found = wanted.copy()
        if self.each == self._room:
            return found  # it wants all that there is
        first = int(wanted[0]) // self._room * self._room
        while (fresh := first + int(self._some(1, self._room, rng)[0])) in wanted:
            pass
        found[rng.integers(self.each)] = fresh
        return found

    def topics_of_events(self, count: int, rng: np.random.Generator) -> npt.NDArray[np.int32]:
        """Events are of topics as they are liked: modes are all alike."""
        topics = self._some(count, self.topics, rng)
        return topics.astype(np.int32)

    def _some(self, count: int, size: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        if self.pattern == "zipf":
            return rng.choice(self.topics, size=count, p=self._popularity)
        return rng.integers(size, size=count)
