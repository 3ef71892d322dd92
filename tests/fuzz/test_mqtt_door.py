"""The door under seeded nonsense: it answers or closes, and counts; it never raises, and never forgets a client."""

from __future__ import annotations

import random

import pytest

from reknit.core import io
from reknit.model.event import Event
from reknit.mqtt import packets
from reknit.mqtt.door import Door, DoorOptions
from reknit.mqtt.encode import encode
from reknit.mqtt.packets import V3_1_1, V5_0
from reknit.mqtt.properties import Properties, PropertyId

OPTIONS = DoorOptions(
    filters_max=4, queue_messages_max=3, sessions_max=6, session_expiry_s_max=30, inflight_max=2, packet_bytes_max=4096
)
CONNECTIONS = 8


class Core:
    """Checks that commands make sense in their order, and delivers every event to everyone who subscribed."""

    def __init__(self, door: Door) -> None:
        self.door = door
        self.held: dict[str, list[object]] = {}

    def handle(self, commands: list[io.Command], now: float) -> None:
        for command in commands:
            if isinstance(command, io.Attach):
                assert command.client not in self.held
                self.held[command.client] = []
            elif isinstance(command, io.Detach):
                del self.held[command.client]
            elif isinstance(command, io.Subscribe):
                assert not set(self.held[command.client]) & set(command.patterns)
                self.held[command.client] += command.patterns
            elif isinstance(command, io.Unsubscribe):
                for pattern in command.patterns:
                    self.held[command.client].remove(pattern)
            else:
                assert command.client in self.held
                for event in command.events:
                    self.deliver(event, now)

    def deliver(self, event: Event, now: float) -> None:
        matches = tuple((client, tuple(held)) for client, held in self.held.items() if held)
        self.door.deliver(io.Deliver(event, matches), now)  # type: ignore[arg-type]


def some_packets(rng: random.Random, version: int) -> bytes:
    """A few packets that a client might send, legal or not."""
    five = version == V5_0
    expiry: Properties = ((PropertyId.SESSION_EXPIRY, rng.choice((0, 5, 99))),) if five and rng.random() < 0.6 else ()
    selector = rng.choice(("a > 1", "a >", "b = 'x'"))
    user: Properties = ((PropertyId.USER_PROPERTY, ("selector", selector)),) if five and rng.random() < 0.3 else ()
    name = f"c{rng.randrange(5)}"
    will = packets.Will("w", b"x", rng.randrange(2)) if rng.random() < 0.3 else None
    qos = rng.choice((0, 0, 1, 1, 2))
    request = packets.Request(rng.choice(("a", "#", "+/b", "x#")), qos, five and rng.random() < 0.2)
    choices: list[packets.Packet] = [
        packets.Publish(rng.choice(("a", "a/b", "$S")), b"p" * rng.randrange(9), qos, 9 if qos else 0),
        packets.Publish("a", b"q", properties=user),
        packets.Subscribe(1, (request,), user),
        packets.Unsubscribe(2, (request.filter,)),
        packets.Puback(rng.randrange(1, 5)),
        packets.Pingreq(),
    ]
    ends: list[packets.Packet] = [packets.Disconnect(), packets.Pubrel(1), packets.Suback(1, (0,))]
    connect = packets.Connect(name, version, rng.random() < 0.5, rng.choice((0, 3)), None, None, will, expiry)
    said = [packets.Pingreq() if rng.random() < 0.02 else connect, *rng.choices(choices, k=rng.randrange(6))]
    if rng.random() < 0.2:
        said.append(rng.choice(ends))
    return b"".join(encode(packet, version) for packet in said[rng.random() < 0.5 :])


def damaged(rng: random.Random, data: bytes) -> bytes:
    """The same bytes, or some of them changed, lost or made up."""
    choice = rng.random()
    if choice < 0.7 or not data:
        return data
    at = rng.randrange(len(data))
    if choice < 0.8:
        return data[:at] + bytes((rng.randrange(256),)) + data[at + 1 :]
    if choice < 0.9:
        return data[:at]
    return data[:at] + rng.randbytes(rng.randrange(20)) + data[at:]


@pytest.mark.parametrize("seed", range(12))
def test_seeded_clients_with_damaged_bytes(seed: int) -> None:
    rng = random.Random(seed)
    door = Door(OPTIONS, random.Random(seed))
    core = Core(door)
    now, opened = 0.0, 0
    live: dict[int, int] = {}
    for _ in range(1500):
        now += rng.random()
        while len(live) < CONNECTIONS:
            opened += 1
            live[opened] = rng.choice((V3_1_1, V5_0))
            door.opened(opened, now)
        conn = rng.choice(list(live))
        choice = rng.random()
        if choice < 0.05:
            del live[conn]
            core.handle(door.closed(conn, now), now)
        elif choice < 0.1:
            door.writable(conn, rng.random() < 0.7)
        else:
            core.handle(door.received(conn, damaged(rng, some_packets(rng, live[conn])), now), now)
        if (deadline := door.deadline()) is not None and deadline <= now:
            core.handle(door.due(now), now)
            assert (door.deadline() or now + 1) > now
        for output in door.output():
            assert output.conn in live
            assert output.data or output.close
            if output.close:
                del live[output.conn]
        assert door.counters.connections == len(live)
        assert door.counters.sessions == len(core.held) <= OPTIONS.sessions_max
    assert door.counters.received["Publish"] > 20
    assert door.counters.sent["Publish"] > 20
    for conn in live:
        core.handle(door.closed(conn, now), now)
    core.handle(door.due(now + 1e6), now + 1e6)
    assert core.held == {}
    assert door.deadline() is None


@pytest.mark.parametrize("version", [0, V3_1_1, V5_0])
def test_random_bytes_end_in_output_or_close_and_a_counter(version: int) -> None:
    rng = random.Random(version)
    for conn in range(400):
        door = Door(OPTIONS, random.Random(0))
        door.opened(conn, 0.0)
        if version:
            door.received(conn, encode(packets.Connect("c", version, keep_alive_s=5), version), 0.0)
            assert [output.close for output in door.output()] == [False]
        door.received(conn, rng.randbytes(rng.randrange(1, 60)), 1.0)
        door.due(100.0)
        assert any(output.close for output in door.output())
        assert door.counters.refused.total() > 0
        assert door.counters.connections == 0
