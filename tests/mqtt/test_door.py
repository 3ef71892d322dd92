"""Conversations with the door: packets in, packets out, and what the core was told."""

from __future__ import annotations

import pytest

from reknit.core import io
from reknit.model.event import Event, event_bytes
from reknit.model.pattern import Pattern
from reknit.mqtt import packets
from reknit.mqtt.encode import encode
from reknit.mqtt.packets import (
    V3_1_1,
    V5_0,
    Connack,
    Connect,
    Disconnect,
    Packet,
    Pingreq,
    Pingresp,
    Puback,
    Publish,
    Request,
    Suback,
    Subscribe,
    Unsuback,
    Unsubscribe,
    Will,
)
from reknit.mqtt.properties import Properties, PropertyId, integer, text
from reknit.mqtt.reasons import Reason
from tests.mqtt.conversation import Client, Room

BOTH = pytest.mark.parametrize("version", [V3_1_1, V5_0])


def subscribe(client: Client, *filters: str, qos: int = 0, properties: Properties = ()) -> list[Packet]:
    return client.say(Subscribe(1, tuple(Request(name, qos) for name in filters), properties))


def user(*pairs: tuple[str, str]) -> Properties:
    return tuple((PropertyId.USER_PROPERTY, pair) for pair in pairs)


def reason_of(packet: Packet) -> int:
    assert isinstance(packet, Connack | Disconnect | Puback)
    return packet.reason


# --- the greeting


def test_a_connack_announces_bounds_and_what_is_not_available() -> None:
    connack = Room(receive_maximum=20).join("a").connack
    announced = {
        PropertyId.RECEIVE_MAXIMUM: 20,
        PropertyId.TOPIC_ALIAS_MAXIMUM: 16,
        PropertyId.MAXIMUM_PACKET_SIZE: 1024 * 1024,
    }
    assert dict(connack.properties) == announced
    assert not connack.session_present


def test_3_1_1_hears_nothing_of_that() -> None:
    assert Room().join("a", V3_1_1).connack == Connack()


def test_a_client_without_a_name_gets_one() -> None:
    room = Room()
    names = [text(room.join().connack.properties, PropertyId.ASSIGNED_CLIENT_ID) for _ in range(2)]
    assert None not in names
    assert names[0] != names[1]
    assert room.commands == [io.Attach(str(names[0])), io.Attach(str(names[1]))]


def test_3_1_1_without_a_name_cannot_have_a_lasting_session() -> None:
    client = Room().client()
    assert client.say(Connect("", V3_1_1, clean_start=False)) == [Connack(False, 2)]
    assert client.closed
    Room().join("", V3_1_1)


def test_user_names_and_passwords_are_taken() -> None:
    Room().join("a", username="u", password=b"p")


@pytest.mark.parametrize(
    ("level", "version", "code"), [(3, V3_1_1, 1), (0, V3_1_1, 1), (6, V5_0, 0x84), (200, V5_0, 0x84)]
)
def test_unknown_versions_are_refused_in_a_shape_they_understand(level: int, version: int, code: int) -> None:
    room = Room()
    client = room.client()
    client.version = version
    wire = bytearray(encode(Connect("a", V5_0), V5_0))
    wire[8] = level
    (answer,) = client.say_bytes(bytes(wire))
    assert reason_of(answer) == code
    assert client.closed
    assert room.door.counters.refused == {"UNSUPPORTED_VERSION": 1}


def test_the_old_protocol_name_is_refused_too() -> None:
    client = Room().client()
    client.version = V3_1_1
    assert client.say_bytes(bytes.fromhex("100f00064d514973647003" + "02003c000161")) == [Connack(False, 1)]
    assert client.closed


REFUSED_CONNECTS = [
    (Connect("a", properties=((PropertyId.AUTHENTICATION_METHOD, "m"),)), Reason.BAD_AUTHENTICATION_METHOD),
    (Connect("a" * 300), Reason.CLIENT_ID_NOT_VALID),
    (Connect("a", will=Will("$SYS/w")), Reason.TOPIC_INVALID),
    (Connect("a", will=Will("w/" * 40)), Reason.TOPIC_INVALID),
    (Connect("a", will=Will("+")), Reason.TOPIC_INVALID),
]


@pytest.mark.parametrize(("connect", "reason"), REFUSED_CONNECTS)
def test_refused_connects(connect: Connect, reason: Reason) -> None:
    room = Room()
    client = room.client()
    (answer,) = client.say(connect, Pingreq())
    assert reason_of(answer) == reason
    assert client.closed
    assert room.commands == []
    assert room.door.counters.refused == {reason.name: 1}
    assert room.door.counters.connections == 0


def test_a_malformed_connect_of_5_0_is_told_why() -> None:
    client = Room().client()
    (answer,) = client.say_bytes(encode(Connect("a"), V5_0)[:-1].replace(b"\x10\x0e", b"\x10\x0d"))
    assert reason_of(answer) == Reason.MALFORMED_PACKET
    assert client.closed


@pytest.mark.parametrize("data", [b"GET / HTTP/1.1\r\n\r\n", b"\x00", b"\x30\x03\0\1a", b"\x10\x07\0\4HTTP\5"])
def test_what_is_not_mqtt_is_closed_and_counted(data: bytes) -> None:
    room = Room()
    client = room.client()
    assert client.say_bytes(data) == []
    assert client.closed
    assert room.door.counters.malformed == 1


def test_the_first_packet_is_small() -> None:
    room = Room(first_packet_bytes_max=100)
    client = room.client()
    assert client.say_bytes(b"\x10\x80\x01") == []
    assert client.closed
    assert room.door.counters.refused == {"PACKET_TOO_LARGE": 1}


def test_sessions_are_bounded() -> None:
    room = Room(sessions_max=1)
    room.join("a")
    assert reason_of(room.client().say(Connect("b"))[0]) == Reason.QUOTA_EXCEEDED
    assert room.client().say(Connect("b", V3_1_1)) == [Connack(False, 3)]
    room.join("a")


# --- time


def test_silence_before_connect_ends_the_connection() -> None:
    room = Room(connect_s_max=5.0)
    client = room.client()
    client.say_bytes(b"\x10")
    room.wait(4.9)
    assert not client.closed
    room.wait(0.2)
    assert client.closed
    assert room.door.counters.refused == {"NO_CONNECT": 1}
    assert room.door.deadline() is None


@BOTH
def test_keep_alive_is_enforced(version: int) -> None:
    room = Room()
    client = room.join("a", version, keep_alive_s=10)
    for _ in range(3):
        room.wait(14.0)
        assert client.say(Pingreq()) == [Pingresp()]
    room.wait(14.9)
    assert not client.closed
    room.wait(0.2)
    assert client.closed
    assert client.listen() == ([Disconnect(Reason.KEEP_ALIVE_TIMEOUT)] if version == V5_0 else [])
    assert room.commands[-1] == io.Detach("a")
    assert room.door.deadline() is None


def test_without_keep_alive_silence_is_fine() -> None:
    room = Room()
    client = room.join("a", keep_alive_s=0)
    assert room.door.deadline() is None
    room.wait(1e6)
    assert client.say(Pingreq()) == [Pingresp()]


# --- publishing


@BOTH
def test_a_run_of_publishes_is_one_command_and_one_write(version: int) -> None:
    room = Room()
    sender, reader = room.join("p", version), room.join("s", version)
    subscribe(reader, "a/#")
    room.commands.clear()
    writes = reader.writes
    sender.say(*(Publish(f"a/{number}", b"x") for number in range(5)), Pingreq(), Publish("a/5", b"x"))
    (command,) = room.commands
    assert isinstance(command, io.Publish)
    assert [event.topic for event in command.events] == [f"a/{number}" for number in range(6)]
    assert reader.writes == writes + 1
    assert reader.listen() == [Publish(f"a/{number}", b"x") for number in range(6)]
    assert room.door.counters.received["Publish"] == 6
    assert room.door.counters.sent["Publish"] == 6


def test_a_subscription_between_two_publishes_keeps_its_place() -> None:
    room = Room()
    client = room.join("c")
    room.commands.clear()
    answers = client.say(Publish("t", b"1"), Subscribe(1, (Request("t"),)), Publish("t", b"2"))
    assert [type(command) for command in room.commands] == [io.Publish, io.Subscribe, io.Publish]
    assert answers == [Suback(1, (0,)), Publish("t", b"2")]


@BOTH
def test_qos_1_is_acknowledged(version: int) -> None:
    room = Room()
    client = room.join("p", version)
    assert client.say(Publish("t", b"x", 1, 7), Publish("t", b"y", 1, 8)) == [Puback(7), Puback(8)]
    (command,) = room.commands[1:]
    assert command == io.Publish("p", [Event("t", b"x", qos=1), Event("t", b"y", qos=1)])


REFUSED_PACKETS = [
    (Publish("", properties=((PropertyId.TOPIC_ALIAS, 1),)), Reason.PROTOCOL_ERROR),
    (Publish("t", properties=((PropertyId.TOPIC_ALIAS, 17),)), Reason.TOPIC_ALIAS_INVALID),
    (Publish("t", properties=((PropertyId.SUBSCRIPTION_ID, 1),)), Reason.PROTOCOL_ERROR),
    (packets.Auth(0x19), Reason.BAD_AUTHENTICATION_METHOD),
    (Connack(), Reason.PROTOCOL_ERROR),
    (Suback(1, (0,)), Reason.PROTOCOL_ERROR),
    (Unsuback(1, (0,)), Reason.PROTOCOL_ERROR),
    (Pingresp(), Reason.PROTOCOL_ERROR),
    (Disconnect(0, ((PropertyId.SESSION_EXPIRY, 5),)), Reason.PROTOCOL_ERROR),
]


@pytest.mark.parametrize(("packet", "reason"), REFUSED_PACKETS)
def test_packets_that_end_a_connection_of_5_0(packet: Packet, reason: Reason) -> None:
    room = Room()
    client = room.join("c")
    answers = client.say(Publish("before"), packet, Publish("after"))
    assert [reason_of(answer) for answer in answers] == [reason]
    assert client.closed
    assert room.door.counters.refused == {reason.name: 1}
    assert room.commands[1:] == [io.Publish("c", [Event("before")]), io.Detach("c")]


@BOTH
def test_a_second_connect_ends_the_connection_without_a_word(version: int) -> None:
    room = Room()
    client = room.join("c", version)
    assert client.say(Publish("before"), Connect("c", version), Publish("after")) == []
    assert client.closed
    assert room.door.counters.refused == {"PROTOCOL_ERROR": 1}
    assert room.door.counters.malformed == 1
    assert room.commands[1:] == [io.Publish("c", [Event("before")]), io.Detach("c")]


@pytest.mark.parametrize("packet", [Connack(), Suback(1, (0,))])
def test_packets_that_end_a_connection_of_3_1_1(packet: Packet) -> None:
    client = Room().join("c", V3_1_1)
    assert client.say(packet) == []
    assert client.closed


def test_malformed_bytes_are_told_why() -> None:
    room = Room()
    client = room.join("c")
    (answer,) = client.say_bytes(b"\x36\x03\0\1t")
    assert isinstance(answer, Disconnect)
    assert answer.reason == Reason.MALFORMED_PACKET
    assert text(answer.properties, PropertyId.REASON_STRING) == "PUBLISH of QoS 3"
    assert room.door.counters.malformed == 1


@pytest.mark.parametrize(
    ("topic", "reason"),
    [("$SYS/x", Reason.NOT_AUTHORIZED), ("a/" * 32, Reason.TOPIC_INVALID), ("a" * 1025, Reason.TOPIC_INVALID)],
)
@BOTH
def test_topics_that_are_not_open_to_clients(topic: str, reason: Reason, version: int) -> None:
    room = Room()
    client = room.join("c", version)
    told = reason if version == V5_0 else 0
    assert client.say(Publish(topic), Publish(topic, b"", 1, 1), Publish("t")) == [Puback(1, told)]
    assert room.commands[1:] == [io.Publish("c", [Event("t")])]
    assert room.door.counters.refused == {reason.name: 2}


def test_the_receive_maximum_is_enforced() -> None:
    room = Room(receive_maximum=2)
    client = room.join("c")
    for _ in range(3):
        assert client.say(Publish("t", b"", 1, 1), Publish("t", b"", 1, 2)) == [Puback(1), Puback(2)]
    answers = client.say(*(Publish("t", b"", 1, number) for number in (1, 2, 3)))
    assert reason_of(answers[-1]) == Reason.RECEIVE_MAXIMUM_EXCEEDED
    assert client.closed


def test_a_packet_that_is_too_large() -> None:
    client = Room(packet_bytes_max=100).join("c")
    (answer,) = client.say_bytes(b"\x30\x80\x01")
    assert reason_of(answer) == Reason.PACKET_TOO_LARGE


# --- subscribing


def test_one_copy_however_many_subscriptions_match() -> None:
    room = Room()
    client = room.join("c")
    assert subscribe(client, "a", "#", "+") == [Suback(1, (0, 0, 0))]
    assert client.say(Publish("a")) == [Publish("a")]


@BOTH
def test_a_delivery_has_the_smaller_qos(version: int) -> None:
    room = Room()
    client = room.join("c", version)
    assert subscribe(client, "a", qos=0) == [Suback(1, (0,))]
    assert subscribe(client, "a/#", qos=2) == [Suback(1, (2,))]
    assert client.say(Publish("a", b"", 1, 5)) == [Puback(5), Publish("a", b"", 1, 1)]
    assert client.say(Publish("a")) == [Publish("a")]
    subscribe(client, "b", qos=0)
    assert client.say(Publish("b", b"", 1, 5)) == [Puback(5), Publish("b")]


def test_bad_filters_are_refused_one_by_one() -> None:
    room = Room(filters_max=2)
    client = room.join("c")
    (answer,) = subscribe(client, "a#", "ok", "$share/g+/t", "+x", "a/" * 32, "ok/2", "ok/3", "ok")
    assert isinstance(answer, Suback)
    bad, quota = Reason.FILTER_INVALID, Reason.QUOTA_EXCEEDED
    assert answer.reasons == (bad, 0, bad, bad, bad, 0, quota, 0)
    assert "at most 2 subscriptions" in str(text(answer.properties, PropertyId.REASON_STRING))
    assert room.commands[1:] == [io.Subscribe("c", (Pattern("ok"), Pattern("ok/2")))]
    assert room.door.counters.refused == {bad.name: 4, quota.name: 1}


def test_3_1_1_knows_one_failure() -> None:
    client = Room().join("c", V3_1_1)
    assert subscribe(client, "a#", "ok", "$share/g", qos=1) == [Suback(1, (0x80, 1, 0x80))]


def test_a_selector_chooses_by_content() -> None:
    room = Room()
    client = room.join("c")
    assert subscribe(client, "t", properties=user(("selector", "n >= 3"))) == [Suback(1, (0,))]
    answers = client.say(*(Publish("t", bytes((n,)), properties=user(("n", str(n)))) for n in range(5)))
    assert [answer.payload for answer in answers if isinstance(answer, Publish)] == [b"\3", b"\4"]


@pytest.mark.parametrize("properties", [user(("selector", "n >= ")), user(("selector", "a"), ("selector", "b"))])
def test_a_bad_selector_is_told_why(properties: Properties) -> None:
    room = Room()
    (answer,) = subscribe(room.join("c"), "t", "u", properties=properties)
    assert isinstance(answer, Suback)
    assert answer.reasons == (Reason.IMPLEMENTATION_ERROR,) * 2
    assert text(answer.properties, PropertyId.REASON_STRING)
    assert room.commands[1:] == []


def test_who_wants_no_reasons_gets_none() -> None:
    room = Room()
    client = room.join("c", properties=((PropertyId.REQUEST_PROBLEM_INFORMATION, 0),))
    assert subscribe(client, "a#") == [Suback(1, (Reason.FILTER_INVALID,))]


def test_a_reason_that_the_client_finds_too_large_is_left_out() -> None:
    client = Room().join("c", properties=((PropertyId.MAXIMUM_PACKET_SIZE, 64),))
    assert subscribe(client, "a#" * 60) == [Suback(1, (Reason.FILTER_INVALID,))]


@pytest.mark.parametrize(("size", "answers"), [(20, [Connack(False, Reason.PACKET_TOO_LARGE)]), (4, [])])
def test_a_client_that_cannot_take_a_connack_is_refused(size: int, answers: list[Packet]) -> None:
    client = Room().client()
    assert client.say(Connect("c", properties=((PropertyId.MAXIMUM_PACKET_SIZE, size),))) == answers
    assert client.closed


def test_the_same_filter_with_another_selector_replaces_the_former() -> None:
    room = Room()
    client = room.join("c")
    first, second = "n > 1", "n > 2"
    subscribe(client, "t", properties=user(("selector", first)))
    subscribe(client, "t", properties=user(("selector", second)))
    old, new = Pattern.parse("t", first), Pattern.parse("t", second)
    assert room.commands[1:] == [io.Subscribe("c", (old,)), io.Subscribe("c", (new,)), io.Unsubscribe("c", (old,))]


def test_the_same_subscription_again_changes_only_its_options() -> None:
    room = Room()
    client = room.join("c")
    subscribe(client, "t", qos=0)
    subscribe(client, "t", qos=1)
    assert room.commands[1:] == [io.Subscribe("c", (Pattern("t"),))]
    assert client.say(Publish("t", b"", 1, 1))[-1] == Publish("t", b"", 1, 1)


@BOTH
def test_unsubscribing_names_the_filter_alone(version: int) -> None:
    room = Room()
    client = room.join("c", version)
    properties = user(("selector", "n > 1")) if version == V5_0 else ()
    subscribe(client, "t", "u", properties=properties)
    (answer,) = client.say(Unsubscribe(2, ("t", "t", "nothing")))
    gone = Reason.NO_SUBSCRIPTION_EXISTED
    assert answer == Unsuback(2, (0, gone, gone) if version == V5_0 else ())
    assert room.commands[-1] == io.Unsubscribe("c", (Pattern.parse("t", "n > 1" if properties else ""),))
    assert client.say(Publish("t", b"", properties=user(("n", "2")) if properties else ())) == []


def test_no_local_passes_by_ones_own() -> None:
    room = Room()
    client, other = room.join("c"), room.join("o")
    client.say(Subscribe(1, (Request("t", 1, no_local=True),)))
    assert client.say(Publish("t", b"own"), Publish("t", b"own", 1, 1)) == [Puback(1)]
    other.say(Publish("t", b"other"))
    assert client.listen() == [Publish("t", b"other")]
    assert client.say(Subscribe(1, (Request("#"),)), Publish("t", b"own")) == [Suback(1, (0,)), Publish("t", b"own")]


def test_subscription_identifiers_come_back() -> None:
    room = Room()
    client, other = room.join("c"), room.join("o")
    subscribe(client, "t", properties=((PropertyId.SUBSCRIPTION_ID, 7),))
    subscribe(client, "#", properties=((PropertyId.SUBSCRIPTION_ID, 300),))
    subscribe(client, "+")
    subscribe(other, "t")
    assert other.say(Publish("t", b"x", properties=user(("k", "v")))) == [
        Publish("t", b"x", properties=user(("k", "v")))
    ]
    (heard,) = client.listen()
    assert isinstance(heard, Publish)
    assert sorted(heard.properties[:2]) == [(PropertyId.SUBSCRIPTION_ID, 7), (PropertyId.SUBSCRIPTION_ID, 300)]
    assert heard.properties[2:] == user(("k", "v"))


# --- delivering


@pytest.mark.parametrize("qos", [0, 1])
def test_a_packet_larger_than_the_client_allows_is_dropped_and_counted(qos: int) -> None:
    room = Room()
    client = room.join("c", properties=((PropertyId.MAXIMUM_PACKET_SIZE, 64),))
    subscribe(client, "t", qos=qos)
    other = room.join("o")
    for size in (100, 1):
        other.say(Publish("t", b"x" * size, qos, qos))
    assert client.listen() == [Publish("t", b"x", qos, 2 * qos)]
    assert room.door.counters.dropped == {"larger than the client allows": 1}


def test_the_clients_receive_maximum_is_a_window() -> None:
    room = Room()
    client = room.join("c", properties=((PropertyId.RECEIVE_MAXIMUM, 2),))
    subscribe(client, "t", qos=1)
    other = room.join("o")
    for number in range(5):
        other.say(Publish("t", bytes((number,)), 1, 1))
    assert client.listen() == [Publish("t", b"\0", 1, 1), Publish("t", b"\1", 1, 2)]
    assert client.say(Puback(2)) == [Publish("t", b"\2", 1, 3)]
    assert client.say(Puback(2)) == []
    assert client.say(Puback(1), Puback(3)) == [Publish("t", b"\3", 1, 4), Publish("t", b"\4", 1, 5)]


def test_what_waits_is_bounded_in_messages_and_bytes() -> None:
    two_small_ones = 2 * event_bytes(Event("t")) + 10
    room = Room(queue_messages_max=2, queue_bytes_max=two_small_ones, inflight_max=1)
    client = room.join("c")
    subscribe(client, "t", qos=1)
    other = room.join("o")
    for payload in (b"in flight", b"x" * 9, b"yy", b"z", b"full"):
        other.say(Publish("t", payload, 1, 1))
    assert client.listen() == [Publish("t", b"in flight", 1, 1)]
    assert client.say(Puback(1)) == [Publish("t", b"x" * 9, 1, 2)]
    assert client.say(Puback(2)) == [Publish("t", b"z", 1, 3)]
    assert room.door.counters.dropped == {"queue full": 2}


def test_a_full_socket_drops_qos_0_and_delays_qos_1() -> None:
    room = Room()
    client, other = room.join("c"), room.join("o")
    subscribe(client, "t", qos=1)
    room.door.writable(client.conn, False)
    other.say(Publish("t", b"0"), Publish("t", b"1", 1, 1))
    assert client.listen() == []
    room.door.writable(client.conn, True)
    room.perform([])
    assert client.listen() == [Publish("t", b"1", 1, 1)]
    assert room.door.counters.dropped == {"QoS 0 to a full socket": 1}
    other.say(Publish("t", b"2"))
    assert client.listen() == [Publish("t", b"2")]


def test_an_event_that_mqtt_cannot_carry_is_dropped_and_counted() -> None:
    room = Room()
    five, three = room.join("five"), room.join("three", V3_1_1)
    for client in (five, three):
        subscribe(client, "t")
    room.publish(Event("t", b"x", {"long": "x" * 70_000}))
    room.perform([])
    assert five.listen() == []
    assert three.listen() == [Publish("t", b"x")]
    assert room.door.counters.dropped == {"not encodable": 1}


def test_attributes_travel_as_user_properties() -> None:
    room = Room()
    client = room.join("c")
    subscribe(client, "t")
    sent = ((PropertyId.CONTENT_TYPE, "text/plain"), *user(("a", "1"), ("b", "x"), ("reknit-types", '{"a":"i"}')))
    (heard,) = client.say(Publish("t", b"x", properties=sent))
    (command,) = room.commands[2:]
    event = Event("t", b"x", {"a": 1}, (("b", "x"),), content_type="text/plain")
    assert command == io.Publish("c", [event])
    assert isinstance(heard, Publish)
    assert set(heard.properties) == set(sent)


@pytest.mark.parametrize(("json", "derived"), [(True, {"n": 3}), (False, {})])
def test_json_attributes_are_an_option(json: bool, derived: dict[str, int]) -> None:
    room = Room(json_attributes=json)
    client = room.join("c", V3_1_1)
    client.say(Publish("t", b'{"n": 3}'), Publish("t", b'{"n": 3}'))
    assert room.commands[1:] == [io.Publish("c", [Event("t", b'{"n": 3}', derived=derived)] * 2)]


# --- ends


@BOTH
def test_a_goodbye_ends_the_session(version: int) -> None:
    room = Room()
    client = room.join("c", version, will=Will("w"))
    assert client.say(Disconnect()) == []
    assert client.closed
    assert room.commands == [io.Attach("c", follows=version == V5_0), io.Detach("c")]
    assert room.door.counters.sessions == room.door.counters.connections == 0
    assert room.door.closed(client.conn, room.now) == []
    assert room.door.received(client.conn, b"\xc0\0", room.now) == []


@BOTH
def test_a_will_is_published_when_the_connection_breaks(version: int) -> None:
    room = Room()
    reader = room.join("r", version)
    subscribe(reader, "w", qos=1)
    room.join("c", version, will=Will("w", b"gone", 1)).vanish()
    assert reader.listen() == [Publish("w", b"gone", 1, 1)]
    assert room.commands[-2:] == [io.Publish("c", [Event("w", b"gone", qos=1)]), io.Detach("c")]


@pytest.mark.parametrize("reason", [Reason.DISCONNECT_WITH_WILL, Reason.UNSPECIFIED_ERROR])
def test_a_goodbye_may_ask_for_the_will(reason: Reason) -> None:
    room = Room()
    room.join("c", will=Will("w")).say(Disconnect(reason))
    assert room.commands[1:] == [io.Publish("c", [Event("w")]), io.Detach("c")]


def test_a_will_waits_for_its_delay_or_the_end_of_the_session() -> None:
    room = Room()
    terms: Properties = ((PropertyId.SESSION_EXPIRY, 10),)
    for delay, published in ((5, 5.0), (50, 10.0)):
        room.commands.clear()
        will = Will("w", properties=((PropertyId.WILL_DELAY, delay),))
        room.join("c", clean_start=True, will=will, properties=terms).vanish()
        room.wait(published - 0.5)
        assert io.Publish("c", [Event("w")]) not in room.commands
        room.wait(1.0)
        assert room.commands.count(io.Publish("c", [Event("w")])) == 1
        room.wait(10.0)
        assert room.commands[-1] == io.Detach("c")


def test_a_return_within_the_delay_cancels_the_will() -> None:
    room = Room()
    will = Will("w", properties=((PropertyId.WILL_DELAY, 5),))
    terms: Properties = ((PropertyId.SESSION_EXPIRY, 10),)
    room.join("c", will=will, properties=terms).vanish()
    room.wait(4.0)
    assert room.join("c", clean_start=False, properties=terms).connack.session_present
    room.wait(100.0)
    assert room.commands == [io.Attach("c")]


@BOTH
def test_the_same_client_again_takes_over(version: int) -> None:
    room = Room()
    old = room.join("c", version, will=Will("w"))
    room.join("c", version)
    assert old.closed
    assert old.listen() == ([Disconnect(Reason.SESSION_TAKEN_OVER)] if version == V5_0 else [])
    assert room.commands == [
        io.Attach("c", follows=version == V5_0),
        io.Publish("c", [Event("w")]),
        io.Detach("c"),
        io.Attach("c", follows=version == V5_0),
    ]
    assert room.door.counters.connections == room.door.counters.sessions == 1


# --- sessions that last


def lasting(version: int) -> dict[str, object]:
    properties: Properties = ((PropertyId.SESSION_EXPIRY, 100),) if version == V5_0 else ()
    return {"version": version, "clean_start": False, "properties": properties}


@BOTH
def test_a_lasting_session_keeps_subscriptions_and_qos_1(version: int) -> None:
    room = Room()
    client = room.join("c", **lasting(version))
    assert not client.connack.session_present
    subscribe(client, "t", qos=1)
    other = room.join("o")
    other.say(Publish("t", b"unacknowledged", 1, 1))
    client.vanish()
    other.say(Publish("t", b"waiting", 1, 1), Publish("t", b"not kept"))
    assert room.door.counters.dropped == {"QoS 0 while away": 1}
    back = room.join("c", **lasting(version))
    assert back.connack.session_present
    assert back.listen() == [Publish("t", b"unacknowledged", 1, 1, dup=True), Publish("t", b"waiting", 1, 2)]
    assert io.Detach("c") not in room.commands
    assert room.commands.count(io.Attach("c", follows=version == V5_0)) == 1
    other.say(Publish("t", b"live"))
    assert back.listen() == [Publish("t", b"live")]


def test_repetitions_respect_the_new_window() -> None:
    room = Room()
    client = room.join("c", **lasting(V5_0))
    subscribe(client, "t", qos=1)
    for number in range(3):
        room.publish(Event("t", bytes((number,)), qos=1))
    room.perform([])
    client.vanish()
    terms: Properties = ((PropertyId.SESSION_EXPIRY, 100), (PropertyId.RECEIVE_MAXIMUM, 1))
    back = room.join("c", clean_start=False, properties=terms)
    assert back.listen() == [Publish("t", b"\0", 1, 1, dup=True)]
    assert back.say(Puback(3)) == []
    assert back.say(Puback(1)) == [Publish("t", b"\1", 1, 2, dup=True)]
    assert back.say(Puback(2)) == []


def test_a_session_ends_when_its_time_is_over() -> None:
    room = Room()
    room.join("c", **lasting(V5_0)).vanish()
    room.wait(99.0)
    assert room.commands == [io.Attach("c")]
    room.wait(2.0)
    assert room.commands == [io.Attach("c"), io.Detach("c")]
    assert not room.join("c", **lasting(V5_0)).connack.session_present


def test_a_clean_start_ends_the_former_session() -> None:
    room = Room()
    room.join("c", **lasting(V5_0)).vanish()
    assert not room.join("c", clean_start=True).connack.session_present
    assert room.commands == [io.Attach("c"), io.Detach("c"), io.Attach("c")]


def test_the_expiry_interval_is_capped_and_that_is_announced() -> None:
    room = Room(session_expiry_s_max=50)
    client = room.join("c", properties=((PropertyId.SESSION_EXPIRY, 0xFFFF_FFFF),))
    assert integer(client.connack.properties, PropertyId.SESSION_EXPIRY, -1) == 50
    client.vanish()
    room.wait(51.0)
    assert room.commands[-1] == io.Detach("c")


def test_a_goodbye_may_change_the_expiry_interval() -> None:
    room = Room()
    room.join("c", **lasting(V5_0)).say(Disconnect(0, ((PropertyId.SESSION_EXPIRY, 0),)))
    assert room.commands == [io.Attach("c"), io.Detach("c")]


def test_a_client_may_return_in_another_version() -> None:
    room = Room()
    client = room.join("c", **lasting(V5_0))
    subscribe(client, "t", qos=1)
    client.vanish()
    room.publish(Event("t", b"x", {"a": 1}, qos=1))
    back = room.join("c", **lasting(V3_1_1))
    assert back.connack.session_present
    assert back.listen() == [Publish("t", b"x", 1, 1)]


def test_deliveries_to_strangers_are_counted() -> None:
    room = Room()
    client = room.join("c")
    room.door.deliver(io.Deliver(Event("t"), (("nobody", (Pattern("t"),)),)), 0.0)
    room.door.deliver(io.Deliver(Event("t", qos=1), (("c", (Pattern("t"),)),)), 0.0)
    room.perform([])
    assert client.listen() == []
    assert room.door.counters.dropped == {"no session": 1, "no subscription": 1}


@pytest.mark.parametrize("selector", ["severity >>= 3", "a =\n\n  \x07", "a = \u2028 'x", "'\x85"])
def test_a_reason_is_one_line_without_control_characters(selector: str) -> None:
    (answer,) = subscribe(Room().join("c"), "t", properties=user(("selector", selector)))
    assert isinstance(answer, Suback)
    reason = text(answer.properties, PropertyId.REASON_STRING) or ""
    assert reason.startswith("bad selector at line ")
    assert reason.isprintable()


def test_publishes_are_counted_by_qos_on_every_way() -> None:
    """Plain and alone, plain in a run, with care, and refused; to plain receivers and to others."""
    room = Room()
    client, plain, other = room.join("c"), room.join("p"), room.join("o")
    subscribe(client, "t", qos=2)
    subscribe(plain, "t", qos=0)
    other.say(Publish("t", b"first"))  # the topic is looked at
    other.say(Publish("t", b"alone"))
    other.say(Publish("t", b"in"), Publish("t", b"a run"), Publish("t", b"x", 1, 1), Publish("t", b"x", 2, 2))
    other.say(Publish("$t", b"refused", 1, 3))
    counters = room.door.counters
    assert counters.published == [4, 2, 1]
    assert sum(counters.published) == counters.received["Publish"]
    assert counters.delivered == [4 + 6, 1, 1]
    assert sum(counters.delivered) == counters.sent["Publish"]
