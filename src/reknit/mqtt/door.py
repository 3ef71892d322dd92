"""The door: all MQTT clients of one broker, without a socket.

The life of a connection, as the door sees it. A fault in any state leads to the end, with a reason where the client
can read one.

    state      input                          what follows
    ---------  -----------------------------  ----------------------------------------------------------------
    greeting   CONNECT that is accepted       CONNACK; the session begins or goes on; to *serving*
               CONNECT that is refused        CONNACK with the reason, then the end
               any other packet               the end
               no CONNECT within the limit    the end
    serving    PUBLISH, PUBREL                an event for the core; its acknowledgement (see ``intake``)
               PUBACK, PUBREC, PUBCOMP        room for the next message (see ``session``)
               SUBSCRIBE, UNSUBSCRIBE         patterns for the core; SUBACK, UNSUBACK; what was retained
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
from collections.abc import Callable, Iterable

from reknit.core import io
from reknit.model.event import Event
from reknit.mqtt import packets
from reknit.mqtt.access import Access
from reknit.mqtt.bulletin import Bulletin, gap_event, is_local
from reknit.mqtt.figures import figures
from reknit.mqtt.intake import Intake
from reknit.mqtt.keeping import Keeper
from reknit.mqtt.lives import CONNECTION, REPLAY, SESSION, Lives
from reknit.mqtt.options import DoorCounters, DoorOptions, Output
from reknit.mqtt.outbox import Outbox
from reknit.mqtt.packets import Packet, Publish
from reknit.mqtt.parser import Parser
from reknit.mqtt.reasons import ProtocolError, Reason
from reknit.mqtt.retained import Retained
from reknit.mqtt.session import Connection, Question, Session
from reknit.mqtt.subscriptions import Outcome

__all__ = ["Door", "DoorCounters", "DoorOptions", "Output"]

_QUIET = (packets.Puback, packets.Pubrec, packets.Pubrel, packets.Pubcomp, packets.Pingreq)
"""Packets that never cause a command, so that a run of PUBLISHes goes on across them."""


class Door:
    """All MQTT clients of one broker. A connection is a number that the shell chose."""

    def __init__(
        self,
        options: DoorOptions,
        rng: random.Random,
        epoch: float = 0.0,
        version: str = "",
        keeper: Keeper | None = None,
    ) -> None:
        """``epoch``: what makes a time that the door is told one in seconds since 1970. ``version``: the program's.

        ``keeper``: see ``keeping``.
        """
        self.counters = DoorCounters()
        self._options = options
        self._careful = options.json_attributes  # every event needs a second look
        self._sessions: dict[str, Session] = {}
        self._outbox = Outbox(self.counters, self._sessions, epoch)
        make = keeper.session if keeper is not None else None
        self._retained = Retained(options)
        self._bulletin = Bulletin()
        self._version = version
        self._intake = Intake(options, self.counters, self._outbox, self._retained)
        self._lives = Lives(options, rng, self.counters, self._sessions, self._outbox, self._intake, make)
        self.moves = self._lives.moves
        self.news = self._lives.news
        """Who has come and gone; the shell takes them out after each turn."""
        self.abroad = self._lives.abroad
        """Clients that are at home at another broker."""
        self.redirect = self._lives.redirect
        self.arrive = self._lives.arrive
        self.discard = self._lives.discard
        # Asked for each event, so without a step in between.
        self.deliver: Callable[[io.Deliver, float], None] = self._outbox.deliver
        """Hand an event to its clients, one copy each."""
        self.share = self._outbox.share
        self.moods = self._outbox.moods
        self.output: Callable[[], list[Output]] = self._outbox.take
        """What is to be written, once for each connection that was touched since the last call."""
        self._topics_read: dict[bytes, str] = {}  # shared by all parsers, and bounded there

    # --- what the shell says

    def opened(
        self,
        conn: int,
        now: float,
        *,
        anonymous: bool = True,
        user: str = "",
        fault: Reason | None = None,
        relayed: bool = False,
    ) -> None:
        """A socket was accepted. ``anonymous``: a client needs no name here. ``user``: who a certificate says it is.

        ``fault``: why it is not served, whoever it is; it is told as soon as it has said in which version it can read.
        ``relayed``: see ``abroad``.
        """
        options = self._options
        parser = Parser(
            options.packet_bytes_max,
            first_packet_bytes_max=options.first_packet_bytes_max,
            topics=self._topics_read,
        )
        self._lives.connections[conn] = Connection(
            conn, parser, now, anonymous=anonymous, user=user, fault=fault, relayed=relayed
        )
        self._lives.alarms.set((CONNECTION, conn), now + options.connect_s_max)
        self.counters.accepted += 1
        self.counters.connections += 1

    def received(self, conn: int, data: bytes, now: float) -> list[io.Command]:
        """Bytes have come. The commands are for the core, in their order; a run of PUBLISHes is one command."""
        connection = self._lives.connections.get(conn)
        if connection is None:
            return []
        connection.heard = self._outbox.now = now
        self.counters.bytes_received += len(data)
        if connection.withheld is not None:
            connection.withheld += data
            return self.moves.heard(connection)
        session = connection.session
        if session is not None and session.plain is not None and not self._careful:
            lone = connection.parser.lone(data)
            if lone is not None and lone[0] in session.topics_open and not connection.closing:
                self.counters.received["Publish"] += 1
                self.counters.published[0] += 1
                return [io.Publish(session.client, [Event(*lone)])]
        commands: list[io.Command] = []
        if session is None:
            connection.raw += data
        try:
            if connection.asked is not None:
                self._check_early(connection, len(data))
            self._read(connection, connection.parser.feed(data), commands, now)
        except ProtocolError as error:
            self._lives.fail(connection, error, commands, now)
        return commands

    def _check_early(self, connection: Connection, size: int) -> None:
        """Whoever has not proved who it is gets no more room than for a CONNECT."""
        connection.early_bytes += size
        if connection.early_bytes > self._options.first_packet_bytes_max:
            raise ProtocolError(Reason.QUOTA_EXCEEDED, "too much was sent before the password was checked")

    # --- who a client is

    @property
    def passwords(self) -> bool:
        """Whether names have to be proved."""
        return self._lives.passwords

    @passwords.setter
    def passwords(self, needed: bool) -> None:
        self._lives.passwords = needed

    @property
    def asking(self) -> bool:
        return bool(self._lives.questions)

    def questions(self) -> list[Question]:
        """Passwords that are to be checked; each is answered with ``answered``."""
        asked, self._lives.questions = self._lives.questions, []
        return asked

    def answered(self, conn: int, good: bool, now: float) -> list[io.Command]:
        """Whether the password of the client on this connection was right."""
        go_on = self._lives.known if good else self._lives.unknown
        return self._resume(conn, now, go_on)

    def _resume(
        self, conn: int, now: float, go_on: Callable[[Connection, packets.Connect, list[io.Command], float], None]
    ) -> list[io.Command]:
        """What was asked about this connection is known; what came behind its CONNECT meanwhile follows."""
        connection = self._lives.connections.get(conn)
        commands: list[io.Command] = []
        if connection is None or connection.asked is None:
            return commands
        self._outbox.now = now
        connect, early = connection.asked, connection.early
        connection.asked, connection.early = None, []
        try:
            go_on(connection, connect, commands, now)
            self._read(connection, early, commands, now)
        except ProtocolError as error:
            self._lives.fail(connection, error, commands, now)
        return commands

    # --- clients that are at home elsewhere

    def found(self, conn: int) -> bytes | None:
        """Its home serves it from now on: all that it has said. It is no client here any more; None if it has gone."""
        return self._lives.hand_over(conn)

    def not_found(self, conn: int, now: float) -> list[io.Command]:
        """Its home did not answer in time."""
        return self._resume(conn, now, self._lives.alone)

    def allow(self, access: Access) -> None:
        """From now on these rules hold, also for clients that are connected."""
        self._lives.allow(access)

    def turn_out(self, known: Callable[[str], bool], now: float) -> list[io.Command]:
        """End the connections of those that are not known any more, though a password had proved who they are."""
        commands: list[io.Command] = []
        self._outbox.now = now
        self._lives.turn_out(known, commands, now)
        return commands

    def retain(self, event: Event) -> None:
        """Keep it for later subscribers, or, if it is empty, forget what was kept for its topic."""
        if self._retained.takes(event):
            self._retained.put(event)
        else:
            self.counters.dropped["too many retained messages"] += 1

    def recall(self, sessions: Iterable[Session], now: float) -> list[io.Command]:
        """Begin with sessions of a life before. The core knows them; the commands are about those that are over."""
        commands: list[io.Command] = []
        self._outbox.now = now
        for session in sessions:
            self._lives.recall(session, commands, now)
        return commands

    @property
    def queued(self) -> int:
        """Messages that wait for clients, or for what clients have to say to them."""
        return sum(session.queued for session in self._sessions.values())

    @property
    def home_s_max(self) -> float:
        """How long a client's home may take to answer."""
        return self._options.home_s_max

    @property
    def sys_interval_s(self) -> float:
        """How often ``report`` wants to be called; 0 for never."""
        return self._options.sys_interval_s

    def report(self, now: float) -> None:
        """Bring what the broker says of itself up to date, and tell those of its clients that want it."""
        changed = self._bulletin.look(figures(self.counters, self._sessions, len(self._retained), self._version), now)
        listening = [session for session in self._sessions.values() if session.subscriptions.local]
        for event in changed if listening else ():
            found = ((session.client, session.subscriptions.wanting(event)) for session in listening)
            self._outbox.deliver(io.Deliver(event, tuple((client, hits) for client, hits in found if hits)), now)

    def missed(self, missed: io.Missed, now: float) -> None:
        """Tell clients of what they have missed, if they want to know."""
        event = gap_event(missed)
        known = [self._sessions[name] for name in missed.clients if name in self._sessions]
        found = ((session.client, session.subscriptions.wanting(event)) for session in known)
        if hits := tuple((client, wanting) for client, wanting in found if wanting):
            self._outbox.deliver(io.Deliver(event, hits), now)

    def closed(self, conn: int, now: float) -> list[io.Command]:
        """The socket is gone."""
        connection = self._lives.connections.get(conn)
        commands: list[io.Command] = []
        self._outbox.now = now
        if connection is not None:
            self._lives.hang_up(connection, commands, now)
        return commands

    def writable(self, conn: int, ready: bool) -> None:
        """The socket takes no more for now, or does again. Until then QoS 0 is dropped and QoS 1 waits."""
        connection = self._lives.connections.get(conn)
        if connection is None:
            return
        connection.paused = not ready
        if connection.session is not None:
            connection.session.settle()
            self._lives.pump(connection.session)

    def deadline(self) -> float | None:
        """When ``due`` wants to be called."""
        return self._lives.alarms.next()

    def due(self, now: float) -> list[io.Command]:
        """Time has passed: connections that were silent for too long, delayed wills, sessions that are over."""
        commands: list[io.Command] = []
        self._outbox.now = now
        for kind, key in self._lives.alarms.due(now):
            if kind == CONNECTION and isinstance(key, int):
                self._lives.check_silence(self._lives.connections[key], commands, now)
            elif kind == SESSION and isinstance(key, str):
                self._lives.check_away(self._sessions[key], commands, now)
            elif kind == REPLAY and isinstance(key, str) and key in self._sessions:
                self._lives.pump(self._sessions[key])
        return commands

    # --- packets

    def _read(self, connection: Connection, read: Iterable[Packet], commands: list[io.Command], now: float) -> None:
        run: list[Event] = []
        taken = plain = 0
        session = connection.session
        try:
            for packet in read:
                if connection.asked is not None:  # nothing is done before it is known who this is
                    connection.early.append(packet)
                    continue
                if type(packet) is Publish and session is not None:
                    taken += 1
                    if packet.topic in session.topics_open and not (packet.qos or packet.properties or packet.retain):
                        plain += 1
                        run.append(Event(packet.topic, packet.payload))
                    elif (event := self._intake.take(connection, session, packet)) is not None:
                        run.append(event)
                    continue
                if run and session is not None and type(packet) not in _QUIET:
                    self._lives.emit(session, run, commands)
                    run = []
                self.counters.received[type(packet).__name__] += 1
                self._handle(connection, packet, commands, now)
                if connection.closing:
                    break
                session = connection.session
        finally:
            self.counters.received["Publish"] += taken
            self.counters.published[0] += plain
            if run and session is not None:
                self._lives.emit(session, run, commands)

    def _handle(self, connection: Connection, packet: Packet, commands: list[io.Command], now: float) -> None:
        """Any packet but a PUBLISH."""
        session = connection.session
        if session is None:
            if not isinstance(packet, packets.Connect):
                raise ProtocolError(Reason.PROTOCOL_ERROR, "the first packet is no CONNECT")
            self._lives.connect(connection, packet, commands, now)
        elif isinstance(packet, packets.Puback | packets.Pubrec | packets.Pubcomp):
            if self._outbox.answered(connection, session, packet):
                self._lives.pump(session)
        elif isinstance(packet, packets.Pubrel):
            self._intake.released(connection, session, packet)
        elif isinstance(packet, packets.Pingreq):
            self._outbox.send(connection, packets.Pingresp())
        elif isinstance(packet, packets.Subscribe):
            self._subscribe(connection, session, packet, commands)
        elif isinstance(packet, packets.Unsubscribe):
            self._unsubscribe(connection, session, packet, commands)
        elif isinstance(packet, packets.Disconnect):
            self._lives.disconnect(connection, session, packet, commands, now)
        elif isinstance(packet, packets.Connect):
            self._lives.connect_again(connection, commands, now)
        elif isinstance(packet, packets.Auth):
            raise ProtocolError(Reason.BAD_AUTHENTICATION_METHOD, "enhanced authentication is not available")
        else:
            raise ProtocolError(Reason.PROTOCOL_ERROR, f"{type(packet).__name__.upper()} has no place here")

    # --- subscriptions

    def _subscribe(
        self, connection: Connection, session: Session, packet: packets.Subscribe, commands: list[io.Command]
    ) -> None:
        outcome = session.subscriptions.subscribe(packet, self._options, session.grants)
        self._tell_core(session, outcome, commands)
        session.changed()
        self._outbox.answer_subscribe(connection, packet.packet_id, outcome)
        for subscription in outcome.replay:
            if is_local(subscription.filter):
                self._outbox.replay(session, subscription, self._bulletin.matching(subscription.pattern))
            elif len(self._retained):
                kept = self._retained.matching(subscription.pattern, self._outbox.wall)
                self._outbox.replay(session, subscription, kept)
        self._lives.pump(session)

    def _unsubscribe(
        self, connection: Connection, session: Session, packet: packets.Unsubscribe, commands: list[io.Command]
    ) -> None:
        outcome = session.subscriptions.unsubscribe(packet)
        self._tell_core(session, outcome, commands)
        session.changed()
        self._outbox.send(connection, packets.Unsuback(packet.packet_id, tuple(outcome.reasons)))

    def _tell_core(self, session: Session, outcome: Outcome, commands: list[io.Command]) -> None:
        session.settle()
        if outcome.learn:
            commands.append(io.Subscribe(session.client, tuple(outcome.learn)))
        if outcome.forget:
            commands.append(io.Unsubscribe(session.client, tuple(outcome.forget)))
        for pattern, order_s in outcome.order:
            commands.append(io.Subscribe(session.client, (pattern,), order_s))
        if outcome.join:
            commands.append(io.Join(session.client, tuple(outcome.join)))
        if outcome.part:
            commands.append(io.Part(session.client, tuple(outcome.part)))
        for reason in outcome.reasons:
            if reason >= Reason.UNSPECIFIED_ERROR:
                self.counters.refused[reason.name] += 1
