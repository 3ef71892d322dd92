from __future__ import annotations

import pytest

from reknit.model.event import Envelope, Event
from reknit.mqtt.outgoing import Copies, event_properties, plain_wire
from reknit.mqtt.packets import V3_1_1, V5_0, Packet, Publish
from reknit.mqtt.parser import TOPICS_CACHED_MAX, Parser
from reknit.mqtt.properties import Properties, PropertyId, integers, pairs, text


def read(wire: bytes, version: int) -> Packet:
    (packet,) = Parser(version=version).feed(wire)
    return packet


@pytest.mark.parametrize("version", [V3_1_1, V5_0])
@pytest.mark.parametrize("size", [1, 200, 70_000])
def test_a_plain_copy_is_the_same_with_and_without_a_known_topic(version: int, size: int) -> None:
    topics: dict[str, bytes] = {}
    event = Event("t", b"x" * size)
    wires = [plain_wire(event, version, topics, 0.0) for _ in range(2)]
    assert wires[0] == wires[1]
    assert read(wires[0], version) == Publish("t", b"x" * size)


def test_copies_of_qos_1() -> None:
    copies = Copies(Event("t", b"x", qos=1), {}, 0.0)
    assert read(copies.wire(V3_1_1, (), 7), V3_1_1) == Publish("t", b"x", 1, 7)
    assert read(copies.wire(V5_0, (), 7, again=True), V5_0) == Publish("t", b"x", 1, 7, dup=True)


def test_attributes_properties_content_type_and_identifiers_travel() -> None:
    event = Event("t", b"x", {"n": 1, "f": 0.5, "b": True}, (("k", "v"), ("k", "w")), {"derived": 1}, 0, "text/plain")
    packet = read(Copies(event, {}, 0.0).wire(V5_0, (3, 4)), V5_0)
    assert isinstance(packet, Publish)
    assert integers(packet.properties, PropertyId.SUBSCRIPTION_ID) == (3, 4)
    assert text(packet.properties, PropertyId.CONTENT_TYPE) == "text/plain"
    types = ("reknit-types", '{"n":"i","f":"f","b":"b"}')
    assert pairs(packet.properties) == [("k", "v"), ("k", "w"), ("n", "1"), ("f", "0.5"), ("b", "true"), types]


def test_a_plain_event_has_no_properties() -> None:
    assert event_properties(Event("t", b"x", derived={"n": 1}), 0.0) == ()


@pytest.mark.parametrize("event", [Event("x" * 70_000), Event("a\0b")])
def test_an_event_without_bytes_gives_none(event: Event) -> None:
    assert plain_wire(event, V3_1_1, {}, 0.0) == b""
    assert Copies(event, {}, 0.0).wire(V5_0, (), 1) == b""


def test_the_cache_of_topics_is_bounded() -> None:
    topics: dict[str, bytes] = {}
    for number in range(TOPICS_CACHED_MAX + 10):
        plain_wire(Event(f"t/{number}"), V3_1_1, topics, 0.0)
    assert 0 < len(topics) <= TOPICS_CACHED_MAX


def test_an_envelope_travels_and_its_time_grows_shorter() -> None:
    envelope = Envelope(True, 110.5, True, "answers", b"\x00\xff")
    wire = Copies(Event("t", b"x", envelope=envelope), {}, 100.0).wire(V5_0, (), 3, qos=2, retain=True)
    assert read(wire, V5_0) == Publish(
        "t",
        b"x",
        2,
        3,
        retain=True,
        properties=(
            (PropertyId.PAYLOAD_FORMAT, 1),
            (PropertyId.MESSAGE_EXPIRY, 11),
            (PropertyId.RESPONSE_TOPIC, "answers"),
            (PropertyId.CORRELATION_DATA, b"\x00\xff"),
        ),
    )


def test_a_number_stands_for_a_topic() -> None:
    copies = Copies(Event("t", b"x"), {}, 0.0)
    number: Properties = ((PropertyId.TOPIC_ALIAS, 4),)
    assert read(copies.wire(V5_0, (), alias=4), V5_0) == Publish("t", b"x", properties=number)
    assert read(copies.wire(V5_0, (), alias=4, named=False), V5_0) == Publish("", b"x", properties=number)
