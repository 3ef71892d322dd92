"""Python values and user properties, at a client."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paho.mqtt.client import MQTTMessage

from reknit.client import BadAttribute, Event
from reknit.client.event import from_message, publish_properties, subscription_ids, to_model
from reknit.model.event import INTEGER_MAX, INTEGER_MIN, Scalar

scalars = st.one_of(
    st.text(max_size=10), st.integers(INTEGER_MIN, INTEGER_MAX), st.floats(allow_nan=False), st.booleans()
)


@given(st.dictionaries(st.text(min_size=1, max_size=8), scalars, max_size=5), st.binary(max_size=10))
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
