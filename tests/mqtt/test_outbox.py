from __future__ import annotations

from reknit.core.io import Deliver
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.mqtt.options import DoorCounters, DoorOptions, Output
from reknit.mqtt.outbox import Outbox
from reknit.mqtt.packets import V3_1_1, V5_0, Pingresp, Request, Subscribe
from reknit.mqtt.parser import Parser
from reknit.mqtt.session import Connection, Session

OPTIONS = DoorOptions()


def subscribed(conn: int, version: int) -> Session:
    session = Session(f"c{conn}", OPTIONS)
    connection = Connection(conn, Parser(), 0.0, version)
    session.subscriptions.subscribe(Subscribe(1, (Request("t", 1),)), OPTIONS)
    session.resume(connection)
    return session


def to_all(event: Event, sessions: list[Session]) -> Deliver:
    return Deliver(event, tuple((session.client, (Pattern("t"),)) for session in sessions))


def test_all_plain_receivers_of_one_version_share_the_very_same_bytes() -> None:
    sessions = [subscribed(conn, V3_1_1 if conn < 3 else V5_0) for conn in range(6)]
    outbox = Outbox(DoorCounters(), {session.client: session for session in sessions}, 0.0)
    outbox.deliver(to_all(Event("t", b"x"), sessions), 0.0)
    wires = [session.connection.out[0] for session in sessions if session.connection is not None]
    assert len({id(wire) for wire in wires[:3]}) == len({id(wire) for wire in wires[3:]}) == 1
    assert wires[0] != wires[3]


def test_output_comes_once_for_each_connection_in_the_order_of_touching() -> None:
    counters = DoorCounters()
    outbox = Outbox(counters, {}, 0.0)
    connections = [Connection(conn, Parser(), 0.0, V5_0) for conn in range(3)]
    for conn in (2, 0, 2):
        assert outbox.send(connections[conn], Pingresp())
    outbox.close(connections[1])
    outbox.close(connections[0])
    pong = b"\xd0\x00"
    assert outbox.take() == [Output(2, pong * 2, False), Output(0, pong, True), Output(1, b"", True)]
    assert outbox.take() == []
    assert (counters.sent["Pingresp"], counters.bytes_sent) == (3, 6)


def test_nothing_is_written_behind_a_close() -> None:
    outbox = Outbox(DoorCounters(), {}, 0.0)
    connection = Connection(1, Parser(), 0.0, V5_0)
    outbox.close(connection)
    outbox.write(connection, b"late")
    assert outbox.take() == [Output(1, b"", True)]
