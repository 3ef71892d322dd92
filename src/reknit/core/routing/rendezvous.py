"""Rendezvous: a topic's events go by way of the broker that owns its key (DYNATOPS, section 3).

The table holds clients only. Who else wants a topic is known to the ring, which hears of the first client here that
wants it and of the last one that does not any more. A selector is applied where an event is delivered. A filter with a
wildcard stands for topics that nobody can name, so it has no key, and is refused.

Owns: which topics clients here want. Must not know: the ring.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from reknit.core.routing.base import Routing, Sender
from reknit.core.turn import Turn
from reknit.model.pattern import Pattern
from reknit.trace.records import Kind
from reknit.wire.messages import Entry, Message

__all__ = ["NO_WILDCARDS", "Rendezvous", "has_wildcard"]

NO_WILDCARDS = "brokers that route by rendezvous take exact topics, not filters with + or #"


def has_wildcard(topic: str) -> bool:
    return "+" in topic or "#" in topic


class Rendezvous(Routing):
    name = "rendezvous"

    def __init__(self, turn: Turn, send: Sender) -> None:
        super().__init__(turn, send)
        self.want: Callable[[str], None] = lambda topic: None
        self.want_no_more: Callable[[str], None] = lambda topic: None
        self.wanted: Counter[str] = Counter()  # by topic: how many subscriptions
        self._held: Counter[str] = Counter()  # by topic: how many sessions that have gone may still need its events

    def subscribe(self, name: str, pattern: Pattern) -> None:
        if has_wildcard(pattern.topic):
            self.turn.tell(Kind.REFUSED, client=name, pattern=pattern, detail=NO_WILDCARDS)
        elif self._add_client(name, pattern):
            self.wanted[pattern.topic] += 1
            self._more(pattern.topic)

    def unsubscribe(self, name: str, pattern: Pattern) -> None:
        if self._remove_client(name, pattern):
            self.wanted[pattern.topic] -= 1
            if not self.wanted[pattern.topic]:
                del self.wanted[pattern.topic]
            self._fewer(pattern.topic)

    # --- topics that somebody needs who is no client here (any more)

    def hold(self, topic: str) -> None:
        self._held[topic] += 1
        self._more(topic)

    def let_go(self, topic: str) -> None:
        self._held[topic] -= 1
        if not self._held[topic]:
            del self._held[topic]
        self._fewer(topic)

    def _more(self, topic: str) -> None:
        if self.wanted[topic] + self._held[topic] == 1:
            self.want(topic)

    def _fewer(self, topic: str) -> None:
        if topic not in self.wanted and topic not in self._held:
            self.want_no_more(topic)

    # --- there are no neighbours that tell what they want

    def tell(self, neighbour: str) -> None:
        pass

    def forget(self, neighbour: str) -> None:
        pass

    def receive(self, neighbour: str, message: Message) -> None:
        pass

    def replace(self, neighbour: str, entries: list[Entry]) -> None:
        pass

    def pause(self, neighbour: str) -> None:
        pass

    def resume(self, neighbour: str) -> None:
        pass

    def behind(self, neighbour: str) -> list[Entry]:
        return []

    def apart_from(self, one: str, other: str) -> list[Entry]:
        return []

    def rename(self, old: str, new: str) -> None:
        pass

    def merge(self, gone: str, into: str, said: list[Entry]) -> None:
        pass

    def split(self, old: str, new: str, behind_old: list[Entry], behind_new: list[Entry]) -> None:
        pass
