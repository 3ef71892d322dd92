"""Where an event travels in vain: over a link behind which nobody wants it, though nothing has changed since a calm."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from reknit.core.overlay.shapes import Edge, adjacency
from reknit.pipeline._judging.history import Entry, History
from reknit.trace.records import Kind

__all__ = ["DISTURBING", "Still", "Want", "stills"]

DISTURBING = (
    Kind.SUBSCRIBED,
    Kind.UNSUBSCRIBED,
    Kind.LINK_ADDED,
    Kind.LINK_REMOVED,
    Kind.LINK_MOVED,
    Kind.CHANGE,
    Kind.CRASHED,
    Kind.ROUTE_ADDED,
    Kind.ROUTE_REMOVED,
)
"""What ends the time in which it is known who wants what."""

Want: TypeAlias = tuple[Entry, str, int]
"""A record about a wish: the record, the client, the pattern."""


@dataclass(slots=True)
class Still:
    """The network when all was calm: its links, and the patterns that each broker's clients want."""

    links: list[Edge]
    wanted: Mapping[str, frozenset[int]]
    _neighbours: dict[str, list[str]] | None = None
    _behind: dict[tuple[str, str], frozenset[int]] = field(default_factory=dict)

    def in_vain(self, node: str, peer: str, patterns: Iterable[int]) -> bool:
        """Whether nobody behind ``peer``, as ``node`` sees it, wants what these patterns match."""
        return self.behind(node, peer).isdisjoint(patterns)

    def behind(self, node: str, peer: str) -> frozenset[int]:
        if (node, peer) not in self._behind:
            self._behind[node, peer] = frozenset(self._walk(node, peer))
        return self._behind[node, peer]

    def _walk(self, node: str, peer: str) -> Iterator[int]:
        if self._neighbours is None:
            self._neighbours = adjacency(self.links)
        if peer not in self._neighbours.get(node, ()):
            return
        visited = {node: None, peer: None}
        todo = [peer]
        while todo:
            broker = todo.pop()
            yield from self.wanted.get(broker, ())
            for other in self._neighbours[broker]:
                if other not in visited:
                    visited[other] = None
                    todo.append(other)


def stills(entries: list[Entry], wants: list[Want]) -> list[Still]:
    """One for each calm moment, in their order."""
    moments: list[tuple[Entry, str, int]] = [*((entry, "", -1) for entry in entries), *wants]
    held: dict[str, dict[tuple[str, int], None]] = {}
    seen: list[Entry] = []
    found = []
    for entry, client, pattern in sorted(moments, key=lambda moment: moment[0].place):
        if entry.kind == Kind.SUBSCRIBED:
            held.setdefault(entry.node, {})[client, pattern] = None
        elif entry.kind == Kind.UNSUBSCRIBED:
            held.get(entry.node, {}).pop((client, pattern), None)
        else:
            seen.append(entry)
            if entry.kind in (Kind.STARTED, Kind.CRASHED):
                held[entry.node] = {}
            elif entry.kind == Kind.CALM:
                wanted = {node: frozenset(each for _, each in wishes) for node, wishes in held.items()}
                found.append(Still(History(seen).edges(), wanted))
    return found
