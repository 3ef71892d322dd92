"""What a swap takes: the messages that its three brokers send each other, and their bytes.

Owns: the price of one swap of a tree, from what brokers' clients want. Must not know: what a swap saves, or whether it
is worth its price.

The tables that travel dominate (reference, section 7.2): what is wanted behind the mover goes to the goal, and what is
wanted behind the middle apart from both others goes to the mover. So a swap of a broker with many subscriptions
behind it is dear, and one of a leaf is cheap. Counted are the very words that the brokers say, in the brokers' bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from reknit.core.overlay.swap import swap_messages
from reknit.core.routing.announcements import without_covered
from reknit.model.pattern import Pattern
from reknit.planning.tree import Swap, Tree
from reknit.wire.codec import encode
from reknit.wire.messages import Entry

__all__ = ["SWAP_MESSAGES", "Price", "Prices", "Wanted"]

Wanted: TypeAlias = Mapping[str, Sequence[Pattern]]
"""By broker: what its clients want."""

ADDRESS = "255.255.255.255:65535"
"""In the place of the mover's own, which a trace does not tell: the longest that there is of this kind."""

SWAP_MESSAGES = len(swap_messages(Swap("a", "b", "c"), "", [], []))
"""That every swap takes, if nothing travels and nothing fails (the chart of section 8.3 of the reference)."""


class Price(msgspec.Struct, frozen=True):
    messages: int
    bytes: int


class Prices:
    """Of the swaps of one tree."""

    def __init__(self, tree: Tree, wanted: Wanted, routing: str, covering: bool) -> None:
        self.tree, self.wanted, self.routing, self.covering = tree, wanted, routing, covering
        self._told: dict[tuple[str, str], list[Pattern]] = {}

    def of(self, swap: Swap) -> Price:
        words = swap_messages(swap, ADDRESS, *self._sides(swap))
        return Price(len(words), sum(len(encode(word)) for word in words))

    def _sides(self, swap: Swap) -> tuple[list[Entry], list[Entry]]:
        """What travels: wanted behind the mover, and at the middle apart from both others."""
        if self.routing == "flooding":
            return [], []
        if self.routing == "global-table":
            return [(name, []) for name in self._behind(swap.mover, swap.middle) if self.wanted.get(name)], []
        others = [name for name in self.tree.neighbours[swap.middle] if name not in (swap.mover, swap.goal)]
        apart = dict.fromkeys(self.wanted.get(swap.middle, ()))
        for name in others:
            apart |= dict.fromkeys(self._told_by(name, swap.middle))
        return [("", self._told_by(swap.mover, swap.middle))], [("", list(apart))]

    def _told_by(self, speaker: str, hearer: str) -> list[Pattern]:
        """What the one has told the other that it wants, in an order that depends on nothing else."""
        if (speaker, hearer) not in self._told:
            names = self._behind(speaker, hearer)
            patterns: Iterable[Pattern] = sorted({each for name in names for each in self.wanted.get(name, ())})
            self._told[speaker, hearer] = without_covered(patterns) if self.covering else list(patterns)
        return self._told[speaker, hearer]

    def _behind(self, start: str, hearer: str) -> list[str]:
        found, todo = list[str](), [(start, hearer)]
        while todo:
            name, before = todo.pop()
            found.append(name)
            todo += [(other, name) for other in self.tree.neighbours[name] if other != before]
        return sorted(found)
