"""From an event to the bytes of its copies.

One event goes to many receivers. Its PUBLISH is made once for each version of MQTT and handed to all receivers at
QoS 0 as the very same bytes; at QoS 1 the part behind the packet identifier is made once, and only the head differs.

Owns: how attributes become user properties, and the reuse of bytes. Must not know: sessions or connections.
"""

from __future__ import annotations

from reknit.model.event import Event, to_properties
from reknit.mqtt.encode import publish_wire
from reknit.mqtt.fields import text_wire
from reknit.mqtt.packets import V5_0
from reknit.mqtt.parser import TOPICS_CACHED_MAX
from reknit.mqtt.properties import Properties, PropertyId, encode_properties

__all__ = ["Copies", "event_properties", "plain_wire"]

_SHORT_BYTES_MAX = 65_535
"""Payloads up to this certainly fit into a packet."""


def plain_wire(event: Event, version: int, topics: dict[str, bytes]) -> bytes:
    """The PUBLISH at QoS 0 without subscription identifiers; empty if it has no bytes.

    ``topics`` is a cache shared by all events: the bytes of a topic, with their length in front.
    """
    if version == V5_0 or len(event.payload) > _SHORT_BYTES_MAX:
        return Copies(event, topics).wire(version, ())
    topic = topics.get(event.topic)
    if topic is None:
        return Copies(event, topics).wire(version, ())
    return publish_wire(topic, event.payload)


class Copies:
    """The bytes of one event; empty where it has none, for a text that is too long for MQTT, say.

    ``topics`` is the cache of ``plain_wire``.
    """

    __slots__ = ("_event", "_tail5", "_topics")

    def __init__(self, event: Event, topics: dict[str, bytes]) -> None:
        self._event = event
        self._topics = topics
        self._tail5 = b""

    def wire(self, version: int, identifiers: tuple[int, ...], packet_id: int = 0, *, again: bool = False) -> bytes:
        """Any PUBLISH: at QoS 1 if it has a packet identifier, ``again`` if it may have been sent before."""
        event = self._event
        flags = (10 if again else 2) if packet_id else 0
        try:
            topic = self._topics.get(event.topic) or _learn(event.topic, self._topics)
            tail = self._tail(identifiers) if version == V5_0 else event.payload
            return publish_wire(topic, tail, flags, packet_id)
        except ValueError:
            return b""

    def _tail(self, identifiers: tuple[int, ...]) -> bytes:
        """What follows the packet identifier in MQTT 5."""
        event = self._event
        if identifiers:
            properties = tuple((int(PropertyId.SUBSCRIPTION_ID), ident) for ident in identifiers)
            return encode_properties(properties + event_properties(event)) + event.payload
        if not self._tail5:
            self._tail5 = encode_properties(event_properties(event)) + event.payload
        return self._tail5


def event_properties(event: Event) -> Properties:
    """What of an event travels as properties of a PUBLISH."""
    if not (event.properties or event.attributes or event.content_type):
        return ()
    content: Properties = ((int(PropertyId.CONTENT_TYPE), event.content_type),) if event.content_type else ()
    user = [*event.properties, *to_properties(event.attributes)]
    return content + tuple((int(PropertyId.USER_PROPERTY), pair) for pair in user)


def _learn(topic: str, topics: dict[str, bytes]) -> bytes:
    if len(topics) >= TOPICS_CACHED_MAX:
        topics.clear()
    wire = topics[topic] = text_wire(topic)
    return wire
