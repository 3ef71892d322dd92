"""Properties of MQTT 5 by the names that the standard gives them, in small letters: ``response-topic``.

Owns: which there are, what each holds, and the way from them to the library's and back. Must not know: what any of them
means. Properties are pairs of a name and a value, in an order, since ``user-property`` may come often.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

from paho.mqtt import MQTTException
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties as Paho

from reknit.client.errors import BadRequest

__all__ = ["NAMES", "USER", "Kind", "Packet", "Pairs", "Value", "from_paho", "to_paho"]

Value: TypeAlias = str | int | bytes | tuple[str, str]
Pairs: TypeAlias = tuple[tuple[str, Value], ...]
Kind: TypeAlias = Literal["text", "binary", "pair", "u8", "u16", "u32", "varint"]
Packet: TypeAlias = Literal["connect", "publish", "subscribe", "unsubscribe", "disconnect", "will"]

USER = "user-property"
NAMES: dict[str, Kind] = {
    "payload-format-indicator": "u8",
    "message-expiry-interval": "u32",
    "content-type": "text",
    "response-topic": "text",
    "correlation-data": "binary",
    "subscription-identifier": "varint",
    "session-expiry-interval": "u32",
    "authentication-method": "text",
    "authentication-data": "binary",
    "request-problem-information": "u8",
    "will-delay-interval": "u32",
    "request-response-information": "u8",
    "receive-maximum": "u16",
    "topic-alias-maximum": "u16",
    "topic-alias": "u16",
    USER: "pair",
    "maximum-packet-size": "u32",
}
"""Those that a client sends, or finds in what it is sent."""

_LARGEST = {"u8": 0xFF, "u16": 0xFFFF, "u32": 0xFFFF_FFFF, "varint": 268_435_455}
_PACKETS: dict[Packet, int] = {
    "connect": PacketTypes.CONNECT,
    "publish": PacketTypes.PUBLISH,
    "subscribe": PacketTypes.SUBSCRIBE,
    "unsubscribe": PacketTypes.UNSUBSCRIBE,
    "disconnect": PacketTypes.DISCONNECT,
    "will": PacketTypes.WILLMESSAGE,
}


def to_paho(packet: Packet, pairs: Iterable[tuple[str, Value]]) -> Paho | None:
    """The properties of a packet, if it has any; ``BadRequest`` if one cannot be there."""
    made: Paho | None = None
    for name, value in pairs:
        made = Paho(_PACKETS[packet]) if made is None else made  # type: ignore[no-untyped-call]
        _check(name, value)
        try:
            setattr(made, _attribute(name), [value] if name == USER else value)
        except MQTTException:
            raise BadRequest(f"{name}: no property of {packet.upper()}, or {value!r} is out of range") from None
    return made


def _check(name: str, value: Value) -> None:
    if name not in NAMES:
        raise BadRequest(f"{name!r} is no property; known: {', '.join(NAMES)}")
    largest = _LARGEST.get(NAMES[name])
    if largest is not None and not (isinstance(value, int) and 0 <= value <= largest):
        raise BadRequest(f"{name}: {value!r} does not lie between 0 and {largest}")


def from_paho(properties: Any) -> Pairs:
    """What a message has with it, in the order of ``NAMES``; nothing where there are no properties at all."""
    found: list[tuple[str, Value]] = []
    for name in NAMES:
        value = getattr(properties, _attribute(name), None)
        if isinstance(value, list):
            found.extend((name, each) for each in value)
        elif value is not None:
            found.append((name, value))
    return tuple(found)


def _attribute(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("-"))
