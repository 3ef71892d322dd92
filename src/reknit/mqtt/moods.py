"""Which members of groups are there, and have room: what the core is told, so that the right one gets its turn.

Whatever may have changed that, notes the session; what it is then is looked at once, when the shell asks.

Owns: what the core was told. Must not know: groups, or what makes a session full.
"""

from __future__ import annotations

from reknit.core.io import Presence
from reknit.mqtt.session import Session

__all__ = ["Moods"]


class Moods:
    """``noted`` is asked at the end of each turn."""

    __slots__ = ("_sessions", "_told", "noted")

    def __init__(self, sessions: dict[str, Session]) -> None:
        """``sessions``: the door's, by client."""
        self._sessions = sessions
        self._told: dict[str, Presence] = {}  # of members that are not ready
        self.noted: dict[str, None] = {}

    def note(self, session: Session) -> None:
        if session.subscriptions.shares:
            self.noted[session.client] = None

    def absent(self, session: Session) -> None:
        """It has moved here, and the core knows that its client has not come yet."""
        if session.subscriptions.shares:
            self._told[session.client] = Presence(session.client, False, False)

    def forget(self, client: str) -> None:
        self._told.pop(client, None)
        self.noted.pop(client, None)

    def take(self) -> list[Presence]:
        """What has become another."""
        found = [self._now(client) for client in self.noted]
        self.noted.clear()
        news = [each for each in found if each != self._told.get(each.client, Presence(each.client, True, True))]
        for each in news:
            self._told[each.client] = each
            if each.room:
                del self._told[each.client]
        return news

    def _now(self, client: str) -> Presence:
        session = self._sessions[client]
        present = session.connection is not None
        return Presence(client, present, present and not session.waiting)
