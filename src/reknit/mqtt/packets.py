"""The packets of MQTT 3.1.1 and 5.0, as values.

Owns: the shape of the fifteen packets. One shape serves both versions: what only 5.0 has (properties, most reason
codes, three of the subscription options) is empty or 0 in 3.1.1. Must not know: bytes (see ``decode`` and ``encode``),
or which packet may follow which.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TypeAlias

import msgspec

from reknit.mqtt.properties import Properties

__all__ = [
    "V3_1_1",
    "V5_0",
    "Auth",
    "Connack",
    "Connect",
    "Disconnect",
    "Packet",
    "PacketType",
    "Pingreq",
    "Pingresp",
    "Puback",
    "Pubcomp",
    "Publish",
    "Pubrec",
    "Pubrel",
    "Request",
    "Suback",
    "Subscribe",
    "Unsuback",
    "Unsubscribe",
    "Will",
]

V3_1_1 = 4
"""The protocol level by which a CONNECT names MQTT 3.1.1."""
V5_0 = 5


class PacketType(IntEnum):
    CONNECT = 1
    CONNACK = 2
    PUBLISH = 3
    PUBACK = 4
    PUBREC = 5
    PUBREL = 6
    PUBCOMP = 7
    SUBSCRIBE = 8
    SUBACK = 9
    UNSUBSCRIBE = 10
    UNSUBACK = 11
    PINGREQ = 12
    PINGRESP = 13
    DISCONNECT = 14
    AUTH = 15


class Will(msgspec.Struct, frozen=True, gc=False):
    """What the server publishes for a client whose connection ends without a goodbye."""

    topic: str
    payload: bytes = b""
    qos: int = 0
    retain: bool = False
    properties: Properties = ()


class Connect(msgspec.Struct, frozen=True, gc=False):
    client_id: str
    version: int = V5_0
    clean_start: bool = True
    """Called clean session in 3.1.1, where it also says that the session ends with the connection."""
    keep_alive_s: int = 0
    username: str | None = None
    password: bytes | None = None
    will: Will | None = None
    properties: Properties = ()


class Connack(msgspec.Struct, frozen=True, gc=False):
    session_present: bool = False
    reason: int = 0
    properties: Properties = ()


class Publish(msgspec.Struct, frozen=True, gc=False):
    topic: str
    payload: bytes = b""
    qos: int = 0
    packet_id: int = 0
    """0 at QoS 0, where there is none."""
    retain: bool = False
    dup: bool = False
    properties: Properties = ()


class _Outcome(msgspec.Struct, frozen=True, gc=False):
    packet_id: int
    reason: int = 0
    properties: Properties = ()


class Puback(_Outcome, frozen=True, gc=False):
    """QoS 1: taken."""


class Pubrec(_Outcome, frozen=True, gc=False):
    """QoS 2, first answer: received."""


class Pubrel(_Outcome, frozen=True, gc=False):
    """QoS 2, the sender's second packet: release."""


class Pubcomp(_Outcome, frozen=True, gc=False):
    """QoS 2, last answer: complete."""


class Request(msgspec.Struct, frozen=True, gc=False):
    """One filter of a SUBSCRIBE, with its options."""

    filter: str
    qos: int = 0
    no_local: bool = False
    retain_as_published: bool = False
    retain_handling: int = 0


class Subscribe(msgspec.Struct, frozen=True, gc=False):
    packet_id: int
    requests: tuple[Request, ...]
    properties: Properties = ()


class Suback(msgspec.Struct, frozen=True, gc=False):
    """One reason for each request, in their order."""

    packet_id: int
    reasons: tuple[int, ...]
    properties: Properties = ()


class Unsubscribe(msgspec.Struct, frozen=True, gc=False):
    packet_id: int
    filters: tuple[str, ...]
    properties: Properties = ()


class Unsuback(msgspec.Struct, frozen=True, gc=False):
    """One reason for each filter, in their order; in 3.1.1 there are none."""

    packet_id: int
    reasons: tuple[int, ...] = ()
    properties: Properties = ()


class Pingreq(msgspec.Struct, frozen=True, gc=False):
    pass


class Pingresp(msgspec.Struct, frozen=True, gc=False):
    pass


class Disconnect(msgspec.Struct, frozen=True, gc=False):
    reason: int = 0
    properties: Properties = ()


class Auth(msgspec.Struct, frozen=True, gc=False):
    """Enhanced authentication; MQTT 5.0 only."""

    reason: int = 0
    properties: Properties = ()


Packet: TypeAlias = (
    Connect
    | Connack
    | Publish
    | Puback
    | Pubrec
    | Pubrel
    | Pubcomp
    | Subscribe
    | Suback
    | Unsubscribe
    | Unsuback
    | Pingreq
    | Pingresp
    | Disconnect
    | Auth
)
