"""The door's part in a move of sessions: those that leave, and those that come.

A session that is to leave comes to rest first: nothing new is delivered to it, and for a moment the door waits until
the client has acknowledged what it has, so that nothing of it is repeated at the next broker. Then its state is taken,
and whatever the client sends from there on is withheld: undone, unanswered, and sent again by the client where it goes.
But one that ends its connection goes nowhere: then the session stays, and all that was withheld is done here, so that
it ends, or waits, as the client wants it, and without its will.

A session that comes is *reserved* until it is here; its client has to wait. Once here it is *expected*: for its client
to find all of it, messages of QoS 0 are kept too, and it waits a while even if it would end with its connection.

Owns: which sessions are on their way. Must not know: brokers, or sockets.
"""

from __future__ import annotations

from collections.abc import Callable

from reknit.core.io import Command, Stay
from reknit.mqtt.alarms import Alarms
from reknit.mqtt.options import DoorCounters, DoorOptions
from reknit.mqtt.reasons import Elsewhere, ProtocolError, Reason
from reknit.mqtt.session import Connection, Session
from reknit.mqtt.travel import BadState, pack, unpack, unpacked

__all__ = ["EXPORT", "SESSION", "Moves"]

EXPORT = "export"
SESSION = "session"
"""The kinds of the alarms that are set here."""
WITHHELD_BYTES_MAX = 64 * 1024
"""What is read of a client whose state was taken; what it says beyond it stays in its socket."""


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

    @property
    def leaving(self) -> bool:
        """Whether any session is on its way from here."""
        return bool(self._resting or self._taken)

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

    def heard(self, connection: Connection) -> list[Command]:
        """A client whose state was taken has said more: does it go?"""
        session = connection.session
        if session is None or not connection.parser.ends(connection.withheld or b""):
            return []
        return [Stay(session.client)]

    def overfull(self) -> list[int]:
        """Connections of which no more is to be read for now."""
        found = [self._sessions[client].connection for client in self._taken if client in self._sessions]
        return [each.conn for each in found if each is not None and len(each.withheld or b"") > WITHHELD_BYTES_MAX]

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
