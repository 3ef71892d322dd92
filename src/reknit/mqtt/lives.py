"""How sessions and connections begin and end.

Owns: which sessions and connections there are, from a CONNECT to the end of either, with wills and times; see ``door``
for the table of a connection's life. Must not know: what a client says between its CONNECT and its end.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from reknit.core import io
from reknit.model.event import Event, derive_attributes
from reknit.mqtt import packets
from reknit.mqtt.abroad import Abroad
from reknit.mqtt.access import Access
from reknit.mqtt.alarms import Alarms
from reknit.mqtt.greeting import accept_connect, check_connect, connack_properties, session_expiry_s
from reknit.mqtt.intake import Intake
from reknit.mqtt.moves import SESSION, Moves
from reknit.mqtt.news import news_of
from reknit.mqtt.options import DoorCounters, DoorOptions
from reknit.mqtt.outbox import Outbox
from reknit.mqtt.packets import V3_1_1, V5_0
from reknit.mqtt.properties import Properties, PropertyId, integer, reason_string
from reknit.mqtt.reasons import Elsewhere, ProtocolError, Reason, UnsupportedVersion, return_code
from reknit.mqtt.session import Connection, Question, Session

__all__ = ["CONNECTION", "REPLAY", "SESSION", "Lives"]

CONNECTION = "connection"
REPLAY = "replay"
"""The kinds of alarms that are set here."""
_NO_TOPICS: set[str] = set()


class Lives:
    def __init__(
        self,
        options: DoorOptions,
        rng: random.Random,
        counters: DoorCounters,
        sessions: dict[str, Session],
        outbox: Outbox,
        intake: Intake,
        make: Callable[[str], Session] | None = None,
    ) -> None:
        """All but the options are the door's. ``make``: a new session of this client."""
        self.connections: dict[int, Connection] = {}
        self.sessions = sessions
        self.alarms = Alarms()
        self.counters = counters
        self._make = make or (lambda client: Session(client, options))
        self.moves = Moves(sessions, self.alarms, counters, options, self._make)
        self.abroad = Abroad(options)
        self.passwords = False
        self.questions: list[Question] = []
        self.news = outbox.news
        self._access = Access()
        self._options = options
        self._rng = rng
        self._outbox = outbox
        self._intake = intake

    # --- beginnings

    def connect(self, connection: Connection, packet: packets.Connect, commands: list[io.Command], now: float) -> None:
        connection.packet_bytes_max = integer(packet.properties, PropertyId.MAXIMUM_PACKET_SIZE, 0)
        check_connect(packet, self._options)
        if connection.fault is not None:
            raise ProtocolError(connection.fault, "too many connections come from this address")
        if self.passwords and packet.username is not None and not connection.user:
            connection.asked = packet
            self.questions.append(Question(connection.conn, packet.username, packet.password or b""))
        elif connection.user or connection.anonymous:
            self._admit(connection, packet, commands, now)
        else:
            raise ProtocolError(Reason.NOT_AUTHORIZED, "a user name and a password are needed here")

    def known(self, connection: Connection, packet: packets.Connect, commands: list[io.Command], now: float) -> None:
        """The client's password was right."""
        connection.user, connection.by_password = packet.username or "", True
        self._admit(connection, packet, commands, now)

    def unknown(self, *_: object) -> None:
        raise ProtocolError(Reason.BAD_CREDENTIALS, "the user name or the password is wrong")

    def alone(self, connection: Connection, packet: packets.Connect, commands: list[io.Command], now: float) -> None:
        """The broker that has its session is out of reach."""
        self.abroad.check_lost(packet.client_id, now)
        self._admit(connection, packet, commands, now, here=True)

    def hand_over(self, conn: int) -> bytes | None:
        """The connection is another broker's to serve: all that has come on it. None if it is gone."""
        connection = self.connections.get(conn)
        if connection is None or connection.asked is None:
            return None
        self.abroad.reached(connection.asked.client_id)
        self.hang_up(connection, [], connection.heard)
        return bytes(connection.raw)

    def _admit(
        self,
        connection: Connection,
        packet: packets.Connect,
        commands: list[io.Command],
        now: float,
        *,
        here: bool = False,
    ) -> None:
        """``here``: whatever is said of a session elsewhere."""
        self.moves.check(packet.client_id)
        client = packet.client_id or f"auto-{self._rng.getrandbits(64):016x}"
        self._check_owner(connection.user, client)
        self._check_will(connection.user, client, packet.will)
        if not here and client not in self.sessions and self.abroad.seeks_for(connection, packet, client):
            return
        self._make_way(client, packet, commands, now)
        session = self.sessions.get(client)
        present = session is not None
        if session is None:
            session = self._begin(client, commands, packet.version == V5_0)
        if session.expected:
            follows = packet.version == V5_0
            commands.append(io.Attach(client, follows))  # the core is to know that the client has found it
        accept_connect(connection, packet, self._options)
        connection.raw = bytearray()
        connection.session, connection.client = session, client
        self.news.append(news_of("connected", connection))
        self.counters.clients += 1
        self.counters.clients_max = max(self.counters.clients_max, self.counters.clients)
        self._identify(session, connection.user)
        session.expiry_s = session_expiry_s(packet, self._options)
        session.resume(connection)
        session.changed()
        self.alarms.cancel((SESSION, client))
        self._watch(connection, now)
        properties = connack_properties(packet, client, session.expiry_s, self._options)
        self._outbox.send(connection, packets.Connack(present, 0, properties))
        self.pump(session)

    def allow(self, access: Access) -> None:
        self._access = access
        for session in self.sessions.values():
            self._identify(session, session.user)

    def turn_out(self, known: Callable[[str], bool], commands: list[io.Command], now: float) -> None:
        """End the connections of those whose name is not known any more, though a password had proved it."""
        for connection in list(self.connections.values()):
            if connection.by_password and connection.session is not None and not known(connection.user):
                self._dismiss(connection, Reason.NOT_AUTHORIZED, "this user is not known any more", commands, now)

    def _identify(self, session: Session, user: str) -> None:
        session.user, session.grants = user, self._access.grants(user, session.client)
        session.topics_open = self._intake.topics_open if session.grants is None else _NO_TOPICS
        session.settle()

    def _check_owner(self, user: str, client: str) -> None:
        """Nobody takes over what waits for another user, nor ends it, by guessing an identifier."""
        session = self.sessions.get(client)
        if session is not None and session.user and session.user != user:
            raise ProtocolError(Reason.NOT_AUTHORIZED, "this client identifier is another user's")

    def _check_will(self, user: str, client: str, will: packets.Will | None) -> None:
        grants = self._access.grants(user, client) if will is not None else None
        if will is not None and grants is not None and not grants.may_publish(will.topic):
            raise ProtocolError(Reason.NOT_AUTHORIZED, "the will's topic is not allowed")

    def _make_way(self, client: str, packet: packets.Connect, commands: list[io.Command], now: float) -> None:
        """End the client's former connection, and its former session if it wants a new one."""
        session = self.sessions.get(client)
        if session is None:
            if len(self.sessions) >= self._options.sessions_max:
                raise ProtocolError(Reason.QUOTA_EXCEEDED, f"there are {self._options.sessions_max} sessions already")
            return
        if session.connection is not None:
            self._dismiss(session.connection, Reason.SESSION_TAKEN_OVER, "", commands, now)
        if packet.clean_start and client in self.sessions:
            self._end(session, commands)

    def _begin(self, client: str, commands: list[io.Command], follows: bool) -> Session:
        session = self.sessions[client] = self._make(client)
        self.counters.sessions = len(self.sessions)
        commands.append(io.Attach(client, follows))
        return session

    def _watch(self, connection: Connection, now: float) -> None:
        """Ask to be woken when the client may have been silent for too long."""
        key = (CONNECTION, connection.conn)
        if connection.silence_s_max:
            self.alarms.set(key, now + connection.silence_s_max)
        else:
            self.alarms.cancel(key)

    def pump(self, session: Session) -> None:
        if self._outbox.pump(session):
            self.alarms.set((REPLAY, session.client), self._outbox.now)  # others have their turn before

    def emit(self, session: Session, events: list[Event], commands: list[io.Command]) -> None:
        """One command for all events of a run, with what is better done for a whole run than for each event."""
        if self._options.json_attributes:
            for event in events:
                event.derived = derive_attributes(event.payload)
        if session.subscriptions.special:
            session.remember(events)
        commands.append(io.Publish(session.client, events))

    # --- sessions that move

    def redirect(self, client: str, where: str, now: float) -> int | None:
        """The session is elsewhere: tell the client where, if it can be told, and forget it. Its connection, if any."""
        session = self.sessions.get(client)
        if session is None:
            return None
        connection = session.connection
        self._forget(session)
        if connection is None:
            return None
        connection.session = None
        reference: Properties = ((PropertyId.SERVER_REFERENCE, where),) if where else ()
        connection.farewell = Reason.SERVER_MOVED.name
        if connection.version == V5_0:
            self._outbox.send(connection, packets.Disconnect(Reason.SERVER_MOVED, reference))
        self._outbox.close(connection)
        self.hang_up(connection, [], now)
        return connection.conn

    def arrive(self, client: str, state: bytes, now: float) -> list[io.Command]:
        """A session that was reserved is here. The commands say what the core does not know of it."""
        session = self.sessions[client] = self.moves.arrived(client, state, now)
        self._identify(session, session.user)
        self._outbox.moods.absent(session)
        self.counters.sessions = len(self.sessions)
        session.changed()
        self._watch_away(session)
        return _orders(session)

    def recall(self, session: Session, commands: list[io.Command], now: float) -> None:
        """A session of a life before; it may be over."""
        self.sessions[session.client] = session
        self._identify(session, session.user)
        self._outbox.moods.absent(session)
        self.counters.sessions = len(self.sessions)
        if session.ends_at > now:
            self._watch_away(session)
            commands += _orders(session)
        else:
            self._end(session, commands)

    def _watch_away(self, session: Session) -> None:
        wake_at = min(session.ends_at, session.will_at if session.will else session.ends_at)
        self.alarms.set((SESSION, session.client), wake_at)

    def discard(self, client: str, now: float, *, taken_over: bool = False) -> None:
        """A session that was reserved or has arrived is void, or its client has begun anew elsewhere."""
        self.moves.forget(client)
        session = self.sessions.get(client)
        if session is not None:
            if session.connection is not None:
                reason = Reason.SESSION_TAKEN_OVER if taken_over else Reason.ADMINISTRATIVE_ACTION
                self._dismiss(session.connection, reason, "", [], now)
            if client in self.sessions:
                self._forget(session)

    # --- ends

    def disconnect(
        self,
        connection: Connection,
        session: Session,
        packet: packets.Disconnect,
        commands: list[io.Command],
        now: float,
    ) -> None:
        expiry_s = integer(packet.properties, PropertyId.SESSION_EXPIRY, session.expiry_s)
        if expiry_s and not session.expiry_s:
            raise ProtocolError(Reason.PROTOCOL_ERROR, "a session that was to end cannot be prolonged")
        session.expiry_s = min(expiry_s, self._options.session_expiry_s_max)
        connection.farewell = f"DISCONNECT 0x{packet.reason:02X}"
        if packet.reason == Reason.SUCCESS:
            connection.will = None
        self._outbox.close(connection)
        self.hang_up(connection, commands, now)

    def fail(self, connection: Connection, error: ProtocolError, commands: list[io.Command], now: float) -> None:
        """The client's fault: tell it why, where it can read that, and end the connection."""
        if error.reason in (Reason.MALFORMED_PACKET, Reason.PROTOCOL_ERROR):
            self.counters.malformed += 1
        if connection.session is not None:
            self._dismiss(connection, error.reason, error.why, commands, now)
            return
        self.counters.refused[error.reason.name] += 1
        connection.farewell = error.reason.name
        version = connection.parser.version
        if isinstance(error, UnsupportedVersion):
            version = V5_0 if error.level > V5_0 else V3_1_1
        code = error.reason if version == V5_0 else return_code(error.reason)
        if version and code is not None:
            why = reason_string(error.why) if version == V5_0 else ()
            if isinstance(error, Elsewhere) and error.where and version == V5_0:
                why = ((PropertyId.SERVER_REFERENCE, error.where), *why)
            if not self._outbox.send(connection, packets.Connack(False, code, why), version):
                self._outbox.send(connection, packets.Connack(False, code), version)
        self._outbox.close(connection)
        self.hang_up(connection, commands, now)

    def _dismiss(
        self, connection: Connection, reason: Reason, why: str, commands: list[io.Command], now: float
    ) -> None:
        """End a client's connection, with the reason if it understands one."""
        if connection.version == V5_0 and not self._outbox.send(
            connection, packets.Disconnect(reason, reason_string(why))
        ):
            self._outbox.send(connection, packets.Disconnect(reason))
        self._cut(connection, reason, commands, now)

    def connect_again(self, connection: Connection, commands: list[io.Command], now: float) -> None:
        """A second CONNECT ends the connection, and nothing is said.

        Its client waits for a CONNACK, beside whoever reads its messages: two may read what would come now, each a
        part of it. The standard leaves it open what a server answers to a CONNECT that is wrong.
        """
        self.counters.malformed += 1
        self._cut(connection, Reason.PROTOCOL_ERROR, commands, now)

    def _cut(self, connection: Connection, reason: Reason, commands: list[io.Command], now: float) -> None:
        self.counters.refused[reason.name] += 1
        connection.farewell = reason.name
        self._outbox.close(connection)
        self.hang_up(connection, commands, now)

    def hang_up(self, connection: Connection, commands: list[io.Command], now: float) -> None:
        """The connection is over, whoever ended it: its session ends with it or stays behind, its will is due."""
        connection.closing = True
        del self.connections[connection.conn]
        self.alarms.cancel((CONNECTION, connection.conn))
        self.counters.connections -= 1
        self.counters.clients -= bool(connection.version)  # its CONNECT was accepted
        if connection.version:
            self.news.append(news_of("disconnected", connection, connection.farewell or "the connection was lost"))
        elif connection.farewell:
            self.news.append(news_of("refused", connection, connection.farewell))
        session = connection.session
        if session is None:
            return
        session.connection = session.plain = None
        session.will = connection.will
        session.ends_at = now + session.expiry_s
        session.will_at = now + min(connection.will_delay_s, session.expiry_s)
        session.changed()
        self._outbox.moods.note(session)
        self.check_away(session, commands, now)

    def check_away(self, session: Session, commands: list[io.Command], now: float) -> None:
        """Publish the will and end the session, each if its time has come; else ask to be woken then."""
        if self.moves.has_taken(session.client):
            return
        if session.ends_at <= now:
            self.counters.expired += session.expiry_s > 0
            self._end(session, commands)
            return
        if session.will is not None and session.will_at <= now:
            self._publish_will(session, commands)
        wake_at = session.ends_at if session.will is None else session.will_at
        self.alarms.set((SESSION, session.client), wake_at)

    def _publish_will(self, session: Session, commands: list[io.Command]) -> None:
        will, session.will = session.will, None
        if will is not None:
            session.changed()
        if will is not None and (session.grants is None or session.grants.may_publish(will.topic)):
            self.emit(session, [self._intake.will(will)], commands)

    def _end(self, session: Session, commands: list[io.Command]) -> None:
        self._publish_will(session, commands)
        self._forget(session)
        commands.append(io.Detach(session.client))

    def _forget(self, session: Session) -> None:
        self.moves.stay(session.client)
        self._outbox.moods.forget(session.client)
        self._outbox.end_drops(session)
        del self.sessions[session.client]
        session.ended()
        self.counters.sessions = len(self.sessions)
        self.alarms.cancel((SESSION, session.client))

    def check_silence(self, connection: Connection, commands: list[io.Command], now: float) -> None:
        """The alarm of a connection: silent for too long, or just due for another look."""
        if connection.session is None:
            self.counters.refused["NO_CONNECT"] += 1
            connection.farewell = "NO_CONNECT"
            self._outbox.close(connection)
            self.hang_up(connection, commands, now)
        elif connection.withheld is not None:
            self._watch(connection, now)  # nobody has listened to it
        elif connection.heard + connection.silence_s_max <= now:
            self._dismiss(connection, Reason.KEEP_ALIVE_TIMEOUT, "", commands, now)
        else:
            self._watch(connection, connection.heard)


def _orders(session: Session) -> list[io.Command]:
    """Of which patterns events may wait for earlier ones: the core knows the patterns alone."""
    return [io.Subscribe(session.client, (pattern,), wait_s) for pattern, wait_s in session.subscriptions.ordered()]
