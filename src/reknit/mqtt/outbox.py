"""What is on its way to the clients: packets, deliveries, and the ends of connections.

Bytes gather per connection until the shell takes them, all of one connection as one piece. A delivery at QoS 0 to a
client with nothing special about it costs one append of bytes that all such clients share; everything else, QoS 1,
no-local, subscription identifiers, a client's own limit of packet size, a socket that is full, goes the careful way.

Owns: which connection has something to write, and the flow of messages of QoS 1. Must not know: what clients send,
or the core beyond its deliveries.
"""

from __future__ import annotations

from reknit.core.io import Deliver
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.mqtt.encode import encode
from reknit.mqtt.options import DoorCounters, Output
from reknit.mqtt.outgoing import Copies, plain_wire
from reknit.mqtt.packets import V3_1_1, V5_0, Packet, Puback, Suback
from reknit.mqtt.properties import reason_string
from reknit.mqtt.reasons import SUBACK_FAILURE
from reknit.mqtt.session import Connection, Message, Session
from reknit.mqtt.subscriptions import Outcome

__all__ = ["Outbox"]

_PUBACK_HEAD = b"\x40\x02"


class Outbox:
    """The output of all connections of a door."""

    __slots__ = ("_counters", "_sessions", "_topics", "_touched")

    def __init__(self, counters: DoorCounters, sessions: dict[str, Session]) -> None:
        """``sessions``: the door's, by client."""
        self._counters = counters
        self._sessions = sessions
        self._topics: dict[str, bytes] = {}  # bounded where it is filled, in `outgoing`
        self._touched: list[Connection] = []  # each has something in `out`, or is closing

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

    def acknowledge(self, connection: Connection, packet_id: int, reason: int) -> None:
        """Write a PUBACK. A success has the same four bytes in both versions, which no client can find too large."""
        if reason:
            self.send(connection, Puback(packet_id, reason))
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
        plain4 = plain5 = b""  # the whole PUBLISH at QoS 0, which all plain receivers share
        sent = 0
        for client, patterns in effect.matches:
            session = self._sessions.get(client)
            connection = None if session is None or event.qos else session.plain
            if connection is None:
                self._deliver_with_care(session, event, patterns)
                continue
            if connection.version == V3_1_1:
                wire = plain4 = plain4 or plain_wire(event, V3_1_1, self._topics)
            else:
                wire = plain5 = plain5 or plain_wire(event, V5_0, self._topics)
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

    def _deliver_with_care(self, session: Session | None, event: Event, patterns: tuple[Pattern, ...]) -> None:
        if session is None:
            self._counters.dropped["no session"] += 1
            return
        found = session.subscriptions.matching(patterns)
        if not found:
            self._counters.dropped["no subscription"] += 1
            return
        if session.is_own(event):
            found = [subscription for subscription in found if not subscription.no_local]
            if not found:
                return
        qos = min(event.qos, max(subscription.qos for subscription in found))
        identifiers = tuple(subscription.identifier for subscription in found if subscription.identifier)
        connection = session.connection
        copies = Copies(event, self._topics)
        if qos:
            self._deliver_surely(session, Message(event, identifiers), copies)
        elif session.keeps_plain:
            if not session.wait(Message(event, identifiers, 0)):
                self._counters.dropped["queue full"] += 1
        elif connection is None:
            self._counters.dropped["QoS 0 while away"] += 1
        elif connection.paused:
            self._counters.dropped["QoS 0 to a full socket"] += 1
        else:
            self._publish(connection, copies, identifiers)

    def _deliver_surely(self, session: Session, message: Message, copies: Copies) -> None:
        """QoS 1: at once if the window is open, since then nothing waits; else behind what waits."""
        connection = session.connection
        if connection is None or not session.open:
            if not session.wait(message):
                self._counters.dropped["queue full"] += 1
            return
        ident = session.send(message)
        if not self._publish(connection, copies, message.identifiers, ident):
            del session.inflight[ident]

    def pump(self, session: Session) -> None:
        """Send what the window now has room for."""
        connection = session.connection
        while connection is not None and (following := session.next_to_send()) is not None:
            ident, message, again = following
            copies = Copies(message.event, self._topics)
            if not self._publish(connection, copies, message.identifiers, ident, again=again) and ident:
                del session.inflight[ident]

    def _publish(
        self,
        connection: Connection,
        copies: Copies,
        identifiers: tuple[int, ...],
        packet_id: int = 0,
        *,
        again: bool = False,
    ) -> bool:
        """Write one PUBLISH; whether the client could be given it."""
        wire = copies.wire(connection.version, identifiers, packet_id, again=again)
        if not wire:
            self._counters.dropped["not encodable"] += 1
            return False
        if 0 < connection.packet_bytes_max < len(wire):
            self._counters.dropped["larger than the client allows"] += 1
            return False
        self._counters.sent["Publish"] += 1
        self.write(connection, wire)
        return True
