from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reknit.mqtt.fields import Reader, variable_wire
from reknit.mqtt.packets import PacketType
from reknit.mqtt.properties import (
    TABLE,
    WILL,
    Properties,
    PropertyId,
    decode_properties,
    encode_properties,
    integer,
    integers,
    pairs,
    text,
)
from reknit.mqtt.reasons import ProtocolError, Reason
from tests.mqtt.strategies import properties_of

CARRIERS = [WILL, *(int(kind) for kind in PacketType if kind not in (PacketType.PINGREQ, PacketType.PINGRESP))]


def decode(wire: bytes, packet: int) -> Properties:
    return decode_properties(Reader(wire, 0, len(wire)), packet)


def framed(body: str) -> bytes:
    raw = bytes.fromhex(body)
    return variable_wire(len(raw)) + raw


@given(st.sampled_from(CARRIERS).flatmap(lambda packet: st.tuples(st.just(packet), properties_of(packet))))
def test_properties_come_back(case: tuple[int, Properties]) -> None:
    packet, properties = case
    assert decode(encode_properties(properties), packet) == properties


def test_the_table_has_all_properties_once() -> None:
    assert set(TABLE) == {int(ident) for ident in PropertyId}
    assert len(TABLE) == 27


@pytest.mark.parametrize("packet", CARRIERS)
def test_each_property_is_refused_where_the_table_has_no_place_for_it(packet: int) -> None:
    for row in TABLE.values():
        if packet not in row.packets:
            with pytest.raises(ProtocolError, match="no place") as caught:
                decode(framed(f"{row.id:02x}0000000000"), packet)
            assert caught.value.reason is Reason.MALFORMED_PACKET


@pytest.mark.parametrize(
    ("body", "packet", "reason"),
    [
        ("00", PacketType.PUBLISH, Reason.MALFORMED_PACKET),
        ("7f00", PacketType.CONNECT, Reason.MALFORMED_PACKET),
        ("01000101", PacketType.PUBLISH, Reason.PROTOCOL_ERROR),
        ("0102", PacketType.PUBLISH, Reason.PROTOCOL_ERROR),
        ("210000", PacketType.CONNECT, Reason.PROTOCOL_ERROR),
        ("2700000000", PacketType.CONNECT, Reason.PROTOCOL_ERROR),
        ("0b00", PacketType.SUBSCRIBE, Reason.PROTOCOL_ERROR),
        ("0b010b02", PacketType.SUBSCRIBE, Reason.PROTOCOL_ERROR),
        ("110000", PacketType.CONNECT, Reason.MALFORMED_PACKET),
        ("26000161", PacketType.PUBLISH, Reason.MALFORMED_PACKET),
        ("2402", PacketType.CONNACK, Reason.PROTOCOL_ERROR),
    ],
)
def test_faults_of_single_properties(body: str, packet: int, reason: Reason) -> None:
    with pytest.raises(ProtocolError) as caught:
        decode(framed(body), packet)
    assert caught.value.reason is reason


def test_properties_longer_than_their_packet() -> None:
    with pytest.raises(ProtocolError, match="longer than their packet"):
        decode(b"\x05\x01\x00", PacketType.PUBLISH)


def test_values_that_cannot_be_are_not_written() -> None:
    for bad in ((PropertyId.RECEIVE_MAXIMUM, 0), (PropertyId.MAXIMUM_QOS, 2), (PropertyId.REASON_STRING, 1)):
        with pytest.raises(ValueError, match="cannot be"):
            encode_properties((bad,))


def test_looking_up() -> None:
    properties: Properties = (
        (PropertyId.USER_PROPERTY, ("a", "1")),
        (PropertyId.SUBSCRIPTION_ID, 3),
        (PropertyId.USER_PROPERTY, ("a", "2")),
        (PropertyId.SUBSCRIPTION_ID, 4),
        (PropertyId.CONTENT_TYPE, "text/plain"),
    )
    assert pairs(properties) == [("a", "1"), ("a", "2")]
    assert integers(properties, PropertyId.SUBSCRIPTION_ID) == (3, 4)
    assert integer(properties, PropertyId.SUBSCRIPTION_ID, 0) == 3
    assert integer(properties, PropertyId.TOPIC_ALIAS, 7) == 7
    assert text(properties, PropertyId.CONTENT_TYPE) == "text/plain"
    assert text(properties, PropertyId.RESPONSE_TOPIC) is None
