"""From the body of one packet to its value.

Owns: what makes a packet well formed: flags, fields, lengths, and the values that the standard forbids outright. Each
fault raises ``ProtocolError`` with the reason that the standard gives, and nothing else is ever raised. Must not know:
streams (see ``parser``), or whether a packet may come at this point (see ``door``).
"""

from __future__ import annotations

from collections.abc import Callable

from reknit.mqtt import packets
from reknit.mqtt.fields import Reader
from reknit.mqtt.packets import V3_1_1, V5_0, Packet, PacketType
from reknit.mqtt.properties import WILL, Properties, PropertyId, decode_properties, integer, text
from reknit.mqtt.reasons import ALLOWED, RETURN_CODES, SUBACK_FAILURE, ProtocolError, Reason, UnsupportedVersion

__all__ = ["check_topic", "decode", "decode_level"]

_FLAGS_2 = (PacketType.PUBREL, PacketType.SUBSCRIBE, PacketType.UNSUBSCRIBE)


def decode(first: int, body: bytes, version: int) -> Packet:
    """The packet whose fixed header begins with ``first`` and whose remaining bytes are ``body``."""
    kind = first >> 4
    if kind == PacketType.PUBLISH:
        return _publish(first & 15, Reader(body, 0, len(body)), version)
    decoder = _DECODERS.get(kind)
    if decoder is None or (kind == PacketType.AUTH and version != V5_0):
        raise ProtocolError(Reason.MALFORMED_PACKET, f"there is no packet of type {kind}")
    if first & 15 != (2 if kind in _FLAGS_2 else 0):
        raise ProtocolError(Reason.MALFORMED_PACKET, f"{PacketType(kind).name} with reserved flags {first & 15:04b}")
    reader = Reader(body, 0, len(body))
    packet = decoder(reader, version, kind)
    if reader.pos != reader.end:
        raise ProtocolError(Reason.MALFORMED_PACKET, f"{reader.end - reader.pos} bytes after a {PacketType(kind).name}")
    return packet


def check_topic(topic: str) -> str:
    """The same topic, once it is sure that it names one topic."""
    if "+" in topic or "#" in topic:
        raise ProtocolError(Reason.TOPIC_INVALID, "a topic name holds a wildcard")
    return topic


def _properties(reader: Reader, version: int, packet: int) -> Properties:
    return decode_properties(reader, packet) if version == V5_0 else ()


def _message_properties(reader: Reader, version: int, packet: int) -> Properties:
    properties = _properties(reader, version, packet)
    if properties:
        check_topic(text(properties, PropertyId.RESPONSE_TOPIC) or "")
    return properties


# --- CONNECT and CONNACK


_PROTOCOL_NAMES = ("MQTT", "MQIsdp")
"""The second is that of MQTT 3.1, which is known but not spoken."""


def decode_level(body: bytes) -> int:
    """The version that a CONNECT asks for, or ``UnsupportedVersion``. Read first, since all else depends on it."""
    reader = Reader(body, 0, len(body))
    name, level = reader.text(), reader.byte()
    if name not in _PROTOCOL_NAMES:
        raise ProtocolError(Reason.PROTOCOL_ERROR, f"protocol {name[:16]!r} is not spoken here")
    if name != "MQTT" or level not in (V3_1_1, V5_0):
        raise UnsupportedVersion(level)
    return level


def _connect(reader: Reader, version: int, kind: int) -> Packet:
    version = decode_level(reader.data)
    reader.pos = 7
    flags, keep_alive_s = reader.byte(), reader.two()
    _check_connect_flags(flags, version)
    properties = _properties(reader, version, kind)
    _check_authentication(properties)
    client_id = reader.text()
    will = _will(reader, version, flags) if flags & 4 else None
    username = reader.text() if flags & 0x80 else None
    password = reader.binary() if flags & 0x40 else None
    return packets.Connect(client_id, version, bool(flags & 2), keep_alive_s, username, password, will, properties)


def _check_connect_flags(flags: int, version: int) -> None:
    if flags & 1:
        raise ProtocolError(Reason.MALFORMED_PACKET, "CONNECT with its reserved flag set")
    if flags >> 3 & 3 == 3:
        raise ProtocolError(Reason.MALFORMED_PACKET, "a will of QoS 3")
    if not flags & 4 and flags & 0x38:
        raise ProtocolError(Reason.MALFORMED_PACKET, "a will's flags without a will")
    if version == V3_1_1 and flags & 0xC0 == 0x40:
        raise ProtocolError(Reason.MALFORMED_PACKET, "a password without a user name")


def _check_authentication(properties: Properties) -> None:
    idents = [ident for ident, _ in properties]
    if PropertyId.AUTHENTICATION_DATA in idents and PropertyId.AUTHENTICATION_METHOD not in idents:
        raise ProtocolError(Reason.PROTOCOL_ERROR, "authentication data without a method")


def _will(reader: Reader, version: int, flags: int) -> packets.Will:
    properties = _message_properties(reader, version, WILL)
    topic = check_topic(reader.text())
    if not topic:
        raise ProtocolError(Reason.TOPIC_INVALID, "a will without a topic")
    return packets.Will(topic, reader.binary(), flags >> 3 & 3, bool(flags & 0x20), properties)


def _connack(reader: Reader, version: int, kind: int) -> Packet:
    flags, reason = reader.byte(), reader.byte()
    if flags > 1:
        raise ProtocolError(Reason.MALFORMED_PACKET, "CONNACK with reserved flags")
    if flags and reason:
        raise ProtocolError(Reason.PROTOCOL_ERROR, "a refusing CONNACK with a session")
    if version == V3_1_1 and reason not in RETURN_CODES:
        raise ProtocolError(Reason.MALFORMED_PACKET, f"CONNACK with return code 0x{reason:02x}")
    if version == V5_0:
        _check_reason(reason, kind)
    return packets.Connack(bool(flags), reason, _properties(reader, version, kind))


def _check_reason(reason: int, kind: int) -> int:
    if reason not in ALLOWED[kind]:
        raise ProtocolError(Reason.PROTOCOL_ERROR, f"{PacketType(kind).name} with reason 0x{reason:02x}")
    return reason


# --- PUBLISH and its answers


def _publish(flags: int, reader: Reader, version: int) -> packets.Publish:
    qos = flags >> 1 & 3
    if qos == 3:
        raise ProtocolError(Reason.MALFORMED_PACKET, "PUBLISH of QoS 3")
    if not qos and flags & 8:
        raise ProtocolError(Reason.MALFORMED_PACKET, "a repeated PUBLISH of QoS 0")
    topic = check_topic(reader.text())
    ident = reader.packet_id() if qos else 0
    properties = _message_properties(reader, version, PacketType.PUBLISH)
    alias = integer(properties, PropertyId.TOPIC_ALIAS, -1)
    if not alias:
        raise ProtocolError(Reason.TOPIC_ALIAS_INVALID, "a topic alias cannot be 0")
    if not topic and alias < 0:
        raise ProtocolError(Reason.PROTOCOL_ERROR, "PUBLISH without a topic")
    return packets.Publish(topic, reader.rest(), qos, ident, bool(flags & 1), bool(flags & 8), properties)


_OUTCOMES: dict[int, type[packets.Puback | packets.Pubrec | packets.Pubrel | packets.Pubcomp]] = {
    4: packets.Puback,
    5: packets.Pubrec,
    6: packets.Pubrel,
    7: packets.Pubcomp,
}


def _outcome(reader: Reader, version: int, kind: int) -> Packet:
    shape, ident = _OUTCOMES[kind], reader.packet_id()
    if version == V3_1_1 or reader.pos == reader.end:
        return shape(ident)
    return shape(ident, *_reason_and_properties(reader, version, kind))


def _reason_and_properties(reader: Reader, version: int, kind: int) -> tuple[int, Properties]:
    """A reason and properties, of which a sender may leave out the end."""
    if reader.pos == reader.end:
        return 0, ()
    reason = _check_reason(reader.byte(), kind)
    return reason, _properties(reader, version, kind) if reader.pos < reader.end else ()


# --- SUBSCRIBE, UNSUBSCRIBE and their answers


def _subscribe(reader: Reader, version: int, kind: int) -> Packet:
    ident, properties = reader.packet_id(), _properties(reader, version, kind)
    requests: list[packets.Request] = []
    while reader.pos < reader.end:
        requests.append(_request(reader, version))
    if not requests:
        raise ProtocolError(Reason.PROTOCOL_ERROR, "SUBSCRIBE without a filter")
    return packets.Subscribe(ident, tuple(requests), properties)


def _request(reader: Reader, version: int) -> packets.Request:
    topic_filter, options = _filter(reader), reader.byte()
    if options & 3 == 3 or options & (0xC0 if version == V5_0 else 0xFC):
        raise ProtocolError(Reason.MALFORMED_PACKET, f"subscription options 0x{options:02x}")
    if options & 0x30 == 0x30:
        raise ProtocolError(Reason.PROTOCOL_ERROR, "retain handling 3")
    if options & 4 and topic_filter.startswith("$share/"):
        raise ProtocolError(Reason.PROTOCOL_ERROR, "no local on a shared subscription")
    return packets.Request(topic_filter, options & 3, bool(options & 4), bool(options & 8), options >> 4 & 3)


def _filter(reader: Reader) -> str:
    topic_filter = reader.text()
    if not topic_filter:
        raise ProtocolError(Reason.PROTOCOL_ERROR, "an empty topic filter")
    return topic_filter


def _suback(reader: Reader, version: int, kind: int) -> Packet:
    ident, properties = reader.packet_id(), _properties(reader, version, kind)
    reasons = tuple(reader.rest())
    if not reasons:
        raise ProtocolError(Reason.PROTOCOL_ERROR, "SUBACK without a reason")
    for reason in reasons:
        if version == V5_0:
            _check_reason(reason, kind)
        elif reason > 2 and reason != SUBACK_FAILURE:
            raise ProtocolError(Reason.MALFORMED_PACKET, f"SUBACK with return code 0x{reason:02x}")
    return packets.Suback(ident, reasons, properties)


def _unsubscribe(reader: Reader, version: int, kind: int) -> Packet:
    ident, properties = reader.packet_id(), _properties(reader, version, kind)
    filters: list[str] = []
    while reader.pos < reader.end:
        filters.append(_filter(reader))
    if not filters:
        raise ProtocolError(Reason.PROTOCOL_ERROR, "UNSUBSCRIBE without a filter")
    return packets.Unsubscribe(ident, tuple(filters), properties)


def _unsuback(reader: Reader, version: int, kind: int) -> Packet:
    ident = reader.packet_id()
    if version == V3_1_1:
        return packets.Unsuback(ident)
    properties = _properties(reader, version, kind)
    reasons = tuple(_check_reason(reason, kind) for reason in reader.rest())
    if not reasons:
        raise ProtocolError(Reason.PROTOCOL_ERROR, "UNSUBACK without a reason")
    return packets.Unsuback(ident, reasons, properties)


# --- the rest


def _pingreq(reader: Reader, version: int, kind: int) -> Packet:
    return packets.Pingreq()


def _pingresp(reader: Reader, version: int, kind: int) -> Packet:
    return packets.Pingresp()


def _disconnect(reader: Reader, version: int, kind: int) -> Packet:
    if version == V3_1_1:
        return packets.Disconnect()
    return packets.Disconnect(*_reason_and_properties(reader, version, kind))


def _auth(reader: Reader, version: int, kind: int) -> Packet:
    reason, properties = _reason_and_properties(reader, version, kind)
    _check_authentication(properties)
    return packets.Auth(reason, properties)


_DECODERS: dict[int, Callable[[Reader, int, int], Packet]] = {
    PacketType.CONNECT: _connect,
    PacketType.CONNACK: _connack,
    PacketType.PUBACK: _outcome,
    PacketType.PUBREC: _outcome,
    PacketType.PUBREL: _outcome,
    PacketType.PUBCOMP: _outcome,
    PacketType.SUBSCRIBE: _subscribe,
    PacketType.SUBACK: _suback,
    PacketType.UNSUBSCRIBE: _unsubscribe,
    PacketType.UNSUBACK: _unsuback,
    PacketType.PINGREQ: _pingreq,
    PacketType.PINGRESP: _pingresp,
    PacketType.DISCONNECT: _disconnect,
    PacketType.AUTH: _auth,
}
