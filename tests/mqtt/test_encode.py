from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reknit.mqtt import packets
from reknit.mqtt.encode import encode, publish_wire
from reknit.mqtt.fields import text_wire
from reknit.mqtt.packets import V3_1_1, V5_0, Packet
from reknit.mqtt.parser import Parser
from tests.mqtt.strategies import VERSIONS, packets_of, topics


@given(st.sampled_from(VERSIONS).flatmap(lambda version: st.tuples(st.just(version), packets_of(version))))
def test_every_packet_comes_back(case: tuple[int, Packet]) -> None:
    version, packet = case
    assert list(Parser(version=version).feed(encode(packet, version))) == [packet]


@pytest.mark.parametrize(
    ("packet", "version", "wire"),
    [
        (packets.Connect("a", V3_1_1, keep_alive_s=60), V3_1_1, "100d00044d5154540402003c000161"),
        (packets.Connect("a", V5_0, keep_alive_s=60), V5_0, "100e00044d5154540502003c00000161"),
        (packets.Connack(), V3_1_1, "20020000"),
        (packets.Connack(True), V5_0, "2003010000"),
        (packets.Publish("a/b", b"hi"), V3_1_1, "30070003612f626869"),
        (packets.Publish("a/b", b"hi", 1, 10), V5_0, "320a0003612f62000a006869"),
        (packets.Puback(10), V5_0, "4002000a"),
        (packets.Puback(10, 0x10), V5_0, "4003000a10"),
        (packets.Pubrel(10), V3_1_1, "6202000a"),
        (packets.Subscribe(1, (packets.Request("a", 1),)), V3_1_1, "82060001000161" + "01"),
        (packets.Suback(1, (1, 0x80)), V3_1_1, "90040001" + "0180"),
        (packets.Unsubscribe(2, ("a",)), V5_0, "a206000200000161"),
        (packets.Unsuback(2, (0x11,)), V3_1_1, "b0020002"),
        (packets.Pingreq(), V5_0, "c000"),
        (packets.Pingresp(), V5_0, "d000"),
        (packets.Disconnect(), V5_0, "e000"),
        (packets.Disconnect(0x8E), V5_0, "e0018e"),
        (packets.Auth(), V5_0, "f000"),
    ],
)
def test_known_bytes(packet: Packet, version: int, wire: str) -> None:
    assert encode(packet, version).hex() == wire


@given(topics, st.binary(max_size=400), st.integers(0, 65_535))
def test_the_quick_way_gives_the_same_bytes(topic: str, payload: bytes, ident: int) -> None:
    packet = packets.Publish(topic, payload, 1 if ident else 0, ident)
    assert publish_wire(text_wire(topic), payload, 2 if ident else 0, ident) == encode(packet, V3_1_1)
    assert publish_wire(text_wire(topic), b"\0" + payload, 2 if ident else 0, ident) == encode(packet, V5_0)
