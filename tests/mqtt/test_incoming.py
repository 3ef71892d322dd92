from __future__ import annotations

import pytest

from reknit.model.event import Envelope, Event
from reknit.mqtt.incoming import payload_fault, published_will, to_event, topic_fault, will_event
from reknit.mqtt.options import DoorOptions
from reknit.mqtt.packets import Publish, Will
from reknit.mqtt.properties import Properties, PropertyId
from reknit.mqtt.reasons import Reason


def test_user_properties_stay_text_unless_their_types_are_named() -> None:
    user = ((PropertyId.USER_PROPERTY, ("n", "3")), (PropertyId.USER_PROPERTY, ("n", "4")))
    assert to_event(Publish("t", b"x", properties=user), 0.0) == Event("t", b"x", properties=(("n", "3"), ("n", "4")))
    typed = (user[0], (PropertyId.USER_PROPERTY, ("reknit-types", '{"n":"i"}')))
    assert to_event(Will("t", b"x", 1, properties=typed), 0.0) == Event("t", b"x", {"n": 3}, qos=1)


def test_bounds_are_counted_in_bytes_and_levels() -> None:
    options = DoorOptions(topic_bytes_max=6, topic_levels_max=3)
    assert [topic_fault(topic, options) for topic in ("ééé", "a/b/c", "/")] == [None] * 3
    assert [topic_fault(topic, options) for topic in ("éééé", "a/b//c")] == [Reason.TOPIC_INVALID] * 2
    assert topic_fault("$x", options) is Reason.NOT_AUTHORIZED


def test_what_a_publisher_says_beside_the_content_is_the_envelope() -> None:
    said: Properties = (
        (PropertyId.MESSAGE_EXPIRY, 7),
        (PropertyId.RESPONSE_TOPIC, "r"),
        (PropertyId.CORRELATION_DATA, b"c"),
        (PropertyId.PAYLOAD_FORMAT, 1),
    )
    event = to_event(Publish("t", b"x", retain=True, properties=said), 100.0)
    assert event.envelope == Envelope(True, 107.0, True, "r", b"c")
    assert to_event(Publish("t", properties=((PropertyId.CONTENT_TYPE, "x"),)), 100.0).envelope is None


def test_a_will_is_good_from_its_publication_on() -> None:
    will = will_event(Will("t", b"x", properties=((PropertyId.MESSAGE_EXPIRY, 7),)))
    assert published_will(will, 100.0).envelope == Envelope(expires=107.0)
    plain = will_event(Will("t"))
    assert published_will(plain, 100.0) is plain


@pytest.mark.parametrize("seconds", [0, 1])
def test_what_expires_at_once_does_not_last_for_ever(seconds: int) -> None:
    envelope = to_event(Publish("t", properties=((PropertyId.MESSAGE_EXPIRY, seconds),)), 0.0).envelope
    assert envelope is not None
    assert 0.0 < envelope.expires <= 1.0


def test_a_payload_that_is_said_to_be_text_must_be() -> None:
    assert payload_fault(Event("t", b"\xff", envelope=Envelope(is_text=True))) is Reason.PAYLOAD_FORMAT_INVALID
    assert payload_fault(Event("t", b"\xff")) is None
    assert payload_fault(Event("t", b"x", envelope=Envelope(is_text=True))) is None
