"""What the door lets in is fit to travel: another broker takes every event and every pattern that comes of it."""

from __future__ import annotations

import json
import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from reknit.core import io
from reknit.model.event import SELECTOR_PROPERTY, TYPES_PROPERTY
from reknit.model.selector import unparse
from reknit.mqtt import packets
from reknit.mqtt.door import Door, DoorOptions
from reknit.mqtt.encode import encode
from reknit.mqtt.packets import V5_0, Packet, Publish, Request, Subscribe
from reknit.mqtt.properties import Properties, PropertyId
from reknit.wire import codec
from reknit.wire.messages import Data, Events, Sub
from tests.model.strategies import conditions
from tests.mqtt.strategies import packets_of, texts, topics

names = st.sampled_from(["", "n", "m", TYPES_PROPERTY]) | texts
values = (
    st.sampled_from(["", "1", "-7", "1.5", "nan", "-inf", "1e999", "1_0", " 7 ", "\u0667", "true", str(2**63)]) | texts
)
types = st.dictionaries(names, st.sampled_from("sifbx"), max_size=4).map(json.dumps)
pairs = st.tuples(names, values) | st.tuples(st.just(TYPES_PROPERTY), types)
payloads = st.binary(max_size=9) | st.dictionaries(names, st.integers() | st.floats() | texts).map(
    lambda document: json.dumps(document).encode()
)


def user(properties: list[tuple[str, str]]) -> Properties:
    return tuple((int(PropertyId.USER_PROPERTY), pair) for pair in properties)


publications = st.builds(
    lambda topic, payload, properties: Publish(topic, payload, properties=user(properties)),
    topics,
    payloads,
    st.lists(pairs, max_size=5),
)
selectors = texts | conditions.map(unparse)
subscriptions = st.builds(
    lambda topic, selector: Subscribe(1, (Request(topic),), user([(SELECTOR_PROPERTY, selector)])),
    st.sampled_from(["a/+", "#", "x#", "a"]) | texts.filter(bool),
    selectors,
)


def commands_of(packet: Packet, **options: Any) -> list[io.Command]:
    door = Door(DoorOptions(**options), random.Random(1))
    door.opened(1, 0.0)
    door.received(1, encode(packets.Connect("c"), V5_0), 0.0)
    return door.received(1, encode(packet, V5_0), 0.0)


def travels(command: io.Command) -> None:
    if isinstance(command, io.Publish):
        for event in command.events:
            event.source, event.seq = "b1.1", 1
        frame = Data(1, 1, 0, 0, [Events(command.events)])
        assert codec.encode(codec.decode(codec.encode(frame))) == codec.encode(frame)
    elif isinstance(command, io.Subscribe):
        frame = Data(1, 1, 0, 0, [Sub(list(command.patterns))])
        assert codec.decode(codec.encode(frame)) == frame


@given(publications, st.booleans())
def test_every_event_is_taken_by_the_next_broker(packet: Publish, json_attributes: bool) -> None:
    for command in commands_of(packet, json_attributes=json_attributes):
        travels(command)


@given(subscriptions)
def test_every_pattern_is_taken_by_the_next_broker(packet: Subscribe) -> None:
    for command in commands_of(packet):
        travels(command)


@given(packets_of(V5_0))
def test_whatever_else_a_client_says(packet: Packet) -> None:
    for command in commands_of(packet):
        travels(command)
