"""Clients that come here and are at home at another broker, which has their sessions.

Such a client is served by its home, through here: its CONNECT waits until the shell has that broker on the line, which
then answers it, and all that it says from there on. A home that does not answer costs the client a CONNACK with
SERVER_BUSY; if it stays away for long, the client begins anew here, and its home hears of that when it is back.

Owns: who is sought, and for how long in vain. Must not know: how another broker is reached.
"""

from __future__ import annotations

from collections.abc import Callable

from reknit.core.homes.homes import Home
from reknit.mqtt.options import DoorOptions
from reknit.mqtt.packets import Connect
from reknit.mqtt.reasons import ProtocolError, Reason
from reknit.mqtt.session import Connection, Seek

__all__ = ["Abroad"]

LOST_MAX = 10_000
"""Clients of which it is remembered since when their homes are out of reach; beyond it the oldest is forgotten."""


class Abroad:
    def __init__(self, options: DoorOptions) -> None:
        self.home: Callable[[str], Home | None] = lambda _: None
        """The other broker that has this client's session; the shell knows."""
        self.seeks: list[Seek] = []
        """For the shell: each is answered with ``found`` or ``not_found`` of the door."""
        self._options = options
        self._lost: dict[str, float] = {}  # since when the home of a client is out of reach

    def seeks_for(self, connection: Connection, packet: Connect, client: str) -> bool:
        """Whether the client is at home elsewhere; then its home is asked for."""
        home = self.home(client)
        if home is None:
            return False
        if connection.relayed:
            raise ProtocolError(Reason.SERVER_BUSY, "the session of this client is at another broker")
        connection.asked = packet
        self.seeks.append(Seek(connection.conn, client, connection.user, home, bytes(connection.raw)))
        return True

    def take(self) -> list[Seek]:
        taken, self.seeks = self.seeks, []
        return taken

    def reached(self, client: str) -> None:
        self._lost.pop(client, None)

    def check_lost(self, client: str, now: float) -> None:
        """Raise unless the home of this client has been out of reach for so long that it is not waited for."""
        if client not in self._lost and len(self._lost) >= LOST_MAX:
            del self._lost[next(iter(self._lost))]
        since = self._lost.setdefault(client, now)
        if now - since < self._options.home_lost_s:
            raise ProtocolError(Reason.SERVER_BUSY, "the broker that has the session of this client is out of reach")
        del self._lost[client]
