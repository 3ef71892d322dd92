"""The least that an event must travel: the smallest subtree that connects its broker with those that want it.

In a tree there is one path between two brokers, so that subtree is the union of the paths from the publisher's broker,
and each of its links has to be crossed exactly once. No routing on this tree can do with fewer messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

__all__ = ["subtree_links"]


def subtree_links(neighbours: Mapping[str, Sequence[str]], start: str, wanted: Iterable[str]) -> int:
    """How many links the subtree has. All of ``wanted`` must be connected with ``start``."""
    parents = _parents(neighbours, start)
    reached = {start}
    for broker in wanted:
        while broker not in reached:
            reached.add(broker)
            broker = parents[broker]
    return len(reached) - 1


def _parents(neighbours: Mapping[str, Sequence[str]], root: str) -> dict[str, str]:
    """The next broker on the way to ``root``, for each but ``root`` itself."""
    parents = {root: root}
    frontier = [root]
    for node in frontier:
        for neighbour in neighbours.get(node, ()):
            if neighbour not in parents:
                parents[neighbour] = node
                frontier.append(neighbour)
    return parents
