"""The door's part in a move of sessions: those that leave, and those that come.

A session that is to leave comes to rest first: nothing new is delivered to it, and for a moment the door waits until
the client has acknowledged what it has, so that nothing of it is repeated at the next broker. Then its state is taken,
and whatever the client sends from there on is withheld: unread, unanswered, and sent again by the client where it goes.

A session that comes is *reserved* until it is here; its client has to wait. Once here it is *expected*: for its client
to find all of it, messages of QoS 0 are kept too, and it waits a while even if it would end with its connection.

Owns: which sessions are on their way. Must not know: brokers, or sockets.
"""

from __future__ import annotations

from collections.abc import Callable

from reknit.mqtt.alarms import Alarms
from reknit.mqtt.options import DoorCounters, DoorOptions
from reknit.mqtt.reasons import Elsewhere, ProtocolError, Reason
from reknit.mqtt.session import Session
from reknit.mqtt.travel import BadState, pack, unpack, unpacked

__all__ = ["EXPORT", "SESSION", "Moves"]

EXPORT = "export"
SESSION = "session"
"""The kinds of the alarms that are set here."""


class Moves:
    def __init__(
        self,
        sessions: dict[str, Session],
        alarms: Alarms,
        counters: DoorCounters,
        options: DoorOptions,
        make: Callable[[str], Session] | None = None,
    ) -> None:
        """``sessions``, ``alarms``, ``counters``: the door's. ``make``: a new session of this client."""
        self._sessions = sessions
        self._alarms = alarms
        self._counters = counters
        self._options = options
        self._make = make or (lambda client: Session(client, options))
        self._reserved: dict[str, None] = {}
        self._resting: dict[str, float] = {}  # sessions that come to rest, and until when
        self._taken: dict[str, None] = {}  # sessions whose state is elsewhere: what it will be, is decided there
        self._elsewhere: str | None = None  # where new clients are sent; None: they are taken

    # --- sessions that leave

    def export(self, client: str, now: float) -> None:
        """Bring a session to rest; ``ready`` has its state then."""
        self._resting[client] = now + self._options.export_s_max
        self._alarms.set((EXPORT, client), self._resting[client])

    @property
    def resting(self) -> bool:
        return bool(self._resting)

    def ready(self, now: float) -> list[tuple[str, bytes]]:
        """The states of sessions that have come to rest. From here on their clients are not heard."""
        found: list[tuple[str, bytes]] = []
        for client, until in list(self._resting.items()):
            session = self._sessions.get(client)
            served = session is not None and session.connection is not None and now < until
            if session is not None and served and session.busy:
                continue
            self.stay(client)
            if session is not None:  # else it has ended meanwhile, and the core has heard of that
                self._taken[client] = None
                found.append((client, self._pack(session, now)))
        return found

    def has_taken(self, client: str) -> bool:
        """Whether nothing may happen to this session here: no will, no end, no other connection."""
        return client in self._taken

    def _pack(self, session: Session, now: float) -> bytes:
        connection, patience = session.connection, self._options.arrival_s_max
        if connection is None:
            return pack(session, max(session.ends_at - now, 0.0), session.will, max(session.will_at - now, 0.0))
        connection.withheld = b""
        ends_in_s = max(float(session.expiry_s), patience)
        return pack(session, ends_in_s, connection.will, max(float(connection.will_delay_s), patience))

    def stay(self, client: str) -> None:
        self._resting.pop(client, None)
        self._taken.pop(client, None)
        self._alarms.cancel((EXPORT, client))

    def thaw(self, client: str, now: float) -> tuple[int, bytes] | None:
        """The session stays: the connection that was not heard, and what has come on it meanwhile."""
        self.stay(client)
        session = self._sessions.get(client)
        connection = session.connection if session is not None else None
        if session is not None and connection is None:
            self._alarms.set((SESSION, client), now)  # its times go on
        if connection is None or connection.withheld is None:
            return None
        withheld, connection.withheld = connection.withheld, None
        return connection.conn, withheld

    def connection_of(self, client: str) -> int | None:
        session = self._sessions.get(client)
        return session.connection.conn if session is not None and session.connection is not None else None

    # --- sessions that come

    def reserve(self, client: str) -> None:
        self._reserved[client] = None

    def arrived(self, client: str, data: bytes, now: float) -> Session:
        """The session that another door has packed. One that cannot be read is counted, and begins anew."""
        self._reserved.pop(client, None)
        session = self._make(client)
        session.expected = True
        session.ends_at = now + self._options.arrival_s_max
        try:
            state = unpack(data)
        except BadState:
            self._counters.malformed += 1
            return session
        unpacked(state, session)
        longest = max(self._options.session_expiry_s_max, self._options.arrival_s_max)
        session.ends_at = now + min(state.ends_in_s, longest)
        session.will, session.will_at = state.will, now + state.will_in_s
        return session

    def forget(self, client: str) -> None:
        self._reserved.pop(client, None)

    # --- clients that come

    def refer(self, where: str | None) -> None:
        """From now on send new clients there; None: take them again."""
        self._elsewhere = where

    def check(self, client: str) -> None:
        """Raise if this client cannot be served here now."""
        if client in self._reserved or client in self._taken:
            raise ProtocolError(Reason.SERVER_BUSY, "the session of this client is on its way to another broker")
        if self._elsewhere is not None and client not in self._sessions:
            raise Elsewhere(Reason.USE_ANOTHER_SERVER, "this broker is being drained", self._elsewhere)
