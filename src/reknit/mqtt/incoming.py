"""From a client's message to an event.

Owns: how user properties become attributes, what of a message goes with its envelope, and which messages are refused.
Must not know: sessions.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from reknit.model.event import Envelope, Event, from_properties
from reknit.mqtt.options import DoorOptions
from reknit.mqtt.packets import Publish, Will
from reknit.mqtt.properties import Properties, PropertyId, binary, integer, pairs, text
from reknit.mqtt.reasons import ProtocolError, Reason

__all__ = ["check_publish", "payload_fault", "published_will", "to_event", "topic_fault", "will_event"]

_NOTHING = Envelope()
_SHORTEST_S = 0.001
"""What is good for no time at all is good for this long: 0 means for ever."""


class _Message(Protocol):
    """A PUBLISH, or a will."""

    @property
    def topic(self) -> str: ...
    @property
    def payload(self) -> bytes: ...
    @property
    def qos(self) -> int: ...
    @property
    def retain(self) -> bool: ...
    @property
    def properties(self) -> Properties: ...


def to_event(message: _Message, wall: float) -> Event:
    """The event that a message is, not yet stamped. ``wall``: now, in seconds since 1970."""
    event = Event(message.topic, message.payload, qos=message.qos)
    if message.properties:
        event.attributes, event.properties = from_properties(pairs(message.properties))
        event.content_type = text(message.properties, PropertyId.CONTENT_TYPE) or ""
    if message.properties or message.retain:
        event.envelope = _envelope(message, wall)
    return event


def will_event(will: Will) -> Event:
    """The event that a will may become. Until then its envelope says for how long it will be good, not until when."""
    return to_event(will, 0.0)


def published_will(will: Event, wall: float) -> Event:
    if will.envelope is None or not will.envelope.expires:
        return will
    envelope = msgspec.structs.replace(will.envelope, expires=wall + will.envelope.expires)
    return msgspec.structs.replace(will, envelope=envelope)


def _envelope(message: _Message, wall: float) -> Envelope | None:
    properties = message.properties
    expiry_s = integer(properties, PropertyId.MESSAGE_EXPIRY, -1)
    envelope = Envelope(
        message.retain,
        wall + max(expiry_s, _SHORTEST_S) if expiry_s >= 0 else 0.0,
        integer(properties, PropertyId.PAYLOAD_FORMAT, 0) == 1,
        text(properties, PropertyId.RESPONSE_TOPIC) or "",
        binary(properties, PropertyId.CORRELATION_DATA),
    )
    return None if envelope == _NOTHING else envelope


def topic_fault(topic: str, options: DoorOptions) -> Reason | None:
    """Why a client may not publish to ``topic``, which is well formed."""
    if topic.startswith("$"):
        return Reason.NOT_AUTHORIZED
    if len(topic.encode()) > options.topic_bytes_max or topic.count("/") >= options.topic_levels_max:
        return Reason.TOPIC_INVALID
    return None


def check_publish(packet: Publish) -> None:
    """Refuse what no client may send."""
    for ident, _ in packet.properties:
        if ident == PropertyId.SUBSCRIPTION_ID:
            raise ProtocolError(Reason.PROTOCOL_ERROR, "a client's PUBLISH with a subscription identifier")


def payload_fault(event: Event) -> Reason | None:
    """Whether a payload that is said to be text is none."""
    if event.envelope is None or not event.envelope.is_text:
        return None
    try:
        event.payload.decode()
    except UnicodeDecodeError:
        return Reason.PAYLOAD_FORMAT_INVALID
    return None
