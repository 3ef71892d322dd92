"""Copies that only a session which has moved can know for copies.

When a broker dies, what it had not settled is sent again through its next life. Further on the numbers weed that out:
each broker knows the last event of every source that came by it. But if meanwhile a session moves from such a broker
to the next life of the dead one, which knows nothing, the copy would be delivered to it. So a session brings along what
its old broker has seen, as far as the new one has not; and as sources' numbers only rise, an entry is of no use once
the new one has seen as much itself. Where nobody has died, nothing is left to be kept.

Owns: these numbers. Must not know: why a session has moved.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reknit.model.event import Event

__all__ = ["Copies"]


class Copies:
    def __init__(self, seen: dict[str, int], own: str) -> None:
        """``seen``: by source, the last event that came by this broker; shared with it. ``own``: its own source."""
        self._own = own
        self._seen = seen
        self._of: dict[str, dict[str, int]] = {}  # by client
        self.last_of_own: Callable[[], int] = int  # the number of the last event that was published here

    def __bool__(self) -> bool:
        return bool(self._of)

    @property
    def here(self) -> Mapping[str, int]:
        """By source, the last event that came by this broker."""
        return self._seen

    def seen(self) -> dict[str, int]:
        """What every client of this broker may have had."""
        return dict(self._seen)

    def of(self, client: str) -> dict[str, int]:
        """What this client may have had beyond that."""
        return {source: last for source, last in self._of.get(client, {}).items() if last > self._seen.get(source, 0)}

    def brings(self, client: str) -> dict[str, int]:
        """What it takes along: what was published here it has had here, and the next life here may send it again."""
        last = self.last_of_own()
        return self.of(client) | ({self._own: last} if last else {})

    def expect(self, client: str, *before: Mapping[str, int]) -> None:
        """A session comes, from another broker or from a life before, whose client may have had these."""
        ahead: dict[str, int] = {}
        for seen in before:
            for source, last in seen.items():
                if source != self._own and last > max(self._seen.get(source, 0), ahead.get(source, 0)):
                    ahead[source] = last
        if ahead:
            self._of[client] = ahead

    def forget(self, client: str) -> None:
        self._of.pop(client, None)

    def is_one(self, event: Event, client: str) -> bool:
        """Whether the client has had this event before it came here."""
        ahead = self._of.get(client)
        if ahead is None or event.source not in ahead:
            return False
        if event.seq <= ahead[event.source]:
            return True
        del ahead[event.source]
        if not ahead:
            del self._of[client]
        return False
