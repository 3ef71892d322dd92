"""From a packet to its bytes.

Owns: the shortest form of each packet in both versions. Values come from us, so a value that has no bytes (a text of
more than 65,535 bytes, say) is a ``ValueError``. Must not know: who receives them.

``publish_wire`` takes the pieces of a PUBLISH that are already bytes, since one event goes to many receivers and only
the packet identifier differs among them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reknit.mqtt import packets
from reknit.mqtt.fields import binary_wire, text_wire, variable_wire
from reknit.mqtt.packets import V5_0, Packet, PacketType
from reknit.mqtt.properties import Properties, encode_properties

__all__ = ["encode", "publish_wire"]

_SHORT_HEADS = tuple(bytes((0x30, size)) for size in range(128))


def encode(packet: Packet, version: int) -> bytes:
    """The bytes of ``packet``; of a CONNECT in the version that it names itself."""
    kind, flags, encoder = _ENCODERS[type(packet)]
    body = encoder(packet, version)
    if isinstance(packet, packets.Publish):
        flags = 8 * packet.dup | packet.qos << 1 | packet.retain
    return bytes((kind << 4 | flags,)) + variable_wire(len(body)) + body


def publish_wire(topic: bytes, tail: bytes, flags: int = 0, packet_id: int = 0) -> bytes:
    """A PUBLISH of a topic (with its length in front) and all that follows the packet identifier."""
    size = len(topic) + len(tail)
    if not packet_id and not flags and size < 128:
        return _SHORT_HEADS[size] + topic + tail
    ident = packet_id.to_bytes(2, "big") if packet_id else b""
    return b"".join((bytes((0x30 | flags,)), variable_wire(size + len(ident)), topic, ident, tail))


def _properties(properties: Properties, version: int) -> bytes:
    return encode_properties(properties) if version == V5_0 else b""


def _two(number: int) -> bytes:
    return number.to_bytes(2, "big")


def _connect(packet: packets.Connect, version: int) -> bytes:
    version, will = packet.version, packet.will
    flags = 2 * packet.clean_start | 0x80 * (packet.username is not None) | 0x40 * (packet.password is not None)
    if will is not None:
        flags |= 4 | will.qos << 3 | 0x20 * will.retain
    parts = [text_wire("MQTT"), bytes((version, flags)), _two(packet.keep_alive_s)]
    parts += [_properties(packet.properties, version), text_wire(packet.client_id)]
    if will is not None:
        parts += [_properties(will.properties, version), text_wire(will.topic), binary_wire(will.payload)]
    if packet.username is not None:
        parts.append(text_wire(packet.username))
    if packet.password is not None:
        parts.append(binary_wire(packet.password))
    return b"".join(parts)


def _connack(packet: packets.Connack, version: int) -> bytes:
    return bytes((packet.session_present, packet.reason)) + _properties(packet.properties, version)


def _publish(packet: packets.Publish, version: int) -> bytes:
    ident = _two(packet.packet_id) if packet.qos else b""
    return text_wire(packet.topic) + ident + _properties(packet.properties, version) + packet.payload


def _outcome(packet: packets.Puback, version: int) -> bytes:
    return _two(packet.packet_id) + _reason_and_properties(packet, version)


def _reason_and_properties(packet: Any, version: int) -> bytes:
    if version != V5_0 or not (packet.reason or packet.properties):
        return b""
    properties = encode_properties(packet.properties) if packet.properties else b""
    return bytes((packet.reason,)) + properties


def _subscribe(packet: packets.Subscribe, version: int) -> bytes:
    parts = [_two(packet.packet_id), _properties(packet.properties, version)]
    for request in packet.requests:
        options = request.qos | 4 * request.no_local | 8 * request.retain_as_published | request.retain_handling << 4
        parts += [text_wire(request.filter), bytes((options,))]
    return b"".join(parts)


def _suback(packet: packets.Suback | packets.Unsuback, version: int) -> bytes:
    return _two(packet.packet_id) + _properties(packet.properties, version) + bytes(packet.reasons)


def _unsubscribe(packet: packets.Unsubscribe, version: int) -> bytes:
    filters = b"".join(text_wire(topic_filter) for topic_filter in packet.filters)
    return _two(packet.packet_id) + _properties(packet.properties, version) + filters


def _unsuback(packet: packets.Unsuback, version: int) -> bytes:
    return _suback(packet, version) if version == V5_0 else _two(packet.packet_id)


def _empty(packet: Packet, version: int) -> bytes:
    return b""


_ENCODERS: dict[type[Packet], tuple[int, int, Callable[[Any, int], bytes]]] = {
    packets.Connect: (PacketType.CONNECT, 0, _connect),
    packets.Connack: (PacketType.CONNACK, 0, _connack),
    packets.Publish: (PacketType.PUBLISH, 0, _publish),
    packets.Puback: (PacketType.PUBACK, 0, _outcome),
    packets.Pubrec: (PacketType.PUBREC, 0, _outcome),
    packets.Pubrel: (PacketType.PUBREL, 2, _outcome),
    packets.Pubcomp: (PacketType.PUBCOMP, 0, _outcome),
    packets.Subscribe: (PacketType.SUBSCRIBE, 2, _subscribe),
    packets.Suback: (PacketType.SUBACK, 0, _suback),
    packets.Unsubscribe: (PacketType.UNSUBSCRIBE, 2, _unsubscribe),
    packets.Unsuback: (PacketType.UNSUBACK, 0, _unsuback),
    packets.Pingreq: (PacketType.PINGREQ, 0, _empty),
    packets.Pingresp: (PacketType.PINGRESP, 0, _empty),
    packets.Disconnect: (PacketType.DISCONNECT, 0, _reason_and_properties),
    packets.Auth: (PacketType.AUTH, 0, _reason_and_properties),
}
