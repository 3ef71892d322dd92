"""The gate of a broker that has just begun: when does it know enough to speak and to route?

A broker that was restarted knows nothing of its neighbours' wishes. Were it to say so, its neighbours would tear down
the routes that lead through it, and events on their way would find no table. So it waits: it tells a neighbour what
it wants only when all *other* expected neighbours have told what they want (on a tree that always ends, from the
leaves inwards), and it routes events only when all have. A neighbour that stays away holds the gate for a bounded
time.

Owns: who has been heard. Must not know: what they said.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["Gate"]


class Gate:
    def __init__(self, expected: Iterable[str], wait_s_max: float, others: Iterable[str] = ()) -> None:
        """``others``: no neighbours in the tree; they want nothing, but may have kept events for us."""
        self._missing = dict.fromkeys(expected)
        self._others = dict.fromkeys(others)
        self._wait_s_max = wait_s_max
        self._until: float | None = None
        self.late: dict[str, None] = {}  # the gate has opened without them
        self._set_open()

    def _set_open(self) -> None:
        self.open = not self._missing and not self._others  # asked for each event

    def may_tell(self, neighbour: str) -> bool:
        return all(name == neighbour for name in self._missing)

    def heard(self, neighbour: str) -> None:
        """It has told all that it wants, or is no neighbour any more."""
        self._missing.pop(neighbour, None)
        self.late.pop(neighbour, None)
        self._set_open()

    def waive(self) -> None:
        """Nobody has to be heard."""
        self._missing, self._others = {}, {}
        self._set_open()

    def replayed(self, other: str) -> None:
        """What it had kept for us has come."""
        self._others.pop(other, None)
        self._set_open()

    def expect(self, neighbour: str) -> None:
        """What it has told does not count: it will tell all again."""
        self._missing[neighbour] = None
        self._set_open()

    def stands_in(self, new: str, old: str) -> None:
        """What ``old`` wants, ``new`` will tell; so if that is not known, it is ``new`` that has to be heard."""
        if old in self._missing:
            self.expect(new)
        elif old in self.late:
            self.late[new] = None

    @property
    def missing(self) -> list[str]:
        return list(self._missing)

    @property
    def waiting_for(self) -> list[str]:
        return [*self._missing, *self._others]

    def start(self, now: float) -> None:
        self._until = now + self._wait_s_max

    def deadline(self) -> float | None:
        return None if self.open else self._until

    def due(self, now: float) -> bool:
        """Wait no longer? Those that were not heard are ``late``."""
        if self.open or self._until is None or now < self._until:
            return False
        self.late, self._missing, self._others = self._missing, {}, {}
        self._set_open()
        return True
