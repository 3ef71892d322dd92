"""What is on its way to the clients: packets, deliveries, and the ends of connections.

Bytes gather per connection until the shell takes them, all of one connection as one piece. A delivery at QoS 0 to a
client with nothing special about it costs one append of bytes that all such clients share; everything else, QoS 1 and
2, no-local, subscription identifiers, numbers for topics, a client's own limit of packet size, a socket that is full,
goes the careful way.

Owns: which connection has something to write, and the flow of messages to clients. Must not know: what clients publish,
or the core beyond its deliveries.
"""

from __future__ import annotations

from collections.abc import Iterable

from reknit.core.io import Deliver, DeliverShared
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.mqtt.encode import encode
from reknit.mqtt.moods import Moods
from reknit.mqtt.news import News, drop_news
from reknit.mqtt.options import DoorCounters, Output
from reknit.mqtt.outgoing import Copies, plain_wire
from reknit.mqtt.packets import V3_1_1, V5_0, Packet, Puback, Pubcomp, Pubrec, Pubrel, Suback
from reknit.mqtt.properties import reason_string
from reknit.mqtt.reasons import SUBACK_FAILURE, Reason
from reknit.mqtt.retained import is_over
from reknit.mqtt.session import RELEASE, Connection, Message, Session
from reknit.mqtt.subscriptions import Outcome, Subscription

__all__ = ["Outbox"]

_PUBACK_HEAD = b"\x40\x02"
PUMP_BYTES = 256 * 1024
"""So much of what was retained is written for one client before others have their turn."""
PUMP_MESSAGE_BYTES = 64
"""What a message counts beside its payload there."""


class Outbox:
    """The output of all connections of a door."""

    __slots__ = ("_counters", "_epoch", "_sessions", "_topics", "_touched", "moods", "news", "now")

    def __init__(self, counters: DoorCounters, sessions: dict[str, Session], epoch: float) -> None:
        """``sessions``: the door's, by client. ``epoch``: what makes a time of the door one since 1970."""
        self.now = 0.0
        """Of the last call from outside."""
        self._epoch = epoch
        self._counters = counters
        self._sessions = sessions
        self.moods = Moods(sessions)
        self.news: list[News] = []
        """Of all clients; the shell takes it out after each turn."""
        self._topics: dict[str, bytes] = {}  # bounded where it is filled, in `outgoing`
        self._touched: list[Connection] = []  # each has something in `out`, or is closing

    @property
    def wall(self) -> float:
        return self.now + self._epoch

    # --- bytes

    def take(self) -> list[Output]:
        """All output since the last call, in the order in which the connections were first touched."""
        outputs = []
        for connection in self._touched:
            out = connection.out
            data = out[0] if len(out) == 1 else b"".join(out)
            out.clear()
            connection.unanswered = 0
            self._counters.bytes_sent += len(data)
            outputs.append(Output(connection.conn, data, connection.closing))
        self._touched.clear()
        return outputs

    def send(self, connection: Connection, packet: Packet, version: int = 0) -> bool:
        """Write a packet, if it is not larger than the client allows; whether it was."""
        wire = encode(packet, version or connection.version)
        if 0 < connection.packet_bytes_max < len(wire):
            return False
        self._counters.sent[type(packet).__name__] += 1
        self.write(connection, wire)
        return True

    def acknowledge(self, connection: Connection, packet_id: int, reason: int, qos: int = 1) -> None:
        """Write a PUBACK, or a PUBREC at QoS 2.

        The success of a PUBACK has the same four bytes in both versions, which no client can find too large.
        """
        if reason or qos > 1:
            self.send(connection, Puback(packet_id, reason) if qos == 1 else Pubrec(packet_id, reason))
            return
        self._counters.sent["Puback"] += 1
        self.write(connection, _PUBACK_HEAD + packet_id.to_bytes(2, "big"))

    def answer_subscribe(self, connection: Connection, packet_id: int, outcome: Outcome) -> None:
        """Write a SUBACK, with the causes of refusals where the client can read and wants them."""
        if connection.version == V3_1_1:
            self.send(connection, Suback(packet_id, tuple(min(int(each), SUBACK_FAILURE) for each in outcome.reasons)))
            return
        why = "; ".join(outcome.whys) if connection.problem_information else ""
        reasons = tuple(outcome.reasons)
        if not self.send(connection, Suback(packet_id, reasons, reason_string(why))):
            self.send(connection, Suback(packet_id, reasons))

    def write(self, connection: Connection, wire: bytes) -> None:
        if connection.closing:
            return
        if not connection.out:
            self._touched.append(connection)
        connection.out.append(wire)

    def close(self, connection: Connection) -> None:
        """Let the socket be closed after what was written."""
        if not connection.out:
            self._touched.append(connection)
        connection.closing = True

    # --- events

    def deliver(self, effect: Deliver, now: float) -> None:
        """One copy of an event for each client that it matches."""
        event = effect.event
        self.now = now
        plain4 = plain5 = b""  # the whole PUBLISH at QoS 0, which all plain receivers share
        sent = 0
        for client, patterns in effect.matches:
            session = self._sessions.get(client)
            connection = None if session is None or event.qos else session.plain
            if connection is None:
                self._deliver_with_care(session, event, patterns)
                continue
            if connection.version == V3_1_1:
                wire = plain4 = plain4 or plain_wire(event, V3_1_1, self._topics, self.wall)
            else:
                wire = plain5 = plain5 or plain_wire(event, V5_0, self._topics, self.wall)
            if not wire:
                self._counters.dropped["not encodable"] += 1
                continue
            out = connection.out
            if not out:
                self._touched.append(connection)
            out.append(wire)
            sent += 1
        if sent:
            self._counters.sent["Publish"] += sent
            self._counters.delivered[0] += sent

    def _deliver_with_care(self, session: Session | None, event: Event, patterns: tuple[Pattern, ...]) -> None:
        if session is None:
            self._counters.dropped["no session"] += 1
            return
        self._deliver_to(session, event, session.subscriptions.matching(patterns))

    def share(self, effect: DeliverShared, now: float) -> None:
        """The one copy of an event that is for a group."""
        self.now = now
        session = self._sessions.get(effect.client)
        if session is None:
            self._counters.dropped["no session"] += 1
            return
        self._deliver_to(session, effect.event, session.subscriptions.shared((effect.group, effect.pattern)))

    def _deliver_to(self, session: Session, event: Event, found: list[Subscription]) -> None:
        if not found:
            self._counters.dropped["no subscription"] += 1
            return
        if session.grants is not None and not session.grants.may_receive(event):
            self._counters.dropped["not allowed"] += 1
            return
        if session.is_own(event):
            found = [subscription for subscription in found if not subscription.no_local]
            if not found:
                return
        qos = min(event.qos, max(subscription.qos for subscription in found))
        identifiers = tuple(subscription.identifier for subscription in found if subscription.identifier)
        kept = event.envelope is not None and event.envelope.retain
        retain = kept and any(subscription.retain_as_published for subscription in found)
        message = Message(event, identifiers, qos, retain)
        if qos:
            self._deliver_surely(session, message)
        else:
            self._deliver_plainly(session, message)

    def _deliver_plainly(self, session: Session, message: Message) -> None:
        """QoS 0: now or never, but for a client that is on its way here."""
        connection = session.connection
        if session.keeps_plain:
            if not session.wait(message):
                self._drop(session)
        elif connection is None:
            self._counters.dropped["QoS 0 while away"] += 1
        elif connection.paused:
            self._counters.dropped["QoS 0 to a full socket"] += 1
        else:
            self._publish(connection, message)

    def _deliver_surely(self, session: Session, message: Message) -> None:
        """QoS 1 and 2: at once if the window is open and nothing waits; else behind what waits."""
        connection = session.connection
        if connection is None or session.replay or not session.open:
            if not session.wait(message):
                self._drop(session)
            self.moods.note(session)
            return
        ident = session.send(message)
        if not self._publish(connection, message, ident):
            session.withdraw(ident)

    def _drop(self, session: Session) -> None:
        """There was no room. The first of a row is news, and how many there were when the row is over."""
        self._counters.dropped["queue full"] += 1
        session.dropped += 1
        if session.dropped == 1:
            self.news.append(drop_news("dropping", session))

    def end_drops(self, session: Session) -> None:
        """The client has been sent all that waited, or its session is over: a row of drops is, too."""
        if session.dropped:
            self.news.append(drop_news("dropped", session))
            session.dropped = 0

    def replay(self, session: Session, subscription: Subscription, events: Iterable[Event]) -> None:
        """Retained messages for a client that has just subscribed."""
        identifiers = (subscription.identifier,) if subscription.identifier else ()
        for event in events:
            message = Message(event, identifiers, min(event.qos, subscription.qos), retain=True)
            if not session.play(message):
                self._counters.dropped["too many retained messages"] += 1

    def pump(self, session: Session) -> bool:
        """Send what the window now has room for; whether there is more, beyond what is good to send at once."""
        connection, budget = session.connection, PUMP_BYTES
        while connection is not None and (following := session.next_to_send()) is not None:
            ident, message, again = following
            budget -= len(message.event.payload) + PUMP_MESSAGE_BYTES
            if message is RELEASE:
                self.send(connection, Pubrel(ident))
            elif not self._publish(connection, message, ident, again=again) and ident:
                session.withdraw(ident)
            if budget < 0 and session.replay:
                return True
        if session.dropped and not session.waiting:
            self.end_drops(session)
        self.moods.note(session)
        return False

    def _publish(self, connection: Connection, message: Message, packet_id: int = 0, *, again: bool = False) -> bool:
        """Write one PUBLISH; whether the client could be given it."""
        event, session = message.event, connection.session
        if is_over(event, self.wall):
            self._counters.dropped["expired"] += 1
            return False
        if session is not None and session.grants is not None and not session.grants.may_receive(event):
            self._counters.dropped["not allowed"] += 1
            return False
        alias, named = self._alias(connection, event.topic) if connection.aliases_out_max else (0, True)
        wire = Copies(event, self._topics, self.wall).wire(
            connection.version,
            message.identifiers,
            packet_id,
            qos=message.qos,
            again=again,
            retain=message.retain,
            alias=alias,
            named=named,
        )
        if not wire:
            self._counters.dropped["not encodable"] += 1
            return False
        if 0 < connection.packet_bytes_max < len(wire):
            self._counters.dropped["larger than the client allows"] += 1
            return False
        if alias:
            connection.aliases_out[event.topic] = alias
        self._counters.sent["Publish"] += 1
        self._counters.delivered[message.qos] += 1
        self.write(connection, wire)
        return True

    def _alias(self, connection: Connection, topic: str) -> tuple[int, bool]:
        """The topic's number at this client, or 0, and whether the topic must be named."""
        known = connection.aliases_out
        if topic in known:
            return known[topic], False
        return (len(known) + 1, True) if len(known) < connection.aliases_out_max else (0, True)

    # --- what clients answer

    def answered(self, connection: Connection, session: Session, packet: Puback | Pubrec | Pubcomp) -> bool:
        """The client has taken a message, or a part of the way; whether there may be room for more."""
        ident = packet.packet_id
        match packet:
            case Puback():
                return session.acknowledged(ident)
            case Pubrec() if packet.reason >= Reason.UNSPECIFIED_ERROR:
                return session.acknowledged(ident)
            case Pubrec():
                known = session.release(ident)
                self.send(connection, Pubrel(ident, 0 if known else Reason.PACKET_ID_NOT_FOUND))
                return False
            case Pubcomp():
                return session.completed(ident)
