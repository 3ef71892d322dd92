"""The routing table: who wants which pattern.

Seed of the whole: S = {(n, p)}, with n a neighbour or a client of this broker. Every entry is kept twice, by hop and by
pattern, and the distinct patterns stand in a matching index.

Owns: the entries, and the routes that follow from them. Must not know: why an entry is there, or whom to tell of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from reknit.core.io import Match
from reknit.model.event import Event
from reknit.model.index import MatchingIndex
from reknit.model.pattern import Pattern

__all__ = ["GROUPS", "Hop", "Route", "Table", "broker", "client", "group_name"]

Hop: TypeAlias = tuple[Literal["broker", "client"], str]

GROUPS = "$share/"
"""How the names of hops begin that are no clients: what a group wants comes here; who gets it, others decide."""

ROUTES_MAX = 16_384
"""Topics whose routes are remembered."""


def broker(name: str) -> Hop:
    return ("broker", name)


def client(name: str) -> Hop:
    return ("client", name)


def group_name(group: str) -> str:
    """The name under which the clients of a group want something together."""
    return GROUPS + group


@dataclass(frozen=True, slots=True)
class Route:
    """The neighbours and the clients that want an event, each once."""

    neighbours: tuple[str, ...]
    matches: tuple[Match, ...]


class Table:
    def __init__(self) -> None:
        self._index = MatchingIndex()
        self._by_pattern: dict[Pattern, dict[Hop, None]] = {}
        self._by_hop: dict[Hop, dict[Pattern, None]] = {}
        self._routes: dict[str, Route | None] = {}  # by topic; None where content decides

    def __len__(self) -> int:
        return sum(len(patterns) for patterns in self._by_hop.values())

    def add(self, hop: Hop, pattern: Pattern) -> bool:
        """False if it is there already."""
        hops = self._by_pattern.get(pattern)
        if hops is None:
            hops = self._by_pattern[pattern] = {}
            self._index.add(pattern)
        elif hop in hops:
            return False
        hops[hop] = None
        self._by_hop.setdefault(hop, {})[pattern] = None
        self._routes.clear()
        return True

    def remove(self, hop: Hop, pattern: Pattern) -> bool:
        """False if it is not there."""
        hops = self._by_pattern.get(pattern)
        if hops is None or hop not in hops:
            return False
        del hops[hop]
        if not hops:
            del self._by_pattern[pattern]
            self._index.remove(pattern)
        patterns = self._by_hop[hop]
        del patterns[pattern]
        if not patterns:
            del self._by_hop[hop]
        self._routes.clear()
        return True

    def of(self, hop: Hop) -> list[Pattern]:
        return list(self._by_hop.get(hop, ()))

    def count(self, hop: Hop) -> int:
        return len(self._by_hop.get(hop, ()))

    def has(self, hop: Hop, pattern: Pattern) -> bool:
        return hop in self._by_pattern.get(pattern, ())

    def hops(self) -> list[Hop]:
        return list(self._by_hop)

    def patterns(self) -> list[Pattern]:
        return list(self._by_pattern)

    def wanted_apart_from(self, hop: Hop, pattern: Pattern) -> bool:
        """Does anyone but ``hop`` want ``pattern``?"""
        hops = self._by_pattern.get(pattern)
        return hops is not None and (len(hops) > 1 or hop not in hops)

    def route(self, event: Event) -> Route:
        try:
            route = self._routes[event.topic]
        except KeyError:
            route = self._learn(event.topic)
        return self._combine(self._index.match(event)) if route is None else route

    def _learn(self, topic: str) -> Route | None:
        if len(self._routes) >= ROUTES_MAX:
            self._routes.clear()
        patterns, content_decides = self._index.unconditional(topic)
        route = None if content_decides else self._combine(patterns)
        self._routes[topic] = route
        return route

    def _combine(self, patterns: Iterable[Pattern]) -> Route:
        neighbours: dict[str, None] = {}
        clients: dict[str, list[Pattern]] = {}
        for pattern in patterns:
            for kind, name in self._by_pattern[pattern]:
                if kind == "broker":
                    neighbours[name] = None
                elif not name.startswith(GROUPS):
                    clients.setdefault(name, []).append(pattern)
        return Route(tuple(neighbours), tuple((name, tuple(wanted)) for name, wanted in clients.items()))
