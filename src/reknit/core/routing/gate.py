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
    def __init__(self, expected: Iterable[str], wait_s_max: float) -> None:
        self._missing = dict.fromkeys(expected)
        self._wait_s_max = wait_s_max
        self._until: float | None = None
        self.late: dict[str, None] = {}  # the gate has opened without them
        self.open = not self._missing  # asked for each event

    def may_tell(self, neighbour: str) -> bool:
        return all(name == neighbour for name in self._missing)

    def heard(self, neighbour: str) -> None:
        """It has told all that it wants, or is no neighbour any more."""
        self._missing.pop(neighbour, None)
        self.late.pop(neighbour, None)
        self.open = not self._missing

    def expect(self, neighbour: str) -> None:
        """What it has told does not count: it will tell all again."""
        self._missing[neighbour] = None
        self.open = False

    @property
    def missing(self) -> list[str]:
        return list(self._missing)

    def start(self, now: float) -> None:
        self._until = now + self._wait_s_max

    def deadline(self) -> float | None:
        return self._until if self._missing else None

    def due(self, now: float) -> list[str]:
        """Wait no longer: the names that were not heard."""
        if not self._missing or self._until is None or now < self._until:
            return []
        self.late, self._missing = self._missing, {}
        self.open = True
        return list(self.late)
