"""News of clients, one for each way in and out."""

from __future__ import annotations

from reknit.mqtt.news import News
from reknit.mqtt.packets import V3_1_1, Connect, Disconnect, Pingreq
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
