"""From a client's message to an event.

Owns: how user properties become attributes, and which messages are refused for what they ask. Must not know: sessions.
"""

from __future__ import annotations

from typing import Protocol

from reknit.model.event import Event, from_properties
from reknit.mqtt.options import DoorOptions
from reknit.mqtt.packets import V5_0, Publish
from reknit.mqtt.properties import Properties, PropertyId, pairs, text
from reknit.mqtt.reasons import ProtocolError, Reason

__all__ = ["check_publish", "to_event", "topic_fault"]


class _Message(Protocol):
    """A PUBLISH, or a will."""

    @property
    def topic(self) -> str: ...
    @property
    def payload(self) -> bytes: ...
    @property
    def qos(self) -> int: ...
    @property
    def properties(self) -> Properties: ...


def to_event(message: _Message) -> Event:
    """The event that a message is, not yet stamped."""
    event = Event(message.topic, message.payload, qos=message.qos)
    if message.properties:
        event.attributes, event.properties = from_properties(pairs(message.properties))
        event.content_type = text(message.properties, PropertyId.CONTENT_TYPE) or ""
    return event


def topic_fault(topic: str, options: DoorOptions) -> Reason | None:
    """Why a client may not publish to ``topic``, which is well formed."""
    if topic.startswith("$"):
        return Reason.NOT_AUTHORIZED
    if len(topic.encode()) > options.topic_bytes_max or topic.count("/") >= options.topic_levels_max:
        return Reason.TOPIC_INVALID
    return None


def check_publish(packet: Publish, version: int) -> None:
    """Refuse what the CONNACK has announced as not available."""
    if packet.qos > 1:
        raise ProtocolError(Reason.QOS_NOT_SUPPORTED, "QoS 2 is not available")
    if version == V5_0 and packet.retain:
        raise ProtocolError(Reason.RETAIN_NOT_SUPPORTED, "retained messages are not available")
    for ident, _ in packet.properties:
        if ident == PropertyId.TOPIC_ALIAS:
            raise ProtocolError(Reason.TOPIC_ALIAS_INVALID, "topic aliases are not available")
        if ident == PropertyId.SUBSCRIPTION_ID:
            raise ProtocolError(Reason.PROTOCOL_ERROR, "a client's PUBLISH with a subscription identifier")
