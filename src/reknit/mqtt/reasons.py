"""Reason codes: what one side of an MQTT connection tells the other about the outcome of something.

Owns: the codes of MQTT 5.0 with their names, which packet may carry which, the return codes of 3.1.1, and the one error
that the codec raises. Must not know: when a code is sent; that is the door's part.

Codes below 0x80 are successes, codes from 0x80 on are failures. 3.1.1 knows only six codes for CONNACK and one failure
for SUBACK, so every failure of a CONNECT is mapped onto those six before it leaves.
"""

from __future__ import annotations

from enum import IntEnum

__all__ = [
    "ALLOWED",
    "RETURN_CODES",
    "SUBACK_FAILURE",
    "Elsewhere",
    "ProtocolError",
    "Reason",
    "UnsupportedVersion",
    "return_code",
]


class Reason(IntEnum):
    """The reason codes of MQTT 5.0. Code 0 is also called normal disconnection and granted QoS 0."""

    SUCCESS = 0x00
    GRANTED_QOS_1 = 0x01
    GRANTED_QOS_2 = 0x02
    DISCONNECT_WITH_WILL = 0x04
    NO_MATCHING_SUBSCRIBERS = 0x10
    NO_SUBSCRIPTION_EXISTED = 0x11
    CONTINUE_AUTHENTICATION = 0x18
    REAUTHENTICATE = 0x19
    UNSPECIFIED_ERROR = 0x80
    MALFORMED_PACKET = 0x81
    PROTOCOL_ERROR = 0x82
    IMPLEMENTATION_ERROR = 0x83
    UNSUPPORTED_VERSION = 0x84
    CLIENT_ID_NOT_VALID = 0x85
    BAD_CREDENTIALS = 0x86
    NOT_AUTHORIZED = 0x87
    SERVER_UNAVAILABLE = 0x88
    SERVER_BUSY = 0x89
    BANNED = 0x8A
    SERVER_SHUTTING_DOWN = 0x8B
    BAD_AUTHENTICATION_METHOD = 0x8C
    KEEP_ALIVE_TIMEOUT = 0x8D
    SESSION_TAKEN_OVER = 0x8E
    FILTER_INVALID = 0x8F
    TOPIC_INVALID = 0x90
    PACKET_ID_IN_USE = 0x91
    PACKET_ID_NOT_FOUND = 0x92
    RECEIVE_MAXIMUM_EXCEEDED = 0x93
    TOPIC_ALIAS_INVALID = 0x94
    PACKET_TOO_LARGE = 0x95
    MESSAGE_RATE_TOO_HIGH = 0x96
    QUOTA_EXCEEDED = 0x97
    ADMINISTRATIVE_ACTION = 0x98
    PAYLOAD_FORMAT_INVALID = 0x99
    RETAIN_NOT_SUPPORTED = 0x9A
    QOS_NOT_SUPPORTED = 0x9B
    USE_ANOTHER_SERVER = 0x9C
    SERVER_MOVED = 0x9D
    SHARED_NOT_SUPPORTED = 0x9E
    CONNECTION_RATE_EXCEEDED = 0x9F
    MAXIMUM_CONNECT_TIME = 0xA0
    SUBSCRIPTION_IDS_NOT_SUPPORTED = 0xA1
    WILDCARDS_NOT_SUPPORTED = 0xA2


class ProtocolError(Exception):
    """The other side's fault: bytes that are no packet, or a packet that has no place here."""

    def __init__(self, reason: Reason, why: str) -> None:
        super().__init__(f"{why} (0x{reason:02x})")
        self.reason = reason
        self.why = why


class UnsupportedVersion(ProtocolError):
    """A CONNECT in an MQTT that is not spoken here; ``level`` decides in which shape the refusal is understood."""

    def __init__(self, level: int) -> None:
        super().__init__(Reason.UNSUPPORTED_VERSION, f"protocol level {level} is not spoken here")
        self.level = level


class Elsewhere(ProtocolError):
    """Nobody's fault: the client is to go to another server, ``where`` if that is known."""

    def __init__(self, reason: Reason, why: str, where: str) -> None:
        super().__init__(reason, why)
        self.where = where


def _codes(text: str) -> frozenset[int]:
    return frozenset(int(code, 16) for code in text.split())


_PUBLISH_OUTCOMES = _codes("00 10 80 83 87 90 91 97 99")

# By packet type number, so that this module needs no packet.
ALLOWED: dict[int, frozenset[int]] = {
    2: _codes("00 80 81 82 83 84 85 86 87 88 89 8a 8c 90 95 97 99 9a 9b 9c 9d 9f"),
    4: _PUBLISH_OUTCOMES,
    5: _PUBLISH_OUTCOMES,
    6: _codes("00 92"),
    7: _codes("00 92"),
    9: _codes("00 01 02 80 83 87 8f 91 97 9e a1 a2"),
    11: _codes("00 11 80 83 87 8f 91"),
    14: _codes(
        "00 04 80 81 82 83 87 89 8b 8c 8d 8e 8f 90 93 94 95 96 97 98 99 9a 9b 9c 9d 9e 9f a0 a1 a2",
    ),
    15: _codes("00 18 19"),
}
"""The reason codes that each packet of MQTT 5.0 may carry, by the number of its type."""

RETURN_CODES = range(6)
"""The return codes that a CONNACK of 3.1.1 may carry."""

SUBACK_FAILURE = 0x80
"""The one failure that a SUBACK of 3.1.1 knows."""

_RETURN_CODE = {
    Reason.SUCCESS: 0,
    Reason.UNSUPPORTED_VERSION: 1,
    Reason.CLIENT_ID_NOT_VALID: 2,
    Reason.QUOTA_EXCEEDED: 3,
    Reason.CONNECTION_RATE_EXCEEDED: 3,
    Reason.SERVER_UNAVAILABLE: 3,
    Reason.SERVER_BUSY: 3,
    Reason.USE_ANOTHER_SERVER: 3,
    Reason.BAD_CREDENTIALS: 4,
    Reason.NOT_AUTHORIZED: 5,
}


def return_code(reason: Reason) -> int | None:
    """The return code of 3.1.1 that says the same; ``None`` where 3.1.1 just closes the connection."""
    return _RETURN_CODE.get(reason)
