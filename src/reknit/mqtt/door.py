"""The door: all MQTT clients of one broker, without a socket.

The life of a connection, as the door sees it. A fault in any state leads to the end, with a reason where the client
can read one.

    state      input                          what follows
    ---------  -----------------------------  ----------------------------------------------------------------
    greeting   CONNECT that is accepted       CONNACK; the session begins or goes on; to *serving*
               CONNECT that is refused        CONNACK with the reason, then the end
               any other packet               the end
               no CONNECT within the limit    the end
    serving    PUBLISH                        an event for the core; PUBACK at QoS 1
               PUBACK                         room for the next message of QoS 1
               SUBSCRIBE, UNSUBSCRIBE         patterns for the core; SUBACK, UNSUBACK
               PINGREQ                        PINGRESP
               DISCONNECT                     the end; the will is forgotten if the reason is 0
               any other packet               DISCONNECT with PROTOCOL_ERROR (AUTH: another reason), then the end
               silence                        DISCONNECT with KEEP_ALIVE_TIMEOUT, then the end
               CONNECT of the same client on  DISCONNECT with SESSION_TAKEN_OVER, then the end
               another connection
               its session has moved          DISCONNECT with SERVER_MOVED, and where to; then the end

At the end of a connection its will is published, now or after its delay, unless the goodbye was a normal one. The
session ends with the connection, or when its expiry interval is over: then the client is detached from the core.

Everything for one connection that was caused between two calls of ``output`` leaves as one piece of bytes. The shell
calls ``output`` after the core has handled the commands, so an acknowledgement never overtakes its cause.

Owns: clients, their sessions and connections. Must not know: sockets, clocks, other brokers, or how events are routed.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from reknit.core import io
from reknit.model.event import Event, derive_attributes
from reknit.mqtt import packets
from reknit.mqtt.alarms import Alarms
from reknit.mqtt.greeting import accept_connect, check_connect, connack_properties, session_expiry_s
from reknit.mqtt.incoming import check_publish, to_event, topic_fault
from reknit.mqtt.moves import SESSION, Moves
from reknit.mqtt.options import DoorCounters, DoorOptions, Output
from reknit.mqtt.outbox import Outbox
from reknit.mqtt.packets import V3_1_1, V5_0, Packet, Publish
from reknit.mqtt.parser import TOPICS_CACHED_MAX, Parser
from reknit.mqtt.properties import Properties, PropertyId, integer, reason_string
from reknit.mqtt.reasons import Elsewhere, ProtocolError, Reason, UnsupportedVersion, return_code
from reknit.mqtt.session import Connection, Session
from reknit.mqtt.subscriptions import Outcome

__all__ = ["Door", "DoorCounters", "DoorOptions", "Output"]

_CONNECTION = "connection"

_QUIET = (packets.Puback, packets.Pingreq)
"""Packets that never cause a command, so that a run of PUBLISHes goes on across them."""


class Door:
    """All MQTT clients of one broker. A connection is a number that the shell chose."""

    def __init__(self, options: DoorOptions, rng: random.Random) -> None:
        self.counters = DoorCounters()
        self._options = options
        self._rng = rng
        self._careful = options.json_attributes  # every event needs a second look
        self._connections: dict[int, Connection] = {}
        self._sessions: dict[str, Session] = {}
        self._alarms = Alarms()
        self._outbox = Outbox(self.counters, self._sessions)
        self.moves = Moves(self._sessions, self._alarms, self.counters, options)
        # Asked for each event, so without a step in between.
        self.deliver: Callable[[io.Deliver, float], None] = self._outbox.deliver
        """Hand an event to its clients, one copy each."""
        self.output: Callable[[], list[Output]] = self._outbox.take
        """What is to be written, once for each connection that was touched since the last call."""
        self._topics_read: dict[bytes, str] = {}  # shared by all parsers, and bounded there
        self._topics_open: set[str] = set()  # topics that clients may publish to; only ever asked for membership

    # --- what the shell says

    def opened(self, conn: int, now: float) -> None:
        """A socket was accepted."""
        options = self._options
        parser = Parser(
            options.packet_bytes_max,
            first_packet_bytes_max=options.first_packet_bytes_max,
            topics=self._topics_read,
        )
        self._connections[conn] = Connection(conn, parser, now)
        self._alarms.set((_CONNECTION, conn), now + options.connect_s_max)
        self.counters.accepted += 1
        self.counters.connections += 1

    def received(self, conn: int, data: bytes, now: float) -> list[io.Command]:
        """Bytes have come. The commands are for the core, in their order; a run of PUBLISHes is one command."""
        connection = self._connections.get(conn)
        if connection is None:
            return []
        connection.heard = now
        self.counters.bytes_received += len(data)
        if connection.withheld is not None:
            connection.withheld += data
            return []
        session = connection.session
        if session is not None and session.plain is not None and not self._careful:
            lone = connection.parser.lone(data)
            if lone is not None and lone[0] in self._topics_open and not connection.closing:
                self.counters.received["Publish"] += 1
                return [io.Publish(session.client, [Event(*lone)])]
        commands: list[io.Command] = []
        try:
            self._read(connection, data, commands, now)
        except ProtocolError as error:
            self._fail(connection, error, commands, now)
        return commands

    def closed(self, conn: int, now: float) -> list[io.Command]:
        """The socket is gone."""
        connection = self._connections.get(conn)
        commands: list[io.Command] = []
        if connection is not None:
            self._hang_up(connection, commands, now)
        return commands

    def writable(self, conn: int, ready: bool) -> None:
        """The socket takes no more for now, or does again. Until then QoS 0 is dropped and QoS 1 waits."""
        connection = self._connections.get(conn)
        if connection is None:
            return
        connection.paused = not ready
        if connection.session is not None:
            connection.session.settle()
            self._outbox.pump(connection.session)

    def deadline(self) -> float | None:
        """When ``due`` wants to be called."""
        return self._alarms.next()

    def due(self, now: float) -> list[io.Command]:
        """Time has passed: connections that were silent for too long, delayed wills, sessions that are over."""
        commands: list[io.Command] = []
        for kind, key in self._alarms.due(now):
            if kind == _CONNECTION and isinstance(key, int):
                self._check_silence(self._connections[key], commands, now)
            elif kind == SESSION and isinstance(key, str):
                self._check_away(self._sessions[key], commands, now)
        return commands

    # --- packets

    def _read(self, connection: Connection, data: bytes, commands: list[io.Command], now: float) -> None:
        run: list[Event] = []
        taken = 0
        topics_open = self._topics_open
        session = connection.session
        try:
            for packet in connection.parser.feed(data):
                if type(packet) is Publish and session is not None:
                    taken += 1
                    if packet.topic in topics_open and not (packet.qos or packet.properties or packet.retain):
                        run.append(Event(packet.topic, packet.payload))
                    elif (event := self._take(connection, packet)) is not None:
                        run.append(event)
                    continue
                if run and session is not None and type(packet) not in _QUIET:
                    self._emit(session, run, commands)
                    run = []
                self.counters.received[type(packet).__name__] += 1
                self._handle(connection, packet, commands, now)
                if connection.closing:
                    break
                session = connection.session
        finally:
            self.counters.received["Publish"] += taken
            if run and session is not None:
                self._emit(session, run, commands)

    def _emit(self, session: Session, events: list[Event], commands: list[io.Command]) -> None:
        """One command for all events of a run, with what is better done for a whole run than for each event."""
        if self._options.json_attributes:
            for event in events:
                event.derived = derive_attributes(event.payload)
        if session.subscriptions.special:
            session.remember(events)
        commands.append(io.Publish(session.client, events))

    def _take(self, connection: Connection, packet: Publish) -> Event | None:
        """The event of a PUBLISH that is not plain, acknowledged; ``None`` where it is refused alone."""
        check_publish(packet, connection.version)
        fault = None if packet.topic in self._topics_open else topic_fault(packet.topic, self._options)
        if packet.qos:
            connection.unanswered += 1
            if connection.version == V5_0 and connection.unanswered > self._options.receive_maximum:
                raise ProtocolError(Reason.RECEIVE_MAXIMUM_EXCEEDED, "too many messages without an acknowledgement")
            self._outbox.acknowledge(connection, packet.packet_id, fault or 0)
        if fault is not None:
            self.counters.refused[fault.name] += 1
            return None
        if len(self._topics_open) >= TOPICS_CACHED_MAX:
            self._topics_open.clear()
        self._topics_open.add(packet.topic)
        return to_event(packet)

    def _handle(self, connection: Connection, packet: Packet, commands: list[io.Command], now: float) -> None:
        """Any packet but a PUBLISH."""
        session = connection.session
        if session is None:
            if not isinstance(packet, packets.Connect):
                raise ProtocolError(Reason.PROTOCOL_ERROR, "the first packet is no CONNECT")
            self._connect(connection, packet, commands, now)
        elif isinstance(packet, packets.Puback):
            if session.acknowledged(packet.packet_id):
                self._outbox.pump(session)
        elif isinstance(packet, packets.Pingreq):
            self._outbox.send(connection, packets.Pingresp())
        elif isinstance(packet, packets.Subscribe):
            self._subscribe(connection, session, packet, commands)
        elif isinstance(packet, packets.Unsubscribe):
            self._unsubscribe(connection, session, packet, commands)
        elif isinstance(packet, packets.Disconnect):
            self._disconnect(connection, session, packet, commands, now)
        elif isinstance(packet, packets.Auth):
            raise ProtocolError(Reason.BAD_AUTHENTICATION_METHOD, "enhanced authentication is not available")
        else:
            raise ProtocolError(Reason.PROTOCOL_ERROR, f"{type(packet).__name__.upper()} has no place here")

    # --- beginnings

    def _connect(self, connection: Connection, packet: packets.Connect, commands: list[io.Command], now: float) -> None:
        connection.packet_bytes_max = integer(packet.properties, PropertyId.MAXIMUM_PACKET_SIZE, 0)
        check_connect(packet, self._options)
        self.moves.check(packet.client_id)
        client = packet.client_id or f"auto-{self._rng.getrandbits(64):016x}"
        self._make_way(client, packet, commands, now)
        session = self._sessions.get(client)
        present = session is not None
        if session is None:
            session = self._begin(client, commands)
        if session.expected:
            commands.append(io.Attach(client))  # the core is to know that the client has found it
        accept_connect(connection, packet)
        connection.session = session
        session.expiry_s = session_expiry_s(packet, self._options)
        session.resume(connection)
        self._alarms.cancel((SESSION, client))
        self._watch(connection, now)
        properties = connack_properties(packet, client, session.expiry_s, self._options)
        self._outbox.send(connection, packets.Connack(present, 0, properties))
        self._outbox.pump(session)

    def _make_way(self, client: str, packet: packets.Connect, commands: list[io.Command], now: float) -> None:
        """End the client's former connection, and its former session if it wants a new one."""
        session = self._sessions.get(client)
        if session is None:
            if len(self._sessions) >= self._options.sessions_max:
                raise ProtocolError(Reason.QUOTA_EXCEEDED, f"there are {self._options.sessions_max} sessions already")
            return
        if session.connection is not None:
            self._dismiss(session.connection, Reason.SESSION_TAKEN_OVER, "", commands, now)
        if packet.clean_start and client in self._sessions:
            self._end(session, commands)

    def _begin(self, client: str, commands: list[io.Command]) -> Session:
        session = self._sessions[client] = Session(client, self._options)
        self.counters.sessions = len(self._sessions)
        commands.append(io.Attach(client))
        return session

    def _watch(self, connection: Connection, now: float) -> None:
        """Ask to be woken when the client may have been silent for too long."""
        key = (_CONNECTION, connection.conn)
        if connection.silence_s_max:
            self._alarms.set(key, now + connection.silence_s_max)
        else:
            self._alarms.cancel(key)

    # --- subscriptions

    def _subscribe(
        self, connection: Connection, session: Session, packet: packets.Subscribe, commands: list[io.Command]
    ) -> None:
        outcome = session.subscriptions.subscribe(packet, self._options)
        self._tell_core(session, outcome, commands)
        self._outbox.answer_subscribe(connection, packet.packet_id, outcome)

    def _unsubscribe(
        self, connection: Connection, session: Session, packet: packets.Unsubscribe, commands: list[io.Command]
    ) -> None:
        outcome = session.subscriptions.unsubscribe(packet)
        self._tell_core(session, outcome, commands)
        self._outbox.send(connection, packets.Unsuback(packet.packet_id, tuple(outcome.reasons)))

    def _tell_core(self, session: Session, outcome: Outcome, commands: list[io.Command]) -> None:
        session.settle()
        if outcome.learn:
            commands.append(io.Subscribe(session.client, tuple(outcome.learn)))
        if outcome.forget:
            commands.append(io.Unsubscribe(session.client, tuple(outcome.forget)))
        for reason in outcome.reasons:
            if reason >= Reason.UNSPECIFIED_ERROR:
                self.counters.refused[reason.name] += 1

    # --- sessions that move

    def redirect(self, client: str, where: str, now: float) -> int | None:
        """The session is elsewhere: tell the client where, if it can be told, and forget it. Its connection, if any."""
        session = self._sessions.get(client)
        if session is None:
            return None
        connection = session.connection
        self._forget(session)
        if connection is None:
            return None
        connection.session = None
        reference: Properties = ((PropertyId.SERVER_REFERENCE, where),) if where else ()
        if connection.version == V5_0:
            self._outbox.send(connection, packets.Disconnect(Reason.SERVER_MOVED, reference))
        self._outbox.close(connection)
        self._hang_up(connection, [], now)
        return connection.conn

    def arrive(self, client: str, state: bytes, now: float) -> None:
        """A session that was reserved is here."""
        session = self._sessions[client] = self.moves.arrived(client, state, now)
        self.counters.sessions = len(self._sessions)
        self._alarms.set((SESSION, client), min(session.ends_at, session.will_at if session.will else session.ends_at))

    def discard(self, client: str, now: float) -> None:
        """A session that was reserved or has arrived is void."""
        self.moves.forget(client)
        session = self._sessions.get(client)
        if session is not None:
            if session.connection is not None:
                self._dismiss(session.connection, Reason.ADMINISTRATIVE_ACTION, "", [], now)
            if client in self._sessions:
                self._forget(session)

    # --- ends

    def _disconnect(
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
        if packet.reason == Reason.SUCCESS:
            connection.will = None
        self._outbox.close(connection)
        self._hang_up(connection, commands, now)

    def _fail(self, connection: Connection, error: ProtocolError, commands: list[io.Command], now: float) -> None:
        """The client's fault: tell it why, where it can read that, and end the connection."""
        if error.reason in (Reason.MALFORMED_PACKET, Reason.PROTOCOL_ERROR):
            self.counters.malformed += 1
        if connection.session is not None:
            self._dismiss(connection, error.reason, error.why, commands, now)
            return
        self.counters.refused[error.reason.name] += 1
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
        self._hang_up(connection, commands, now)

    def _dismiss(
        self, connection: Connection, reason: Reason, why: str, commands: list[io.Command], now: float
    ) -> None:
        """End a client's connection, with the reason if it understands one."""
        self.counters.refused[reason.name] += 1
        if connection.version == V5_0 and not self._outbox.send(
            connection, packets.Disconnect(reason, reason_string(why))
        ):
            self._outbox.send(connection, packets.Disconnect(reason))
        self._outbox.close(connection)
        self._hang_up(connection, commands, now)

    def _hang_up(self, connection: Connection, commands: list[io.Command], now: float) -> None:
        """The connection is over, whoever ended it: its session ends with it or stays behind, its will is due."""
        connection.closing = True
        del self._connections[connection.conn]
        self._alarms.cancel((_CONNECTION, connection.conn))
        self.counters.connections -= 1
        session = connection.session
        if session is None:
            return
        session.connection = session.plain = None
        session.will = connection.will
        session.ends_at = now + session.expiry_s
        session.will_at = now + min(connection.will_delay_s, session.expiry_s)
        self._check_away(session, commands, now)

    def _check_away(self, session: Session, commands: list[io.Command], now: float) -> None:
        """Publish the will and end the session, each if its time has come; else ask to be woken then."""
        if self.moves.has_taken(session.client):
            return
        if session.ends_at <= now:
            self._end(session, commands)
            return
        if session.will is not None and session.will_at <= now:
            self._publish_will(session, commands)
        wake_at = session.ends_at if session.will is None else session.will_at
        self._alarms.set((SESSION, session.client), wake_at)

    def _publish_will(self, session: Session, commands: list[io.Command]) -> None:
        if session.will is not None:
            self._emit(session, [session.will], commands)
            session.will = None

    def _end(self, session: Session, commands: list[io.Command]) -> None:
        self._publish_will(session, commands)
        self._forget(session)
        commands.append(io.Detach(session.client))

    def _forget(self, session: Session) -> None:
        self.moves.stay(session.client)
        del self._sessions[session.client]
        self.counters.sessions = len(self._sessions)
        self._alarms.cancel((SESSION, session.client))

    def _check_silence(self, connection: Connection, commands: list[io.Command], now: float) -> None:
        """The alarm of a connection: silent for too long, or just due for another look."""
        if connection.session is None:
            self.counters.refused["NO_CONNECT"] += 1
            self._outbox.close(connection)
            self._hang_up(connection, commands, now)
        elif connection.withheld is not None:
            self._watch(connection, now)  # nobody has listened to it
        elif connection.heard + connection.silence_s_max <= now:
            self._dismiss(connection, Reason.KEEP_ALIVE_TIMEOUT, "", commands, now)
        else:
            self._watch(connection, connection.heard)
