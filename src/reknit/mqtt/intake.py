"""What clients publish: from a PUBLISH to an event, with its acknowledgement.

    QoS  a PUBLISH                               what follows
    ---  --------------------------------------  ---------------------------------------------------------
    0    is taken                                nothing
    1    is taken                                PUBACK
    2    is taken, and its identifier kept       PUBREC
         comes again, before it is released      PUBREC again, and no second event
         (PUBREL)                                PUBCOMP; the identifier may be used anew

Owns: numbers for topics that clients use, the window of messages that a client may have under way, and which topics
are known to be good. Must not know: who receives an event.
"""

from __future__ import annotations

import msgspec

from reknit.model.event import Event
from reknit.mqtt.incoming import check_publish, payload_fault, published_will, to_event, topic_fault
from reknit.mqtt.options import DoorCounters, DoorOptions
from reknit.mqtt.outbox import Outbox
from reknit.mqtt.packets import V5_0, Pubcomp, Publish, Pubrel
from reknit.mqtt.parser import TOPICS_CACHED_MAX
from reknit.mqtt.properties import PropertyId, integer
from reknit.mqtt.reasons import ProtocolError, Reason
from reknit.mqtt.retained import Retained
from reknit.mqtt.session import Connection, Session

__all__ = ["Intake"]


class Intake:
    def __init__(self, options: DoorOptions, counters: DoorCounters, outbox: Outbox, retained: Retained) -> None:
        """All but the options are the door's."""
        self.topics_open: set[str] = set()  # topics that clients may publish to; only ever asked for membership
        self._options = options
        self._counters = counters
        self._outbox = outbox
        self._retained = retained

    def take(self, connection: Connection, session: Session, packet: Publish) -> Event | None:
        """The event of a PUBLISH that is not plain, acknowledged; ``None`` where it is refused or known."""
        self._counters.published[packet.qos] += 1
        if packet.properties:
            check_publish(packet)
            packet = self._named(connection, packet)
        known = packet.qos == 2 and packet.packet_id in session.received
        if packet.qos and not known:
            self._check_window(connection, session)
        event = to_event(packet, self._outbox.wall)
        fault = None if known else self._fault(session, event)
        self._acknowledge(connection, session, packet, fault)
        if fault is not None:
            self._counters.refused[fault.name] += 1
            return None
        if known:
            return None
        self._open(packet.topic)
        return event

    def will(self, will: Event) -> Event:
        """A will that is to be published now."""
        return published_will(will, self._outbox.wall)

    def _named(self, connection: Connection, packet: Publish) -> Publish:
        """The same with its topic, where the client gave a number for it."""
        alias = integer(packet.properties, PropertyId.TOPIC_ALIAS, 0)
        if not alias:
            return packet
        if alias > self._options.topic_aliases_max:
            raise ProtocolError(Reason.TOPIC_ALIAS_INVALID, f"the largest is {self._options.topic_aliases_max}")
        if packet.topic:
            connection.aliases_in[alias] = packet.topic
            return packet
        if alias not in connection.aliases_in:
            raise ProtocolError(Reason.PROTOCOL_ERROR, f"topic alias {alias} stands for nothing yet")
        return msgspec.structs.replace(packet, topic=connection.aliases_in[alias])

    def _check_window(self, connection: Connection, session: Session) -> None:
        under_way = connection.unanswered + len(session.received)
        if connection.version == V5_0 and under_way >= self._options.receive_maximum:
            raise ProtocolError(Reason.RECEIVE_MAXIMUM_EXCEEDED, "too many messages without an acknowledgement")

    def _fault(self, session: Session, event: Event) -> Reason | None:
        if session.grants is not None and not session.grants.may_publish(event.topic):
            return Reason.NOT_AUTHORIZED
        if event.topic not in self.topics_open and (fault := topic_fault(event.topic, self._options)) is not None:
            return fault
        if event.envelope is not None and event.envelope.retain and not self._retained.takes(event):
            return Reason.QUOTA_EXCEEDED
        return payload_fault(event)

    def _acknowledge(self, connection: Connection, session: Session, packet: Publish, fault: Reason | None) -> None:
        if packet.qos == 1:
            connection.unanswered += 1
        elif packet.qos == 2 and fault is None:
            session.took(packet.packet_id)
        if packet.qos:
            self._outbox.acknowledge(connection, packet.packet_id, fault or 0, packet.qos)

    def _open(self, topic: str) -> None:
        if len(self.topics_open) >= TOPICS_CACHED_MAX:
            self.topics_open.clear()
        self.topics_open.add(topic)

    def released(self, connection: Connection, session: Session, packet: Pubrel) -> None:
        known = session.freed(packet.packet_id)
        self._outbox.send(connection, Pubcomp(packet.packet_id, 0 if known else Reason.PACKET_ID_NOT_FOUND))
