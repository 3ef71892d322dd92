"""What a swap would save, exactly, from what each broker sees of the events that pass it.

Owns: the cost of a tree for given traffic, and the gain of each swap. Must not know: which swaps are worth while.

An event *involves* the broker that it was published at and those that have delivered it; on a tree it crosses the links
that connect them, each once. For ``swap(a, b, c)`` let A and C be what is behind a and c, as b sees them, and B the
rest. Then only two kinds of events cost something else afterwards: those that involve exactly A and C come to cross one
link less, those that involve exactly A and B one more. Everything that is needed is seen at b:

    gain(a, b, c) = both_only[a, c] - (cross[a] - cross2[a, c])

``cross[u]`` counts the events that cross the link to u, ``cross2[u, v]`` those that cross both, and ``both_only[u, v]``
those that cross these two, no third, and concern no client of b.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import permutations

from reknit.planning.tree import Swap, Tree

__all__ = ["Flow", "Gains", "cost"]


@dataclass(frozen=True, slots=True)
class Flow:
    """Events that involve the same brokers, and how many there were."""

    brokers: tuple[str, ...]
    events: int


def cost(tree: Tree, flows: Iterable[Flow]) -> int:
    """How often events cross links."""
    return sum(len(tree.span(flow.brokers)) * flow.events for flow in flows)


@dataclass(slots=True)
class _Seen:
    """What one broker has counted."""

    cross: dict[str, int] = field(default_factory=dict)
    cross2: dict[tuple[str, str], int] = field(default_factory=dict)
    both_only: dict[tuple[str, str], int] = field(default_factory=dict)


class Gains:
    def __init__(self, tree: Tree, flows: Sequence[Flow]) -> None:
        self.tree = tree
        self._seen = {broker: _Seen() for broker in tree.neighbours}
        for flow in flows:
            self._count(flow)

    def _count(self, flow: Flow) -> None:
        around: dict[str, list[str]] = {}
        for one, other in self.tree.span(flow.brokers):
            around.setdefault(one, []).append(other)
            around.setdefault(other, []).append(one)
        own = frozenset(flow.brokers)
        for broker, crossed in around.items():
            seen = self._seen[broker]
            for each in crossed:
                seen.cross[each] = seen.cross.get(each, 0) + flow.events
            for pair in permutations(crossed, 2):
                seen.cross2[pair] = seen.cross2.get(pair, 0) + flow.events
                if len(crossed) == 2 and broker not in own:
                    seen.both_only[pair] = seen.both_only.get(pair, 0) + flow.events

    def of(self, swap: Swap) -> int:
        """Crossings of links that the swap saves; negative if it costs some."""
        seen, pair = self._seen[swap.middle], (swap.mover, swap.goal)
        alone = seen.cross.get(swap.mover, 0) - seen.cross2.get(pair, 0)
        return seen.both_only.get(pair, 0) - alone

    def all(self) -> list[tuple[Swap, int]]:
        """Every possible swap with its gain, the best first; of equal ones the first by name."""
        found = [(swap, self.of(swap)) for swap in self.tree.swaps()]
        return sorted(found, key=lambda each: (-each[1], each[0]))
