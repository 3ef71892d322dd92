"""A pattern: a topic filter and a selector together, what a routing table holds.

Equal patterns are one entry, so a pattern is kept in canonical form: two that are written differently but mean the same
(as far as ``selector.canonical`` sees it) are the same value. It is small and holds texts only; what is needed to
evaluate it is made when asked for, and kept for recent ones.

Owns: the pair, and when it is well formed. Must not know: who subscribes, or how patterns are indexed.
"""

from __future__ import annotations

from hashlib import blake2b

import msgspec

from reknit.model.errors import BadPattern
from reknit.model.event import Event
from reknit.model.selector import canonical_text, matcher_of
from reknit.model.topic import check_filter, topic_matches

__all__ = ["BadPattern", "Pattern"]


class Pattern(msgspec.Struct, frozen=True, array_like=True, order=True, gc=False):
    """Made by ``parse``. One that came from elsewhere must pass ``check`` before it is used."""

    topic: str
    selector: str = ""
    """In canonical form; empty if the content does not matter."""

    @classmethod
    def parse(cls, topic_filter: str, selector: str = "") -> Pattern:
        """The pattern of what a subscriber wrote; ``BadTopic`` or ``BadSelector`` if it is none."""
        check_filter(topic_filter)
        return cls(topic_filter, canonical_text(selector) if selector.strip() else "")

    def check(self) -> None:
        """Raise ``BadPattern`` unless this is well formed and canonical."""
        check_filter(self.topic)
        if self.selector and canonical_text(self.selector) != self.selector:
            raise BadPattern(f"the selector is not canonical: {self.selector[:200]!r}")

    def matches(self, event: Event) -> bool:
        """Whether the event is one that the subscriber wants; the plain way, which every index is checked against."""
        if not topic_matches(self.topic, event.topic):
            return False
        return not self.selector or matcher_of(self.selector)(event.view())

    def signature(self) -> int:
        """A number of 63 bits that stands for the pattern, the same wherever it is computed."""
        text = f"{self.topic}\0{self.selector}".encode()
        return int.from_bytes(blake2b(text, digest_size=8).digest(), "big") >> 1

    def __str__(self) -> str:
        return f"{self.topic} WHERE {self.selector}" if self.selector else self.topic
