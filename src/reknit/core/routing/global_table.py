"""Complete knowledge: every broker knows the subscriptions of every broker (SWAP, section VI).

What the clients of one broker (the *origin*) want is flooded along the tree under its name; each broker remembers which
neighbour tells of an origin, and that is the direction of the origin. A link that moves needs no tables to travel,
only directions to change; the price is a table that holds the whole network.

While the tree changes, two neighbours may tell of the same origin: one of them by memory. What each says is kept apart,
and passed on to all but itself. So what one takes back leaves what the other says; and since on a tree no word comes
back to whoever said it, a memory that nobody confirms dies out. Until then no link moves here: its brokers would agree
on what is behind it by the names of origins alone, which means nothing if two tell of one.

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
        self._said: dict[str, dict[str, dict[Pattern, None]]] = {}  # by origin, and by the neighbour that tells of it
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
        if isinstance(message, Known):
            added = [] if self._knows_better(neighbour, message.origin) else message.added
            self._learn(neighbour, Known(message.origin, added, message.removed))

    def _knows_better(self, neighbour: str, origin: str) -> bool:
        """Of us nobody has news, only memories; and a neighbour's may be of another tree than this broker goes by.

        But of itself a neighbour knows best: then it is what another one has said of it that is a memory.
        """
        if origin == neighbour:
            return False
        return origin == self.turn.node or any(each in self.beside for each in self._said.get(origin, ()))

    def tell(self, neighbour: str) -> None:
        self._told[neighbour] = None
        self._paused.pop(neighbour, None)
        known = [(origin, list(self._said_by_others(origin, neighbour))) for origin in self._said]
        self._send_snapshot(neighbour, [(self.turn.node, list(self._own)), *(each for each in known if each[1])])

    def _said_by_others(self, origin: str, neighbour: str) -> dict[Pattern, None]:
        said = self._said[origin].items()
        return {pattern: None for each, patterns in said if each != neighbour for pattern in patterns}

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
        before = {origin: said[neighbour] for origin, said in self._said.items() if neighbour in said}
        gone = [] if self.partly else [origin for origin in before if origin not in wanted]
        for origin in [*wanted, *gone]:
            was, now = before.get(origin, {}), {} if self._knows_better(neighbour, origin) else wanted.get(origin, {})
            added = [each for each in now if each not in was]
            self._learn(neighbour, Known(origin, added, [each for each in was if each not in now]))

    def doubts(self) -> str:
        origin = next((origin for origin, said in self._said.items() if len(said) > 1), "")
        return origin and f"{self.turn.node} hears of {origin} from {' and '.join(self._said[origin])}, still"

    # --- neighbours that stand for each other: only directions change

    def pause(self, neighbour: str) -> None:
        self._paused.setdefault(neighbour, [])

    def resume(self, neighbour: str) -> None:
        for _, news in self._paused.pop(neighbour, ()):
            self.send(neighbour, news)

    def behind(self, neighbour: str) -> list[Entry]:
        return [(origin, []) for origin, said in self._said.items() if neighbour in said]

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
            self._turn(origin, old, new)
        self._told[new] = None
        self._paused[new] = list(self._paused.setdefault(old, []))

    def _turn_all(self, old: str, new: str) -> None:
        for origin in self._said:
            self._turn(origin, old, new)

    def _turn(self, origin: str, old: str, new: str) -> None:
        """An origin may come to lie behind another neighbour; what is known of it comes along."""
        said = self._said.get(origin, {})
        if old in said and old != new:
            there = said.setdefault(new, {})
            for pattern in said.pop(old):
                self._count(old, pattern, -1)
                if pattern not in there:
                    there[pattern] = None
                    self._count(new, pattern, +1)

    def _learn(self, neighbour: str, news: Known) -> None:
        said = self._said.setdefault(news.origin, {})
        here = said.setdefault(neighbour, {})
        added = self._with_room(neighbour, [each for each in dict.fromkeys(news.added) if each not in here])
        removed = [each for each in dict.fromkeys(news.removed) if each in here]
        for pattern in added:
            here[pattern] = None
            self._count(neighbour, pattern, +1)
        for pattern in removed:
            del here[pattern]
            self._count(neighbour, pattern, -1)
        self._spread(Known(news.origin, added, removed), apart_from=neighbour)
        if not here:
            del said[neighbour]
        if not said:
            del self._said[news.origin]

    def _with_room(self, neighbour: str, added: list[Pattern]) -> list[Pattern]:
        if not added:
            return added
        room = base.NEIGHBOUR_PATTERNS_MAX - sum(len(each) for said in self._said.values() for each in said.values())
        for pattern in added[max(room, 0) :]:
            self._see_too_many(neighbour, pattern)
        return added[: max(room, 0)]

    def _count(self, neighbour: str, pattern: Pattern, change: int) -> None:
        self._behind[neighbour, pattern] += change
        if self._behind[neighbour, pattern] == 0:
            del self._behind[neighbour, pattern]
            self._remove(neighbour, pattern)
        else:
            self._add(neighbour, pattern)

    def _spread(self, news: Known, apart_from: str) -> None:
        """What others have said as well is no news, for all but those."""
        said = self._said.get(news.origin, {})
        for neighbour in self._told:
            if neighbour != apart_from:
                others = [patterns for each, patterns in said.items() if each not in (neighbour, apart_from)]
                self._say(neighbour, _without(news, others) if others else news, apart_from)

    def _say(self, neighbour: str, news: Known, source: str) -> None:
        parts = [Known(news.origin, some, []) for some in chunks(news.added)]
        parts += [Known(news.origin, [], some) for some in chunks(news.removed)]
        if neighbour in self._paused:
            self._paused[neighbour].extend((source, part) for part in parts)
        else:
            for part in parts:
                self.send(neighbour, part)


def _without(news: Known, others: list[dict[Pattern, None]]) -> Known:
    added, removed = (
        [pattern for pattern in patterns if not any(pattern in each for each in others)]
        for patterns in (news.added, news.removed)
    )
    return Known(news.origin, added, removed)
