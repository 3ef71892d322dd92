"""Edits of the routes of subscription forwarding, for whoever changes the tree.

Two brokers at the ends of a link always agree on it: what one holds for the other is what the other has told. Usually a
message keeps them in step. Where both ends come to know of a change by another way, each edits its half by itself, and
no message about patterns is needed. That is all that happens here; why it happens is not known.

Owns: nothing; it works on the table and the announcements of one ``SubscriptionForwarding``.
"""

from __future__ import annotations

from collections.abc import Iterable

from reknit.core.routing.subscription_forwarding import SubscriptionForwarding
from reknit.core.routing.table import broker
from reknit.model.pattern import Pattern

__all__ = ["Edits"]


class Edits:
    """Without covering only, where what a neighbour knows is edited: the ends could not tell alike what is covered."""

    def __init__(self, routing: SubscriptionForwarding) -> None:
        self._routing = routing
        self._table = routing.table

    # --- looking

    def wanted_by(self, neighbour: str) -> list[Pattern]:
        return self._table.of(broker(neighbour))

    def wanted_apart_from(self, neighbour: str) -> list[Pattern]:
        hop = broker(neighbour)
        return [pattern for pattern in self._table.patterns() if self._table.wanted_apart_from(hop, pattern)]

    def wanted_only_by(self, neighbour: str, patterns: Iterable[Pattern]) -> list[Pattern]:
        hop = broker(neighbour)
        return [pattern for pattern in patterns if not self._table.wanted_apart_from(hop, pattern)]

    # --- changing, without a word to anybody

    def enter(self, neighbour: str, patterns: Iterable[Pattern]) -> None:
        for pattern in patterns:
            self._routing._add(neighbour, pattern)

    def strike(self, neighbour: str, patterns: Iterable[Pattern]) -> None:
        for pattern in patterns:
            self._routing._remove(neighbour, pattern)

    def knows(self, neighbour: str, patterns: Iterable[Pattern]) -> None:
        if (told := self._routing._told.get(neighbour)) is not None:
            for pattern in patterns:
                told.knows(pattern)

    def knows_not(self, neighbour: str, patterns: Iterable[Pattern]) -> None:
        if (told := self._routing._told.get(neighbour)) is not None:
            for pattern in patterns:
                told.knows_not(pattern)

    # --- talking

    def begin_telling(self, neighbour: str, known: Iterable[Pattern], hold: bool) -> None:
        told = self._routing._told[neighbour] = self._routing._announcements()
        has = dict.fromkeys(known)
        for pattern in has:
            told.knows(pattern)
        if hold:
            rest = [pattern for pattern in self.wanted_apart_from(neighbour) if pattern not in has]
            self._routing._held[neighbour] = dict.fromkeys(rest)

    def tell(self, neighbour: str) -> None:
        self._routing.tell(neighbour)

    def level(self, neighbour: str, together: bool) -> None:
        if (told := self._routing._told.get(neighbour)) is not None:
            concerned = dict.fromkeys([*self.wanted_apart_from(neighbour), *told.announced()])
            self._routing._inform(neighbour, list(concerned), together)

    def release(self, neighbour: str, together: bool) -> None:
        held = self._routing._held.pop(neighbour, {})
        if neighbour in self._routing._told:
            self._routing._inform(neighbour, list(held), together)

    def spread(self, patterns: Iterable[Pattern]) -> None:
        self._routing._spread_together(list(patterns))

    def drop(self, neighbour: str, together: bool) -> None:
        if together:
            patterns = self.wanted_by(neighbour)
            self.strike(neighbour, patterns)
            self._routing.tell_no_more(neighbour)
            self.spread(patterns)
        else:
            self._routing.forget(neighbour)
