"""What clients do in a schedule: a small world of topics and attributes, so that interests overlap often.

Owns: the draw of patterns and events. Must not know: brokers.
"""

from __future__ import annotations

import random

from reknit.model.event import Event
from reknit.model.pattern import Pattern

__all__ = ["World"]

_TOPICS = ("a", "a/b", "a/b/c", "a/c", "b", "b/c", "c/b/a")
_FILTERS = ("#", "a/#", "a/+", "+/b", "+", "a/b", "b", "b/c", "a/+/c", "+/+/#")
_SELECTORS = (
    "x > 3",
    "x >= 5",
    "x BETWEEN 2 AND 6",
    "x = 4",
    "x <> 4",
    "x IN (1, 3, 5)",
    "colour = 'red'",
    "colour IN ('red', 'green')",
    "colour LIKE 'gr%'",
    "x > 2 AND colour = 'red'",
    "x < 8 OR y > 0.5",
    "NOT (x = 4)",
    "y * 2 > x",
    "flag = TRUE",
    "colour IS NULL",
)


class World:
    def __init__(self, rng: random.Random, content: float, exact: bool = False) -> None:
        """``content``: the share of patterns with a selector. ``exact``: no filter has a wildcard."""
        self.rng = rng
        self.content = content
        self.filters = _TOPICS if exact else _FILTERS
        self.patterns = [self._pattern() for _ in range(rng.randint(3, 12))]

    def _pattern(self) -> Pattern:
        selector = self.rng.choice(_SELECTORS) if self.rng.random() < self.content else ""
        return Pattern.parse(self.rng.choice(self.filters), selector)

    def pattern(self) -> Pattern:
        return self.rng.choice(self.patterns)

    def event(self) -> Event:
        rng = self.rng
        attributes: dict[str, str | int | float | bool] = {}
        if rng.random() < 0.9:
            attributes["x"] = rng.randrange(10)
        if rng.random() < 0.6:
            attributes["colour"] = rng.choice(("red", "green", "grey"))
        if rng.random() < 0.4:
            attributes["y"] = rng.randrange(8) / 4
        if rng.random() < 0.3:
            attributes["flag"] = rng.random() < 0.5
        return Event(rng.choice(_TOPICS), b"", attributes)
