from __future__ import annotations

import pytest

from reknit.model.event import Event
from reknit.mqtt.incoming import check_publish, to_event, topic_fault
from reknit.mqtt.options import DoorOptions
from reknit.mqtt.packets import V3_1_1, V5_0, Publish, Will
from reknit.mqtt.properties import PropertyId
from reknit.mqtt.reasons import ProtocolError, Reason


def test_user_properties_stay_text_unless_their_types_are_named() -> None:
    user = ((PropertyId.USER_PROPERTY, ("n", "3")), (PropertyId.USER_PROPERTY, ("n", "4")))
    assert to_event(Publish("t", b"x", properties=user)) == Event("t", b"x", properties=(("n", "3"), ("n", "4")))
    typed = (user[0], (PropertyId.USER_PROPERTY, ("reknit-types", '{"n":"i"}')))
    assert to_event(Will("t", b"x", 1, properties=typed)) == Event("t", b"x", {"n": 3}, qos=1)


def test_bounds_are_counted_in_bytes_and_levels() -> None:
    options = DoorOptions(topic_bytes_max=6, topic_levels_max=3)
    assert [topic_fault(topic, options) for topic in ("ééé", "a/b/c", "/")] == [None] * 3
    assert [topic_fault(topic, options) for topic in ("éééé", "a/b//c")] == [Reason.TOPIC_INVALID] * 2
    assert topic_fault("$x", options) is Reason.NOT_AUTHORIZED


def test_a_retained_message_is_refused_only_where_a_refusal_can_be_told() -> None:
    check_publish(Publish("t", retain=True), V3_1_1)
    with pytest.raises(ProtocolError, match="retained"):
        check_publish(Publish("t", retain=True), V5_0)
