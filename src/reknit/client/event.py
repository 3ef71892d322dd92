"""What a subscriber gets, and how it looks on the wire.

Owns: the map between Python values and MQTT user properties, at a client. Must not know: connections. A value that a
Python client published comes back as the same value; a user property of any other client is text, and stays so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from paho.mqtt.client import MQTTMessage
from paho.mqtt.properties import Properties

from reknit.client.errors import BadRequest
from reknit.client.properties import USER, Pairs, from_paho, to_paho
from reknit.model.event import Attributes, BadAttribute, Scalar, check_attributes, from_properties, to_properties
from reknit.model.event import Event as ModelEvent

__all__ = ["TEXT_BYTES_MAX", "Event", "from_message", "publish_properties", "subscription_ids", "to_model"]

TEXT_BYTES_MAX = 65_535
"""The longest text of MQTT."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event, as a subscriber sees it."""

    topic: str
    payload: bytes
    attributes: Mapping[str, Scalar] = field(default_factory=dict)
    qos: int = 0
    content_type: str = ""
    retain: bool = False
    """Whether it was kept for later subscribers, and is not new."""
    packet_id: int = field(default=0, compare=False)
    properties: Pairs = field(default=(), compare=False)
    """All that came with it, as MQTT names it; attributes are among the user properties."""


def publish_properties(attributes: Mapping[str, Scalar], content_type: str, more: Pairs = ()) -> Properties | None:
    """The properties of a PUBLISH, if it needs any. ``BadAttribute`` if a value cannot be an attribute."""
    pairs = to_properties(check_attributes(attributes))
    for name, value in pairs:
        if fault := _text_fault(name) or _text_fault(value):
            raise BadAttribute(f"attribute {name[:80]!r} {fault}")
    if fault := _text_fault(content_type):
        raise BadRequest(f"the content type {fault}")
    content: Pairs = (("content-type", content_type),) if content_type else ()
    return to_paho("publish", (*content, *((USER, pair) for pair in pairs), *more))


def _text_fault(text: str) -> str:
    """Why MQTT cannot carry this text; empty if it can."""
    if "\0" in text:
        return "has a NUL character in it"
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        return "cannot be written as UTF-8"
    return f"is longer than {TEXT_BYTES_MAX} bytes" if size > TEXT_BYTES_MAX else ""


def from_message(message: MQTTMessage) -> Event:
    typed, rest = from_properties(_pairs(message))
    attributes: Attributes = {**dict(rest), **typed}
    content_type = str(getattr(message.properties, "ContentType", ""))
    return Event(
        message.topic,
        bytes(message.payload),
        attributes,
        message.qos,
        content_type,
        message.retain,
        message.mid,
        from_paho(message.properties) if message.properties is not None else (),
    )


def to_model(message: MQTTMessage) -> ModelEvent:
    """The event as patterns see it, untyped properties still apart from typed attributes."""
    typed, rest = from_properties(_pairs(message))
    return ModelEvent(message.topic, bytes(message.payload), attributes=typed, properties=rest)


def subscription_ids(message: MQTTMessage) -> list[int]:
    """The identifiers of the subscriptions that the broker sent it for; none if it does not use them."""
    return list(getattr(message.properties, "SubscriptionIdentifier", ()))


def _pairs(message: MQTTMessage) -> list[tuple[str, str]]:
    return list(getattr(message.properties, "UserProperty", ()))
