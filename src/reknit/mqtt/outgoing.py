"""From an event to the bytes of its copies.

One event goes to many receivers. Its PUBLISH is made once for each version of MQTT and handed to all receivers at
QoS 0 as the very same bytes; above that the part behind the packet identifier is made once, and only the head differs.

Owns: how attributes and the envelope become properties, and the reuse of bytes. Must not know: sessions or connections.
"""

from __future__ import annotations

import math

from reknit.model.event import Event, to_properties
from reknit.mqtt.encode import publish_wire
from reknit.mqtt.fields import text_wire
from reknit.mqtt.packets import V5_0
from reknit.mqtt.parser import TOPICS_CACHED_MAX
from reknit.mqtt.properties import Properties, PropertyId, Value, encode_properties

__all__ = ["Copies", "event_properties", "plain_wire"]

_SHORT_BYTES_MAX = 65_535
"""Payloads up to this certainly fit into a packet."""
_NO_TOPIC = b"\0\0"


def plain_wire(event: Event, version: int, topics: dict[str, bytes], wall: float) -> bytes:
    """The PUBLISH at QoS 0 without subscription identifiers; empty if it has no bytes.

    ``topics`` is a cache shared by all events: the bytes of a topic, with their length in front.
    """
    if version == V5_0 or len(event.payload) > _SHORT_BYTES_MAX:
        return Copies(event, topics, wall).wire(version, ())
    topic = topics.get(event.topic)
    if topic is None:
        return Copies(event, topics, wall).wire(version, ())
    return publish_wire(topic, event.payload)


class Copies:
    """The bytes of one event; empty where it has none, for a text that is too long for MQTT, say.

    ``topics`` is the cache of ``plain_wire``; ``wall`` is now, in seconds since 1970.
    """

    __slots__ = ("_event", "_tail5", "_topics", "_wall")

    def __init__(self, event: Event, topics: dict[str, bytes], wall: float) -> None:
        self._event = event
        self._topics = topics
        self._wall = wall
        self._tail5 = b""

    def wire(
        self,
        version: int,
        identifiers: tuple[int, ...],
        packet_id: int = 0,
        *,
        qos: int = 1,
        again: bool = False,
        retain: bool = False,
        alias: int = 0,
        named: bool = True,
    ) -> bytes:
        """Any PUBLISH: at ``qos`` if it has a packet identifier, ``again`` if it may have been sent before.

        ``alias``: the topic's number at this client, if it has one; if it is not ``named``, the client knows it.
        """
        event = self._event
        flags = (8 * again | qos << 1 if packet_id else 0) | retain
        try:
            topic = self._topics.get(event.topic) or _learn(event.topic, self._topics)
            tail = self._tail(identifiers, alias) if version == V5_0 else event.payload
            return publish_wire(topic if named else _NO_TOPIC, tail, flags, packet_id)
        except ValueError:
            return b""

    def _tail(self, identifiers: tuple[int, ...], alias: int) -> bytes:
        """What follows the packet identifier in MQTT 5."""
        event = self._event
        if identifiers or alias:
            own = [(int(PropertyId.SUBSCRIPTION_ID), ident) for ident in identifiers]
            own += [(int(PropertyId.TOPIC_ALIAS), alias)] if alias else []
            return encode_properties((*own, *event_properties(event, self._wall))) + event.payload
        if not self._tail5:
            self._tail5 = encode_properties(event_properties(event, self._wall)) + event.payload
        return self._tail5


def event_properties(event: Event, wall: float) -> Properties:
    """What of an event travels as properties of a PUBLISH."""
    if not (event.properties or event.attributes or event.content_type or event.envelope):
        return ()
    content: Properties = ((int(PropertyId.CONTENT_TYPE), event.content_type),) if event.content_type else ()
    user = [*event.properties, *to_properties(event.attributes)]
    return (*_envelope(event, wall), *content, *((int(PropertyId.USER_PROPERTY), pair) for pair in user))


def _envelope(event: Event, wall: float) -> list[tuple[int, Value]]:
    envelope, found = event.envelope, list[tuple[int, Value]]()
    if envelope is None:
        return found
    if envelope.is_text:
        found.append((int(PropertyId.PAYLOAD_FORMAT), 1))
    if envelope.expires:
        found.append((int(PropertyId.MESSAGE_EXPIRY), max(math.ceil(envelope.expires - wall), 0)))
    if envelope.response_topic:
        found.append((int(PropertyId.RESPONSE_TOPIC), envelope.response_topic))
    if envelope.correlation is not None:
        found.append((int(PropertyId.CORRELATION_DATA), envelope.correlation))
    return found


def _learn(topic: str, topics: dict[str, bytes]) -> bytes:
    if len(topics) >= TOPICS_CACHED_MAX:
        topics.clear()
    wire = topics[topic] = text_wire(topic)
    return wire
