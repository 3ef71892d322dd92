"""QoS 2 in both directions: each message once, whatever is repeated."""

from __future__ import annotations

import pytest

from reknit.mqtt.packets import V3_1_1, V5_0, Connect, Packet, Pubcomp, Publish, Pubrec, Pubrel, Request, Subscribe
from reknit.mqtt.properties import Properties, PropertyId
from reknit.mqtt.reasons import Reason
from tests.mqtt.conversation import Client, Room

BOTH = pytest.mark.parametrize("version", [V3_1_1, V5_0])
LASTING: Properties = ((PropertyId.SESSION_EXPIRY, 100),)


def again(room: Room, client: str, version: int) -> Client:
    """The same client on a new connection."""
    return room.join(client, version, clean_start=False, properties=LASTING if version == V5_0 else ())


def payloads(room: Room) -> list[bytes]:
    """What has reached the core."""
    return [event.payload for command in room.commands for event in getattr(command, "events", ())]


@BOTH
def test_a_message_that_comes_twice_is_one_event(version: int) -> None:
    room = Room()
    client = again(room, "p", version)
    sent = Publish("t", b"x", 2, 7)
    assert client.say(sent) == [Pubrec(7)]
    assert client.say(Publish("t", b"x", 2, 7, dup=True)) == [Pubrec(7)]
    client.vanish()
    client = again(room, "p", version)
    assert client.say(Publish("t", b"x", 2, 7, dup=True)) == [Pubrec(7)]
    assert payloads(room) == [b"x"]
    assert client.say(Pubrel(7)) == [Pubcomp(7)]
    assert client.say(Publish("t", b"y", 2, 7)) == [Pubrec(7)]
    assert payloads(room) == [b"x", b"y"]


def test_a_release_of_nothing_is_answered() -> None:
    assert Room().join("p").say(Pubrel(7)) == [Pubcomp(7, Reason.PACKET_ID_NOT_FOUND)]
    assert Room().join("p", V3_1_1).say(Pubrel(7)) == [Pubcomp(7)]


def test_a_message_that_is_refused_needs_no_release() -> None:
    room = Room(receive_maximum=1)
    client = room.join("p")
    assert client.say(Publish("$SYS/x", b"", 2, 1)) == [Pubrec(1, Reason.NOT_AUTHORIZED)]
    assert client.say(Publish("t", b"", 2, 2)) == [Pubrec(2)]


def test_messages_under_way_are_bounded_until_the_last_word() -> None:
    client = Room(receive_maximum=2).join("p")
    assert client.say(Publish("t", b"", 2, 1), Publish("t", b"", 2, 2)) == [Pubrec(1), Pubrec(2)]
    assert client.say(Pubrel(1), Publish("t", b"", 2, 3)) == [Pubcomp(1), Pubrec(3)]
    (answer,) = client.say(Publish("t", b"", 2, 4))
    assert getattr(answer, "reason", None) == Reason.RECEIVE_MAXIMUM_EXCEEDED
    assert client.closed


def subscribed(room: Room, version: int, **terms: object) -> Client:
    client = again(room, "s", version)
    client.say(Subscribe(1, (Request("t", 2),)))
    return client


def heard(client: Client, room: Room) -> list[Packet]:
    room.perform([])
    return client.listen()


@BOTH
def test_a_subscriber_is_told_to_release_what_it_has(version: int) -> None:
    room = Room()
    client = subscribed(room, version)
    publisher = room.join("p", version)
    publisher.say(Publish("t", b"x", 2, 9))
    assert client.listen() == [Publish("t", b"x", 2, 1)]
    assert client.say(Pubrec(1)) == [Pubrel(1)]
    assert client.say(Pubcomp(1)) == []
    publisher.say(Publish("t", b"y", 2, 10))
    assert client.listen() == [Publish("t", b"y", 2, 2)]


@BOTH
def test_a_new_connection_repeats_what_is_open_at_its_stage(version: int) -> None:
    room = Room()
    client = subscribed(room, version)
    publisher = room.join("p", version)
    publisher.say(Publish("t", b"x", 2, 1), Publish("t", b"y", 2, 2))
    assert client.say(Pubrec(1))[-1] == Pubrel(1)
    client.vanish()
    client = again(room, "s", version)
    assert client.listen() == [Pubrel(1), Publish("t", b"y", 2, 2, dup=True)]
    assert client.say(Pubrec(1)) == [Pubrel(1)]  # it had not heard the first one
    assert client.say(Pubcomp(1), Pubrec(2)) == [Pubrel(2)]
    client.vanish()
    assert again(room, "s", version).listen() == [Pubrel(2)]


def test_the_window_is_open_again_after_the_last_word() -> None:
    room = Room()
    client = room.join("s", properties=((PropertyId.RECEIVE_MAXIMUM, 1),))
    client.say(Subscribe(1, (Request("t", 2),)))
    room.join("p").say(Publish("t", b"x", 2, 1), Publish("t", b"y", 1, 2))
    assert client.listen() == [Publish("t", b"x", 2, 1)]
    assert client.say(Pubrec(1)) == [Pubrel(1)]
    assert client.say(Pubcomp(1)) == [Publish("t", b"y", 1, 2)]


def test_a_receiver_that_refuses_ends_the_flow() -> None:
    room = Room()
    client = room.join("s", properties=((PropertyId.RECEIVE_MAXIMUM, 1),))
    client.say(Subscribe(1, (Request("t", 2),)))
    room.join("p").say(Publish("t", b"x", 2, 1), Publish("t", b"y", 2, 2))
    client.listen()
    assert client.say(Pubrec(1, Reason.QUOTA_EXCEEDED)) == [Publish("t", b"y", 2, 2)]


def test_an_answer_to_nothing_is_answered_where_it_must_be() -> None:
    client = Room().join("s")
    assert client.say(Pubrec(5)) == [Pubrel(5, Reason.PACKET_ID_NOT_FOUND)]
    assert client.say(Pubcomp(5)) == []
    assert not client.closed


def test_a_clean_start_forgets_both_directions() -> None:
    room = Room()
    client = subscribed(room, V5_0)
    client.say(Publish("t", b"x", 2, 7))
    client.vanish()
    client = room.client()
    client.say(Connect("s"))
    assert client.say(Pubrel(7)) == [Pubcomp(7, Reason.PACKET_ID_NOT_FOUND)]
