"""Python values and user properties, at a client."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paho.mqtt.client import MQTTMessage

from reknit.client import BadAttribute, BadRequest, Event
from reknit.client.event import from_message, publish_properties, subscription_ids, to_model
from reknit.model.event import INTEGER_MAX, INTEGER_MIN, Scalar

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=10)
scalars = st.one_of(texts, st.integers(INTEGER_MIN, INTEGER_MAX), st.floats(allow_nan=False), st.booleans())


@given(st.dictionaries(texts, scalars, max_size=5), st.binary(max_size=10))
def test_values_come_back_with_their_types(attributes: dict[str, Scalar], payload: bytes) -> None:
    message = MQTTMessage(topic=b"t")
    message.payload = payload
    message.properties = publish_properties(attributes, "x/y")
    event = from_message(message)
    assert event == Event("t", payload, attributes, 0, "x/y")
    assert [type(value) for value in event.attributes.values()] == [type(value) for value in attributes.values()]
    assert to_model(message).view() == attributes


def test_a_message_without_properties_is_an_event_without_attributes() -> None:
    message = MQTTMessage(topic=b"t")
    assert from_message(message) == Event("t", b"")
    assert subscription_ids(message) == []
    assert publish_properties({}, "") is None


def test_a_value_that_is_no_attribute() -> None:
    with pytest.raises(BadAttribute, match="'n'"):
        publish_properties({"n": None}, "")  # type: ignore[dict-item]


@pytest.mark.parametrize("text", ["a\0b", "\ud800", "x" * 65_536, "ß" * 32_768])
def test_a_text_that_mqtt_cannot_carry(text: str) -> None:
    with pytest.raises(BadAttribute, match="attribute 'n'"):
        publish_properties({"n": text}, "")
    with pytest.raises(BadAttribute):
        publish_properties({text: 1}, "")
    with pytest.raises(BadRequest, match="content type"):
        publish_properties({}, text)


def test_types_that_take_too_much_room() -> None:
    with pytest.raises(BadAttribute, match="reknit-types"):
        publish_properties({f"a{number}": number for number in range(6000)}, "")
