"""News of clients, one for each way in and out."""

from __future__ import annotations

from reknit.mqtt.news import News
from reknit.mqtt.packets import V3_1_1, Connect, Disconnect, Pingreq, Puback, Publish, Request, Subscribe
from tests.mqtt.conversation import Room


def taken(room: Room) -> list[News]:
    news = list(room.door.news)
    room.door.news.clear()
    return news


def test_each_way_in_and_out() -> None:
    room = Room(connect_s_max=1.0)
    first = room.join("a")
    assert taken(room) == [News("connected", 0, "a", "", "5.0")]
    room.join("a", V3_1_1)
    assert taken(room) == [
        News("disconnected", 0, "a", "", "5.0", "SESSION_TAKEN_OVER"),
        News("connected", 1, "a", "", "3.1.1"),
    ]
    assert first.closed
    room.perform(room.door.closed(1, room.now))
    assert taken(room) == [News("disconnected", 1, "a", "", "3.1.1", "the connection was lost")]
    room.join("b").say(Disconnect(0x04))
    assert [each.reason for each in taken(room)] == ["", "DISCONNECT 0x04"]
    room.client().say(Pingreq())
    assert taken(room) == [News("refused", 3, reason="PROTOCOL_ERROR")]
    room.client()
    room.wait(2.0)
    assert taken(room) == [News("refused", 4, reason="NO_CONNECT")]


def test_silence_is_a_reason_and_a_port_scan_is_no_news() -> None:
    room = Room()
    client = room.client()
    client.say(Connect("a", keep_alive_s=10))
    room.wait(20.0)
    assert [each.reason for each in taken(room)] == ["", "KEEP_ALIVE_TIMEOUT"]
    room.client()
    room.perform(room.door.closed(1, room.now))
    assert taken(room) == []


def test_a_full_queue_is_news_once_and_again_with_its_count_when_that_is_over() -> None:
    """Not for each message; and a queue that has room for one only does not begin anew with each."""
    room = Room(queue_messages_max=2, inflight_max=1)
    client, other = room.join("c"), room.join("o")
    client.say(Subscribe(1, (Request("t", 1),)))
    taken(room)
    for _ in range(5):  # one in flight, two wait, two are dropped
        other.say(Publish("t", b"x", 1, 1))
    assert taken(room) == [News("dropping", client.conn, "c", reason="queue full", count=1)]
    client.say(Puback(1))
    other.say(Publish("t", b"x", 1, 1), Publish("t", b"x", 1, 2))  # room for one of them
    assert taken(room) == []
    client.say(Puback(2))
    assert taken(room) == []
    client.say(Puback(3))  # the last that waited is sent
    assert taken(room) == [News("dropped", client.conn, "c", reason="queue full", count=3)]
    for _ in range(3):
        other.say(Publish("t", b"x", 1, 1))
    assert [each.kind for each in taken(room)] == ["dropping"]
    client.vanish()  # and the session with it
    assert [(each.kind, each.count) for each in taken(room)] == [("disconnected", 0), ("dropped", 1)]
