"""The greeting: what a CONNECT asks for, what of it is refused, and what the CONNACK announces.

Owns: the terms of a connection. Must not know: which clients there are.
"""

from __future__ import annotations

from reknit.mqtt.incoming import topic_fault, will_event
from reknit.mqtt.options import DoorOptions
from reknit.mqtt.packets import V3_1_1, V5_0, Connect
from reknit.mqtt.properties import Properties, PropertyId, Value, integer, text
from reknit.mqtt.reasons import ProtocolError, Reason
from reknit.mqtt.session import PACKET_IDS, Connection

__all__ = ["CLIENT_PACKET_BYTES_MIN", "accept_connect", "check_connect", "connack_properties", "session_expiry_s"]

CLIENT_PACKET_BYTES_MIN = 64
"""A client that takes no packet of this size could not even be greeted."""

_KEEP_ALIVE_FACTOR = 1.5
"""How many keep alive intervals a client may be silent."""


def check_connect(packet: Connect, options: DoorOptions) -> None:
    """Refuse a CONNECT that asks for what cannot be given."""
    if text(packet.properties, PropertyId.AUTHENTICATION_METHOD) is not None:
        raise ProtocolError(Reason.BAD_AUTHENTICATION_METHOD, "enhanced authentication is not available")
    if 0 < integer(packet.properties, PropertyId.MAXIMUM_PACKET_SIZE, 0) < CLIENT_PACKET_BYTES_MIN:
        raise ProtocolError(
            Reason.PACKET_TOO_LARGE, f"a client must take packets of {CLIENT_PACKET_BYTES_MIN} bytes, as a CONNACK is"
        )
    if len(packet.client_id.encode()) > options.client_id_bytes_max:
        raise ProtocolError(
            Reason.CLIENT_ID_NOT_VALID, f"a client identifier has at most {options.client_id_bytes_max} bytes"
        )
    if packet.client_id.startswith("$share/"):
        raise ProtocolError(Reason.CLIENT_ID_NOT_VALID, "names that begin with $share/ are for groups")
    if packet.version == V3_1_1 and not packet.client_id and not packet.clean_start:
        raise ProtocolError(Reason.CLIENT_ID_NOT_VALID, "a lasting session needs a client identifier")
    _check_will(packet, options)


def _check_will(packet: Connect, options: DoorOptions) -> None:
    will = packet.will
    if will is None:
        return
    if topic_fault(will.topic, options) is not None:
        raise ProtocolError(Reason.TOPIC_INVALID, "the will's topic is not accepted")


def session_expiry_s(packet: Connect, options: DoorOptions) -> int:
    """How long the session is to outlive its connection."""
    if packet.version == V3_1_1:
        return 0 if packet.clean_start else options.session_expiry_s_max
    return min(integer(packet.properties, PropertyId.SESSION_EXPIRY, 0), options.session_expiry_s_max)


def keep_alive_s(packet: Connect, options: DoorOptions) -> int:
    """The interval that holds. Only a client of MQTT 5 can be told another one than its own."""
    wanted, longest = packet.keep_alive_s, options.keep_alive_s_max
    if packet.version != V5_0 or not longest:
        return wanted
    return min(wanted, longest) or longest


def accept_connect(connection: Connection, packet: Connect, options: DoorOptions) -> None:
    """Settle the terms of the connection."""
    properties = packet.properties
    connection.version = packet.version
    connection.silence_s_max = keep_alive_s(packet, options) * _KEEP_ALIVE_FACTOR
    aliases = integer(properties, PropertyId.TOPIC_ALIAS_MAXIMUM, 0)
    connection.aliases_out_max = min(aliases, options.topic_aliases_out_max)
    connection.receive_maximum = integer(properties, PropertyId.RECEIVE_MAXIMUM, PACKET_IDS)
    connection.problem_information = bool(integer(properties, PropertyId.REQUEST_PROBLEM_INFORMATION, 1))
    if packet.will is not None:
        connection.will = will_event(packet.will)
        connection.will_delay_s = integer(packet.will.properties, PropertyId.WILL_DELAY, 0)


def connack_properties(packet: Connect, client: str, expiry_s: int, options: DoorOptions) -> Properties:
    """What the door announces to a client of MQTT 5: its bounds, and all that is not available."""
    if packet.version != V5_0:
        return ()
    announced: list[tuple[int, Value]] = [
        (PropertyId.RECEIVE_MAXIMUM, options.receive_maximum),
        (PropertyId.MAXIMUM_PACKET_SIZE, options.packet_bytes_max),
        (PropertyId.TOPIC_ALIAS_MAXIMUM, options.topic_aliases_max),
    ]
    if integer(packet.properties, PropertyId.SESSION_EXPIRY, 0) != expiry_s:
        announced.append((PropertyId.SESSION_EXPIRY, expiry_s))
    if (interval := keep_alive_s(packet, options)) != packet.keep_alive_s:
        announced.append((PropertyId.SERVER_KEEP_ALIVE, interval))
    if options.response_information and integer(packet.properties, PropertyId.REQUEST_RESPONSE_INFORMATION, 0):
        announced.append((PropertyId.RESPONSE_INFORMATION, f"{options.response_information}/{client}"))
    if not options.wildcards:
        announced.append((PropertyId.WILDCARDS_AVAILABLE, 0))
    if not packet.client_id:
        announced.append((PropertyId.ASSIGNED_CLIENT_ID, client))
    return tuple(announced)
