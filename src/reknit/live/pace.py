"""How long turns take: a sample of them, and the middle one.

Owns: which turns are looked at, and the memory of the last ones. Must not know: what a turn does. Reading the clock
once more for each turn would cost more than it tells, so one in so many is measured.
"""

from __future__ import annotations

from collections import deque

__all__ = ["EVERY", "Pace"]

EVERY = 64
"""One turn in so many is measured; a power of two."""
SAMPLES_MAX = 256


class Pace:
    def __init__(self) -> None:
        self._seconds: deque[float] = deque(maxlen=SAMPLES_MAX)

    def add(self, seconds: float) -> None:
        self._seconds.append(seconds)

    @property
    def p50_s(self) -> float | None:
        """Half of the last measured turns took no longer; None before the first."""
        ordered = sorted(self._seconds)
        return ordered[(len(ordered) - 1) // 2] if ordered else None
