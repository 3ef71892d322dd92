"""Complete knowledge: every broker knows the subscriptions of every broker (SWAP, section VI).

What the clients of one broker (the *origin*) want is flooded along the tree under its name; each broker remembers from
which neighbour it learns of an origin, and that is the direction of the origin. A link that moves needs no tables to
travel, only directions to change; the price is a table that holds the whole network.

Owns: what is known of each origin, and its direction. Must not know: how the tree is shaped beyond the neighbours.
"""

from __future__ import annotations

from collections import Counter

from reknit.core.routing import base
from reknit.core.routing.base import Routing, Sender, chunks
from reknit.core.turn import Turn
from reknit.model.pattern import Pattern
from reknit.wire.messages import Entry, Known, Message

__all__ = ["GlobalTable"]


class GlobalTable(Routing):
    name = "global-table"

    def __init__(self, turn: Turn, send: Sender) -> None:
        super().__init__(turn, send)
        self._own: Counter[Pattern] = Counter()  # how many of our clients want it
        self._known: dict[str, dict[Pattern, None]] = {}  # by origin
        self._towards: dict[str, str] = {}  # origin -> neighbour
        self._behind: Counter[tuple[str, Pattern]] = Counter()  # origins behind a neighbour that want a pattern
        self._told: dict[str, None] = {}
        self._paused: dict[str, list[tuple[str, Known]]] = {}  # what waits for a neighbour, and from whom it is

    def subscribe(self, name: str, pattern: Pattern) -> None:
        if self._add_client(name, pattern):
            self._own[pattern] += 1
            if self._own[pattern] == 1:
                self._spread(Known(self.turn.node, [pattern], []), apart_from="")

    def unsubscribe(self, name: str, pattern: Pattern) -> None:
        if self._remove_client(name, pattern):
            self._own[pattern] -= 1
            if self._own[pattern] == 0:
                del self._own[pattern]
                self._spread(Known(self.turn.node, [], [pattern]), apart_from="")

    def receive(self, neighbour: str, message: Message) -> None:
        if isinstance(message, Known) and not self._knows_better(message.origin, neighbour):
            self._learn(neighbour, message)

    def _knows_better(self, origin: str, neighbour: str) -> bool:
        """Of us, and of a neighbour that has told of itself, nobody else has news, only memories of another tree."""
        towards = self._towards.get(origin)
        near = origin == self.turn.node or (towards == origin != neighbour and origin in self._told)
        return near or towards in self.beside

    def tell(self, neighbour: str) -> None:
        self._told[neighbour] = None
        self._paused.pop(neighbour, None)
        entries: list[Entry] = [(self.turn.node, list(self._own))]
        entries += [
            (origin, list(patterns)) for origin, patterns in self._known.items() if self._towards[origin] != neighbour
        ]
        self._send_snapshot(neighbour, entries)

    def forget(self, neighbour: str) -> None:
        self._told.pop(neighbour, None)
        self._paused.pop(neighbour, None)
        self.partly = False
        self.beside = ()  # that was for what came last; what is gone yields to nobody
        self.replace(neighbour, [])

    def replace(self, neighbour: str, entries: list[Entry]) -> None:
        wanted: dict[str, dict[Pattern, None]] = {}
        for origin, patterns in entries:
            wanted.setdefault(origin, {}).update(dict.fromkeys(patterns))
        others = () if self.partly else self._towards.items()
        gone = [origin for origin, towards in others if towards == neighbour and origin not in wanted]
        for origin, patterns_now in [*wanted.items(), *((origin, {}) for origin in gone)]:
            if self._knows_better(origin, neighbour):
                continue
            before = self._known.get(origin, {})
            added = [each for each in patterns_now if each not in before]
            removed = [each for each in before if each not in patterns_now]
            self._learn(neighbour, Known(origin, added, removed))

    # --- neighbours that stand for each other: only directions change

    def pause(self, neighbour: str) -> None:
        self._paused.setdefault(neighbour, [])

    def resume(self, neighbour: str) -> None:
        for _, news in self._paused.pop(neighbour, ()):
            self.send(neighbour, news)

    def behind(self, neighbour: str) -> list[Entry]:
        return [(origin, []) for origin, towards in self._towards.items() if towards == neighbour]

    def apart_from(self, one: str, other: str) -> list[Entry]:
        return []  # all that is not behind the one

    def pass_on(self, one: str, other: str) -> None:
        """``behind`` names origins, and not what they want."""
        if other in self._paused:
            for news in [news for source, news in self._paused[other] if source == one]:
                self.send(other, news)
            self._paused[other] = [each for each in self._paused[other] if each[0] != one]

    def rename(self, old: str, new: str) -> None:
        self._turn_all(old, new)
        self._told.pop(old, None)
        self._told[new] = None
        self._paused[new] = self._paused.pop(old, [])

    def merge(self, gone: str, into: str, said: list[Entry]) -> None:
        self._turn_all(gone, into)
        self._told.pop(gone, None)
        self._paused.pop(gone, None)

    def split(self, old: str, new: str, behind_old: list[Entry], behind_new: list[Entry]) -> None:
        for origin, _ in behind_new:
            if self._towards.get(origin) == old:
                self._turn_towards(origin, new)
        self._told[new] = None
        self._paused[new] = list(self._paused.setdefault(old, []))

    def _turn_all(self, old: str, new: str) -> None:
        for origin in [origin for origin, towards in self._towards.items() if towards == old]:
            self._turn_towards(origin, new)

    def _turn_towards(self, origin: str, neighbour: str) -> None:
        """An origin may come to lie behind another neighbour; what is known of it comes along."""
        former = self._towards.get(origin)
        if former is not None and former != neighbour:
            for pattern in self._known[origin]:
                self._count(former, pattern, -1)
                self._count(neighbour, pattern, +1)
            self._towards[origin] = neighbour

    def _learn(self, neighbour: str, news: Known) -> None:
        origin = news.origin
        known = self._known.setdefault(origin, {})
        former = self._towards.get(origin, neighbour)
        self._turn_towards(origin, neighbour)
        self._towards[origin] = neighbour
        if former != neighbour and former in self._told:  # it has told us of the origin, and was not told
            self._say(former, Known(origin, [each for each in known if each not in news.removed], []), neighbour)
        added = [each for each in dict.fromkeys(news.added) if each not in known]
        removed = [each for each in dict.fromkeys(news.removed) if each in known]
        room = base.NEIGHBOUR_PATTERNS_MAX - sum(map(len, self._known.values())) if added else 0
        for pattern in added[max(room, 0) :]:
            self._see_too_many(neighbour, pattern)
        del added[max(room, 0) :]
        for pattern in added:
            known[pattern] = None
            self._count(neighbour, pattern, +1)
        for pattern in removed:
            del known[pattern]
            self._count(neighbour, pattern, -1)
        if not known:
            del self._known[origin]
            del self._towards[origin]
        if added or removed:
            self._spread(Known(origin, added, removed), apart_from=neighbour)

    def _count(self, neighbour: str, pattern: Pattern, change: int) -> None:
        self._behind[neighbour, pattern] += change
        if self._behind[neighbour, pattern] == 0:
            del self._behind[neighbour, pattern]
            self._remove(neighbour, pattern)
        else:
            self._add(neighbour, pattern)

    def _spread(self, news: Known, apart_from: str) -> None:
        for neighbour in self._told:
            if neighbour != apart_from:
                self._say(neighbour, news, apart_from)

    def _say(self, neighbour: str, news: Known, source: str) -> None:
        parts = [Known(news.origin, some, []) for some in chunks(news.added)]
        parts += [Known(news.origin, [], some) for some in chunks(news.removed)]
        if neighbour in self._paused:
            self._paused[neighbour].extend((source, part) for part in parts)
        else:
            for part in parts:
                self.send(neighbour, part)
