from __future__ import annotations

from reknit.model.event import Event, event_bytes
from reknit.mqtt.options import DoorOptions
from reknit.mqtt.parser import Parser
from reknit.mqtt.session import PACKET_IDS, Connection, Message, Session


def connected(options: DoorOptions | None = None) -> Session:
    session = Session("c", options or DoorOptions())
    session.resume(Connection(1, Parser(), 0.0))
    return session


def test_packet_identifiers_go_round_and_skip_those_in_flight() -> None:
    session = connected(DoorOptions(inflight_max=PACKET_IDS))
    message = Message(Event("t"))
    assert [session.send(message) for _ in range(3)] == [1, 2, 3]
    assert session.acknowledged(2)
    for expected in range(4, PACKET_IDS + 1):
        assert session.send(message) == expected
        assert session.acknowledged(expected)
    assert [session.send(message) for _ in range(2)] == [2, 4]


def test_only_what_is_in_flight_can_be_acknowledged() -> None:
    session = connected()
    assert not session.acknowledged(1)
    ident = session.send(Message(Event("t")))
    assert session.acknowledged(ident)
    assert not session.acknowledged(ident)


def test_own_events_are_known_by_identity_and_bounded() -> None:
    session = connected(DoorOptions(own_events_max=2))
    own = [Event("t"), Event("t"), Event("t")]
    session.remember(own)
    assert [session.is_own(event) for event in own] == [False, True, True]
    assert not session.is_own(Event("t"))


def test_what_waits_gives_its_room_back() -> None:
    session = connected(DoorOptions(queue_bytes_max=event_bytes(Event("t", b"four"))))
    assert session.wait(Message(Event("t", b"four")))
    assert not session.wait(Message(Event("t", b"x")))
    following = session.next_to_send()
    assert following is not None
    assert following[1].event.payload == b"four"
    assert session.wait(Message(Event("t", b"four")))


def test_what_waits_is_measured_with_all_that_it_holds() -> None:
    session = connected(DoorOptions(queue_bytes_max=10_000))
    assert not session.wait(Message(Event("t", properties=(("p", "x" * 10_000),))))
    assert not session.wait(Message(Event("t", attributes={"a": "x" * 10_000})))
    assert not session.wait(Message(Event("t", content_type="x" * 10_000)))
    assert session.wait(Message(Event("t", b"x" * 9_000)))
