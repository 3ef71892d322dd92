"""Retained events, as lines of the book: one for each topic, and every broker has them all.

Owns: what such a line says. Must not know: clients, or how lines travel.
"""

from __future__ import annotations

from collections.abc import Iterable

from reknit.core.book.book import Book, Key
from reknit.core.io import Retain
from reknit.core.turn import Turn
from reknit.model.event import Event
from reknit.wire.codec import BadFrame, decode_event, encode_event

__all__ = ["RETAINED", "RetainedLines"]

RETAINED = "retained"


class RetainedLines:
    def __init__(self, turn: Turn, book: Book) -> None:
        self.turn = turn
        self.book = book

    def publish(self, event: Event) -> None:
        """It was accepted here, and is stamped."""
        if self.book.write(RETAINED, event.topic, encode_event(event) if event.payload else b""):
            self.turn.effects.append(Retain(event))

    def news(self, keys: Iterable[Key]) -> None:
        """These lines have become others."""
        for kind, topic in keys:
            if kind == RETAINED:
                self._tell(topic, self.book.get(kind, topic))

    def _tell(self, topic: str, value: bytes) -> None:
        try:
            self.turn.effects.append(Retain(decode_event(value) if value else Event(topic)))
        except BadFrame:  # another broker's fault; nobody is shown what cannot be read
            self.book.refused += 1
