"""A message of any number of patterns, in parts of bounded size.

All parts are sent in one turn over one link, so nothing comes between them. What they ask for is done with the last.

Owns: parts that have come so far. Must not know: what is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reknit.model.pattern import Pattern
from reknit.wire.messages import Change, Held, Rec

__all__ = ["PART_PATTERNS_MAX", "Parts", "held_parts", "rec_parts"]

PART_PATTERNS_MAX = 64
"""Patterns in one part, so that a frame stays within its bound."""

WHOLE_PATTERNS_MAX = 2_000_000
"""Patterns in all parts of one message. Beyond it parts are not kept: no table holds so many."""


def rec_parts(change: Change, add: Sequence[Pattern], delete: Sequence[Pattern], digest: bytes) -> Iterator[Rec]:
    """At least one."""
    rest = [*((pattern, True) for pattern in add), *((pattern, False) for pattern in delete)]
    for start in range(0, max(len(rest), 1), PART_PATTERNS_MAX):
        some = rest[start : start + PART_PATTERNS_MAX]
        adds, deletes = [each for each, adds in some if adds], [each for each, adds in some if not adds]
        yield Rec(change, adds, deletes, digest, start + PART_PATTERNS_MAX >= len(rest))


def held_parts(id_: str, patterns: Sequence[Pattern]) -> Iterator[Held]:
    for start in range(0, max(len(patterns), 1), PART_PATTERNS_MAX):
        some = list(patterns[start : start + PART_PATTERNS_MAX])
        yield Held(id_, some, start + PART_PATTERNS_MAX >= len(patterns))


class Parts:
    def __init__(self) -> None:
        self._recs: dict[tuple[str, str], Rec] = {}  # by sender and change
        self._helds: dict[tuple[str, str], Held] = {}

    def rec(self, sender: str, part: Rec) -> Rec | None:
        """The whole, once its last part has come."""
        key = (sender, part.change.id)
        if (begun := self._recs.pop(key, None)) is not None:
            part = Rec(part.change, begun.add + part.add, begun.delete + part.delete, part.digest, part.last)
        if part.last:
            return part
        if len(part.add) + len(part.delete) <= WHOLE_PATTERNS_MAX:
            self._recs[key] = part
        return None

    def held(self, sender: str, part: Held) -> Held | None:
        key = (sender, part.id)
        if (begun := self._helds.pop(key, None)) is not None:
            part = Held(part.id, begun.patterns + part.patterns, part.last)
        if part.last:
            return part
        if len(part.patterns) <= WHOLE_PATTERNS_MAX:
            self._helds[key] = part
        return None

    def forget(self, sender: str) -> None:
        for some in (self._recs, self._helds):
            for key in [key for key in some if key[0] == sender]:
                del some[key]
