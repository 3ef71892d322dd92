"""What a change of the tree may do to routes: generic operations on a table, and on what each neighbour knows.

Strategies that replace a link speak to routing through this, and treat patterns as values that they cannot look into.
Routing, for its part, never learns that a change is under way.

Owns: the shape of that conversation. Must not know: how routes are kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from reknit.model.pattern import Pattern

__all__ = ["Tables"]


class Tables(Protocol):
    # --- looking

    def wanted_by(self, neighbour: str) -> list[Pattern]:
        """What the table holds for this neighbour."""

    def wanted_apart_from(self, neighbour: str) -> list[Pattern]:
        """What anybody but this neighbour wants."""

    def wanted_only_by(self, neighbour: str, patterns: Iterable[Pattern]) -> list[Pattern]:
        """Those of ``patterns`` that nobody but this neighbour wants."""

    # --- changing, without a word to anybody

    def enter(self, neighbour: str, patterns: Iterable[Pattern]) -> None: ...

    def strike(self, neighbour: str, patterns: Iterable[Pattern]) -> None: ...

    def knows(self, neighbour: str, patterns: Iterable[Pattern]) -> None:
        """The neighbour has entered these for us by itself."""

    def knows_not(self, neighbour: str, patterns: Iterable[Pattern]) -> None:
        """The neighbour has struck, or will strike, these by itself."""

    # --- talking

    def begin_telling(self, neighbour: str, known: Iterable[Pattern], hold: bool) -> None:
        """From now on tell it every change; it knows of ``known``. ``hold``: what else is wanted now it hears later."""

    def tell(self, neighbour: str) -> None:
        """Tell it all that it should know, in place of whatever it knows; and every change from now on."""

    def level(self, neighbour: str, together: bool) -> None:
        """Tell it whatever it should know and does not, and the other way round; but not what is held."""

    def release(self, neighbour: str, together: bool) -> None:
        """Hold nothing any more."""

    def spread(self, patterns: Iterable[Pattern]) -> None:
        """These entries have been edited: should somebody have to hear of it after all, now is the time."""

    def drop(self, neighbour: str, together: bool) -> None:
        """What this neighbour wanted is void."""
