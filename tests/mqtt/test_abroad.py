"""Clients that are at home at another broker: who is sought, what waits, and when it is done without."""

from __future__ import annotations

from reknit.core.homes.homes import Home
from reknit.mqtt.encode import encode
from reknit.mqtt.packets import V3_1_1, V5_0, Connack, Connect, Packet, Pingreq, Pingresp, Publish
from reknit.mqtt.reasons import Reason
from tests.mqtt.conversation import Client, Room

ELSEWHERE = Home("b2", "192.0.2.2:7001")
CONNECT = encode(Connect("ann"), V5_0)


def abroad(**options: float) -> Room:
    """A door to which ann comes, who is at home elsewhere."""
    room = Room(**options)
    room.door.abroad.home = lambda client: ELSEWHERE if client == "ann" else None
    return room


def come(room: Room, version: int = V5_0, *more: Packet) -> Client:
    client = room.client()
    assert client.say(Connect("ann", version), *more) == []
    return client


def test_its_home_is_asked_for_and_nothing_is_answered_before() -> None:
    room = abroad()
    client = room.client()
    assert client.say_bytes(CONNECT) == []
    [seek] = room.door.abroad.take()
    assert (seek.conn, seek.client, seek.user, seek.home, seek.said) == (client.conn, "ann", "", ELSEWHERE, CONNECT)
    assert room.door.abroad.take() == []
    assert room.join("bob").connack.reason == 0  # nobody waits for it


def test_all_that_it_has_said_is_handed_over_and_it_is_no_client_here() -> None:
    room = abroad()
    client = come(room)
    more = encode(Publish("t", b"x"), V5_0) + encode(Pingreq(), V5_0)
    assert client.say_bytes(more[:5]) == []
    assert client.say_bytes(more[5:]) == []
    assert room.door.found(client.conn) == CONNECT + more
    assert room.door.found(client.conn) is None
    assert room.door.counters.connections == 0
    assert room.commands == []
    assert room.door.closed(client.conn, room.now) == []


def test_who_has_gone_meanwhile_is_handed_over_to_nobody() -> None:
    room = abroad()
    client = come(room)
    room.perform(room.door.closed(client.conn, room.now))
    assert room.door.found(client.conn) is None
    assert room.door.not_found(client.conn, room.now) == []


def test_a_home_that_is_out_of_reach_is_busy_and_after_long_done_without() -> None:
    room = abroad(home_lost_s=30.0)
    for version, reason in ((V5_0, Reason.SERVER_BUSY), (V3_1_1, 3)):
        client = come(room, version)
        room.perform(room.door.not_found(client.conn, room.now))
        [answer] = client.listen()
        assert isinstance(answer, Connack)
        assert (answer.reason, answer.session_present) == (reason, False)
    room.wait(30.0)
    client = come(room, V5_0, Pingreq())
    room.perform(room.door.not_found(client.conn, room.now))
    answer, pong = client.listen()
    assert isinstance(answer, Connack)
    assert (answer.reason, answer.session_present) == (0, False)
    assert isinstance(pong, Pingresp)


def test_a_home_that_has_answered_meanwhile_is_waited_for_anew() -> None:
    room = abroad(home_lost_s=30.0)
    client = come(room)
    room.perform(room.door.not_found(client.conn, room.now))
    room.wait(20.0)
    assert room.door.found(come(room).conn) == CONNECT
    room.wait(20.0)
    client = come(room)
    room.perform(room.door.not_found(client.conn, room.now))
    [answer] = client.listen()
    assert isinstance(answer, Connack)
    assert answer.reason == Reason.SERVER_BUSY


def test_who_has_a_session_here_is_at_home_here() -> None:
    room = Room()
    room.join("ann")
    room.door.abroad.home = lambda client: ELSEWHERE
    answers = room.client().say(Connect("ann", V5_0, clean_start=False))
    assert room.door.abroad.seeks == []
    assert [type(each) for each in answers] == [Connack]


def test_who_comes_through_another_broker_is_sent_no_further() -> None:
    room = abroad()
    client = room.client()
    room.door.opened(client.conn, room.now, relayed=True)
    [answer] = client.say_bytes(CONNECT)
    assert isinstance(answer, Connack)
    assert answer.reason == Reason.SERVER_BUSY
    assert room.door.abroad.seeks == []
    assert room.door.counters.refused[Reason.SERVER_BUSY.name] == 1


def test_who_waits_for_too_long_is_cut_off() -> None:
    room = abroad(connect_s_max=5.0)
    client = come(room)
    room.wait(6.0)
    assert room.door.found(client.conn) is None
