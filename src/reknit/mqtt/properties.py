"""The properties of MQTT 5.0: a table, and its two directions.

A property is a number and a value. What a packet carries stays a tuple of such pairs in the order of the wire, since
the order of user properties has a meaning and most packets carry none or two. The table says for each property the
type of its value, the packets that may carry it, the values it may take, and whether it may come more than once; an
unknown, misplaced or doubled one is the sender's error.

Owns: the table, ``decode_properties`` and ``encode_properties``. Must not know: what a property means to a session.
"""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import TypeAlias

import msgspec

from reknit.mqtt.fields import Reader, binary_wire, text_wire, variable_wire
from reknit.mqtt.reasons import ProtocolError, Reason

__all__ = [
    "TABLE",
    "WILL",
    "Kind",
    "Properties",
    "Property",
    "PropertyId",
    "Value",
    "decode_properties",
    "encode_properties",
    "integer",
    "integers",
    "pairs",
    "reason_string",
    "text",
]

Value: TypeAlias = int | str | bytes | tuple[str, str]
Properties: TypeAlias = tuple[tuple[int, Value], ...]

WILL = 0
"""Stands for a will's properties where the table names packet types."""


class PropertyId(IntEnum):
    PAYLOAD_FORMAT = 0x01
    MESSAGE_EXPIRY = 0x02
    CONTENT_TYPE = 0x03
    RESPONSE_TOPIC = 0x08
    CORRELATION_DATA = 0x09
    SUBSCRIPTION_ID = 0x0B
    SESSION_EXPIRY = 0x11
    ASSIGNED_CLIENT_ID = 0x12
    SERVER_KEEP_ALIVE = 0x13
    AUTHENTICATION_METHOD = 0x15
    AUTHENTICATION_DATA = 0x16
    REQUEST_PROBLEM_INFORMATION = 0x17
    WILL_DELAY = 0x18
    REQUEST_RESPONSE_INFORMATION = 0x19
    RESPONSE_INFORMATION = 0x1A
    SERVER_REFERENCE = 0x1C
    REASON_STRING = 0x1F
    RECEIVE_MAXIMUM = 0x21
    TOPIC_ALIAS_MAXIMUM = 0x22
    TOPIC_ALIAS = 0x23
    MAXIMUM_QOS = 0x24
    RETAIN_AVAILABLE = 0x25
    USER_PROPERTY = 0x26
    MAXIMUM_PACKET_SIZE = 0x27
    WILDCARDS_AVAILABLE = 0x28
    SUBSCRIPTION_IDS_AVAILABLE = 0x29
    SHARED_AVAILABLE = 0x2A


class Kind(Enum):
    """The type of a property's value on the wire."""

    BYTE = "one byte"
    TWO = "two bytes"
    FOUR = "four bytes"
    VARIABLE = "variable byte integer"
    TEXT = "text"
    BINARY = "binary data"
    PAIR = "pair of texts"


_LARGEST = {Kind.BYTE: 0xFF, Kind.TWO: 0xFFFF, Kind.FOUR: 0xFFFF_FFFF, Kind.VARIABLE: 268_435_455}


class Property(msgspec.Struct, frozen=True):
    """One row of the table. A ``high`` of 0 means the largest value of the kind."""

    id: PropertyId
    kind: Kind
    packets: frozenset[int]
    low: int = 0
    high: int = 0
    repeatable: frozenset[int] = frozenset()
    """The packets in which it may come more than once."""

    @property
    def largest(self) -> int:
        return self.high or _LARGEST[self.kind]


def _row(
    ident: PropertyId,
    kind: Kind,
    packets: tuple[int, ...],
    *,
    low: int = 0,
    high: int = 0,
    repeatable: tuple[int, ...] = (),
) -> Property:
    return Property(ident, kind, frozenset(packets), low, high, frozenset(repeatable))


_CONNECT, _CONNACK, _PUBLISH, _SUBSCRIBE, _DISCONNECT, _AUTH = 1, 2, 3, 8, 14, 15
_REASONED = (2, 4, 5, 6, 7, 9, 11, 14, 15)
_ALL = (WILL, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 14, 15)
_P = PropertyId

_ROWS = (
    _row(_P.PAYLOAD_FORMAT, Kind.BYTE, (_PUBLISH, WILL), high=1),
    _row(_P.MESSAGE_EXPIRY, Kind.FOUR, (_PUBLISH, WILL)),
    _row(_P.CONTENT_TYPE, Kind.TEXT, (_PUBLISH, WILL)),
    _row(_P.RESPONSE_TOPIC, Kind.TEXT, (_PUBLISH, WILL)),
    _row(_P.CORRELATION_DATA, Kind.BINARY, (_PUBLISH, WILL)),
    _row(_P.SUBSCRIPTION_ID, Kind.VARIABLE, (_PUBLISH, _SUBSCRIBE), low=1, repeatable=(_PUBLISH,)),
    _row(_P.SESSION_EXPIRY, Kind.FOUR, (_CONNECT, _CONNACK, _DISCONNECT)),
    _row(_P.ASSIGNED_CLIENT_ID, Kind.TEXT, (_CONNACK,)),
    _row(_P.SERVER_KEEP_ALIVE, Kind.TWO, (_CONNACK,)),
    _row(_P.AUTHENTICATION_METHOD, Kind.TEXT, (_CONNECT, _CONNACK, _AUTH)),
    _row(_P.AUTHENTICATION_DATA, Kind.BINARY, (_CONNECT, _CONNACK, _AUTH)),
    _row(_P.REQUEST_PROBLEM_INFORMATION, Kind.BYTE, (_CONNECT,), high=1),
    _row(_P.WILL_DELAY, Kind.FOUR, (WILL,)),
    _row(_P.REQUEST_RESPONSE_INFORMATION, Kind.BYTE, (_CONNECT,), high=1),
    _row(_P.RESPONSE_INFORMATION, Kind.TEXT, (_CONNACK,)),
    _row(_P.SERVER_REFERENCE, Kind.TEXT, (_CONNACK, _DISCONNECT)),
    _row(_P.REASON_STRING, Kind.TEXT, _REASONED),
    _row(_P.RECEIVE_MAXIMUM, Kind.TWO, (_CONNECT, _CONNACK), low=1),
    _row(_P.TOPIC_ALIAS_MAXIMUM, Kind.TWO, (_CONNECT, _CONNACK)),
    _row(_P.TOPIC_ALIAS, Kind.TWO, (_PUBLISH,)),
    _row(_P.MAXIMUM_QOS, Kind.BYTE, (_CONNACK,), high=1),
    _row(_P.RETAIN_AVAILABLE, Kind.BYTE, (_CONNACK,), high=1),
    _row(_P.USER_PROPERTY, Kind.PAIR, _ALL, repeatable=_ALL),
    _row(_P.MAXIMUM_PACKET_SIZE, Kind.FOUR, (_CONNECT, _CONNACK), low=1),
    _row(_P.WILDCARDS_AVAILABLE, Kind.BYTE, (_CONNACK,), high=1),
    _row(_P.SUBSCRIPTION_IDS_AVAILABLE, Kind.BYTE, (_CONNACK,), high=1),
    _row(_P.SHARED_AVAILABLE, Kind.BYTE, (_CONNACK,), high=1),
)

TABLE: dict[int, Property] = {int(row.id): row for row in _ROWS}
"""All properties of MQTT 5.0, by their numbers."""


# --- looking into a packet's properties


def integer(properties: Properties, ident: PropertyId, default: int) -> int:
    """The number under ``ident``, or ``default``."""
    for found, value in properties:
        if found == ident and isinstance(value, int):
            return value
    return default


def integers(properties: Properties, ident: PropertyId) -> tuple[int, ...]:
    return tuple(value for found, value in properties if found == ident and isinstance(value, int))


def text(properties: Properties, ident: PropertyId) -> str | None:
    for found, value in properties:
        if found == ident and isinstance(value, str):
            return value
    return None


def binary(properties: Properties, ident: PropertyId) -> bytes | None:
    for found, value in properties:
        if found == ident and isinstance(value, bytes):
            return value
    return None


def pairs(properties: Properties) -> list[tuple[str, str]]:
    """The user properties, in their order."""
    return [value for found, value in properties if found == PropertyId.USER_PROPERTY and isinstance(value, tuple)]


REASON_CHARACTERS_MAX = 1000


def reason_string(why: str) -> Properties:
    """A reason that fits into a packet, on one line; none where there is nothing to say.

    MQTT lets a receiver close the connection over a control character, and mosquitto's clients do.
    """
    shown = why[:REASON_CHARACTERS_MAX]
    clean = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in shown)
    return ((PropertyId.REASON_STRING, clean),) if clean else ()


# --- bytes


def decode_properties(reader: Reader, packet: int) -> Properties:
    """The properties that begin where ``reader`` stands; ``packet`` is the number of the packet's type, or ``WILL``."""
    length = reader.variable()
    end = reader.pos + length
    if end > reader.end:
        raise ProtocolError(Reason.MALFORMED_PACKET, "the properties are longer than their packet")
    if not length:
        return ()
    inner = Reader(reader.data, reader.pos, end)
    found: list[tuple[int, Value]] = []
    while inner.pos < end:
        found.append(_decode_one(inner, packet, found))
    reader.pos = end
    return tuple(found)


def _decode_one(reader: Reader, packet: int, before: list[tuple[int, Value]]) -> tuple[int, Value]:
    ident = reader.variable()
    if ident == 0x26:  # much the most frequent, and allowed everywhere
        return (0x26, (reader.text(), reader.text()))
    row = TABLE.get(ident)
    if row is None:
        raise ProtocolError(Reason.MALFORMED_PACKET, f"there is no property 0x{ident:02x}")
    if packet not in row.packets:
        raise ProtocolError(Reason.MALFORMED_PACKET, f"property {row.id.name} has no place in this packet")
    if packet not in row.repeatable and any(known == ident for known, _ in before):
        raise ProtocolError(Reason.PROTOCOL_ERROR, f"property {row.id.name} comes twice")
    return (ident, _decode_value(reader, row))


def _decode_value(reader: Reader, row: Property) -> Value:
    if row.kind is Kind.TEXT:
        return reader.text()
    if row.kind is Kind.BINARY:
        return reader.binary()
    number = _decode_number(reader, row.kind)
    if not row.low <= number <= row.largest:
        raise ProtocolError(Reason.PROTOCOL_ERROR, f"property {row.id.name} cannot be {number}")
    return number


def _decode_number(reader: Reader, kind: Kind) -> int:
    if kind is Kind.BYTE:
        return reader.byte()
    if kind is Kind.TWO:
        return reader.two()
    return reader.four() if kind is Kind.FOUR else reader.variable()


def encode_properties(properties: Properties) -> bytes:
    """The properties with their length in front; ``ValueError`` for a value that has no bytes."""
    if not properties:
        return b"\0"
    parts = [bytes((ident,)) + _encode_value(TABLE[ident], value) for ident, value in properties]
    body = b"".join(parts)
    return variable_wire(len(body)) + body


_WIDTH = {Kind.BYTE: 1, Kind.TWO: 2, Kind.FOUR: 4}


def _encode_value(row: Property, value: Value) -> bytes:
    if row.kind is Kind.PAIR and isinstance(value, tuple):
        return text_wire(value[0]) + text_wire(value[1])
    if row.kind is Kind.TEXT and isinstance(value, str):
        return text_wire(value)
    if row.kind is Kind.BINARY and isinstance(value, bytes):
        return binary_wire(value)
    if row.kind not in _LARGEST or not isinstance(value, int) or not row.low <= value <= row.largest:
        raise ValueError(f"property {row.id.name} cannot be {value!r}")
    return variable_wire(value) if row.kind is Kind.VARIABLE else value.to_bytes(_WIDTH[row.kind], "big")
