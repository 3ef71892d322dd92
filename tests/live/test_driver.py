"""The driver's turns: one write for each socket, effects in order, one alarm, and no exception that ends it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from reknit.core import io
from reknit.core.homes.homes import Homes
from reknit.core.homes.options import HomeOptions
from reknit.core.options import BrokerOptions
from reknit.core.turn import Turn
from reknit.live.config import Bounds
from reknit.live.driver import Driver
from reknit.live.framing import frame_head
from reknit.live.journal import Journal
from reknit.live.links import LinkProtocol
from reknit.live.mqtt_server import ClientProtocol
from reknit.model.event import Event
from reknit.mqtt.abroad import Abroad
from reknit.mqtt.moods import Moods
from reknit.mqtt.options import DoorOptions, Output
from reknit.mqtt.reasons import Reason
from reknit.trace.passage import Passage, Seen, expand
from reknit.trace.records import Kind, Record


@dataclass
class FakeBroker:
    """Answers each kind of input with effects that the test has laid out, and remembers all inputs."""

    answers: dict[type, list[io.Effect]] = field(default_factory=dict)
    seen: list[io.Input] = field(default_factory=list)
    at: float | None = None
    fails_on: type | None = None
    options: BrokerOptions = field(default_factory=BrokerOptions)
    homes: Homes = field(default_factory=lambda: Homes(Turn("b", False), None, {}, "", HomeOptions()))  # type: ignore[arg-type]

    def handle(self, each: io.Input, now: float) -> list[io.Effect]:
        self.seen.append(each)
        if type(each) is self.fails_on:
            raise RuntimeError("a bug")
        return self.answers.get(type(each), [])

    def deadline(self) -> float | None:
        return self.at


@dataclass
class FakeDoor:
    """Every byte is a command; a delivery is a byte to connection 1."""

    sys_interval_s = 0.0
    queued = 0
    news: list[object] = field(default_factory=list)
    pending: dict[int, bytes] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    closing: bool = False

    moods: Moods = field(default_factory=lambda: Moods({}))
    abroad: Abroad = field(default_factory=lambda: Abroad(DoorOptions()))
    asking: bool = False
    passwords: bool = False
    nameless: list[bool] = field(default_factory=list)
    """Of each connection, whether it needs no name."""
    faults: list[Reason | None] = field(default_factory=list)

    def allow(self, access: object) -> None:
        """Nothing is forbidden here."""

    def opened(self, conn: int, now: float, *, anonymous: bool, user: str, fault: Reason | None, relayed: bool) -> None:
        self.calls.append(f"opened {conn}")
        self.nameless.append(anonymous)
        self.faults.append(fault)

    def received(self, conn: int, data: bytes, now: float) -> list[io.Command]:
        return [io.Publish("c", [Event("t")]) for _ in data]

    def closed(self, conn: int, now: float) -> list[io.Command]:
        self.calls.append(f"closed {conn}")
        return [io.Detach("c")]

    def writable(self, conn: int, ready: bool) -> None:
        self.calls.append(f"writable {conn} {ready}")

    def deliver(self, effect: io.Deliver, now: float) -> None:
        self.pending[1] = self.pending.get(1, b"") + b"!"

    def deadline(self) -> float | None:
        return None

    def due(self, now: float) -> list[io.Command]:
        return []

    def output(self) -> list[Output]:
        taken, self.pending = self.pending, {}
        return [Output(conn, data, self.closing) for conn, data in taken.items()]


class FakeTransport:
    def __init__(self, peer: object = "somewhere") -> None:
        self.writes: list[bytes] = []
        self.ended = ""
        self.peer = peer

    def write(self, data: bytes) -> None:
        self.writes.append(data)

    def abort(self) -> None:
        self.ended = "aborted"

    def close(self) -> None:
        self.ended = "closed"

    def is_closing(self) -> bool:
        return bool(self.ended)

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.ended = "half closed"

    def is_reading(self) -> bool:
        return True

    def get_extra_info(self, name: str) -> object:
        return self.peer if name == "peername" else None

    def get_write_buffer_size(self) -> int:
        return 0

    def set_write_buffer_limits(self, high: int) -> None:
        self.high = high


@dataclass
class Sink:
    records: list[Record] = field(default_factory=list)
    written: int = 0
    dropped: int = 0
    closed: bool = False

    def append(self, seen: list[Seen]) -> None:
        self.records += expand(seen)

    def close(self) -> None:
        self.closed = True


@dataclass
class Stage:
    """A driver between fakes."""

    broker: FakeBroker
    door: FakeDoor
    driver: Driver

    def client(self, peer: object = "somewhere") -> tuple[ClientProtocol, FakeTransport]:
        protocol, transport = ClientProtocol(self.driver), FakeTransport(peer)
        protocol.connection_made(cast(asyncio.Transport, transport))
        return protocol, transport

    def link(self, peer: str = "") -> tuple[LinkProtocol, FakeTransport]:
        protocol, transport = LinkProtocol(self.driver, peer), FakeTransport()
        protocol.connection_made(cast(asyncio.Transport, transport))
        return protocol, transport


def on_stage(play: Callable[[Stage], Coroutine[Any, Any, None]], **settings: Any) -> None:
    async def run() -> None:
        broker, door = FakeBroker(), FakeDoor()
        await play(Stage(broker, door, Driver(cast(Any, broker), cast(Any, door), **settings)))

    asyncio.run(run())


DELIVER = io.Deliver(Event("t"), ())


def test_all_output_that_one_read_has_caused_leaves_in_one_write_for_each_socket() -> None:
    async def play(stage: Stage) -> None:
        client, to_client = stage.client()
        link, to_link = stage.link()
        stage.broker.answers[io.Publish] = [DELIVER, io.Send(link.conn, b"ab"), DELIVER, io.Send(link.conn, b"c")]
        client.data_received(b"...")
        assert to_client.writes == [b"!!!!!!"]
        assert to_link.writes == [(frame_head(b"ab") + b"ab" + frame_head(b"c") + b"c") * 3]

    on_stage(play)


def test_a_close_comes_after_what_was_sent_before_it_and_nothing_is_lost_by_it() -> None:
    async def play(stage: Stage) -> None:
        link, transport = stage.link()
        stage.broker.answers[io.Received] = [io.Close(link.conn, "enough"), io.Send(link.conn, b"bye")]
        link.data_received(frame_head(b"x") + b"x" + frame_head(b"y") + b"y")
        assert (transport.writes, transport.ended) == ([frame_head(b"bye") + b"bye"], "closed")
        assert stage.driver.counters.links_closed == 1
        link.connection_lost(None)
        # The second frame and the end of a connection that the core has closed are not for the core.
        assert [type(each) for each in stage.broker.seen] == [io.Accepted, io.Received]

    on_stage(play)


def test_a_connection_that_is_lost_is_told_with_its_reason() -> None:
    async def play(stage: Stage) -> None:
        link, _ = stage.link("b2")
        link.connection_lost(OSError("cable cut"))
        assert stage.broker.seen == [io.Dialled("b2", link.conn), io.Lost(link.conn, "cable cut")]

    on_stage(play)


def test_a_strangers_long_frame_is_refused_and_a_neighbours_is_not() -> None:
    async def play(stage: Stage) -> None:
        long = (100_000).to_bytes(4, "big")
        stranger, transport = stage.link()
        stranger.data_received(long)
        assert transport.ended == "aborted"
        assert stage.driver.counters.link_frames_refused == 1
        neighbour, transport = stage.link()
        neighbour.data_received(frame_head(b"hello") + b"hello" + long + b"begin")
        assert transport.ended == ""

    on_stage(play)


def test_an_exception_ends_the_connection_and_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    async def play(stage: Stage) -> None:
        client, to_client = stage.client()
        link, to_link = stage.link()
        stage.broker.fails_on = io.Publish
        client.data_received(b".")
        assert (to_client.ended, to_link.ended) == ("aborted", "")
        stage.broker.fails_on = io.Received
        link.data_received(frame_head(b"x") + b"x")
        assert to_link.ended == "aborted"
        stage.broker.fails_on = io.Detach
        client.connection_lost(None)
        stage.broker.fails_on = io.Lost
        link.connection_lost(None)
        assert stage.driver.counters.failures == 4

    with caplog.at_level(logging.ERROR):
        on_stage(play)
    assert "client connection 1 from somewhere" in caplog.text
    assert "a bug" in caplog.text


def test_connections_beyond_the_bound_are_refused_and_counted() -> None:
    async def play(stage: Stage) -> None:
        (first, kept), (second, refused) = stage.client(), stage.client()
        assert (kept.ended, refused.ended) == ("", "aborted")
        second.data_received(b"..")
        second.connection_lost(None)
        assert stage.door.calls == [f"opened {first.conn}"]
        (_, kept), (_, refused) = stage.link(), stage.link()
        assert (kept.ended, refused.ended) == ("", "aborted")
        assert (stage.driver.counters.clients_refused, stage.driver.counters.links_refused) == (1, 1)

    on_stage(play, bounds=Bounds(client_connections_max=1, link_connections_max=1))


def test_the_door_is_told_of_one_too_many_from_an_address_until_another_has_gone() -> None:
    async def play(stage: Stage) -> None:
        first, _ = stage.client()
        stage.client()
        first.connection_lost(None)
        stage.client()
        assert stage.door.faults == [None, Reason.QUOTA_EXCEEDED, Reason.QUOTA_EXCEEDED]
        for protocol in list(stage.driver.clients.values()):
            protocol.connection_lost(None)
        stage.client()
        assert stage.door.faults[-1] is None

    on_stage(play, bounds=Bounds(address_connections_max=1))


def test_a_client_that_the_door_closes_is_heard_no_more() -> None:
    async def play(stage: Stage) -> None:
        client, transport = stage.client()
        stage.door.closing = True
        stage.broker.answers[io.Publish] = [DELIVER]
        client.data_received(b".")
        assert (transport.writes, transport.ended) == ([b"!"], "half closed")  # the client closes the other half
        client.data_received(b".")
        assert len(stage.broker.seen) == 1
        client.connection_lost(None)
        assert stage.door.calls[-1] == f"closed {client.conn}"

    on_stage(play)


def test_a_slow_client_is_paused_and_one_that_stays_slow_is_cut(until: Any) -> None:
    async def play(stage: Stage) -> None:
        client, transport = stage.client()
        assert transport.high == 1000
        client.pause_writing()
        await asyncio.sleep(0)
        client.resume_writing()
        await asyncio.sleep(0)
        assert stage.door.calls[1:] == [f"writable {client.conn} False", f"writable {client.conn} True"]
        client.pause_writing()
        await until(lambda: bool(transport.ended))
        assert stage.driver.counters.clients_paused == 2
        assert stage.driver.counters.clients_too_slow == 1

    on_stage(play, bounds=Bounds(client_buffer_bytes_max=1000, client_stall_s_max=0.02))


def test_a_neighbour_that_does_not_read_is_given_up() -> None:
    async def play(stage: Stage) -> None:
        link, _ = stage.link()
        link.pause_writing()
        await asyncio.sleep(0)
        link.connection_lost(None)
        assert stage.driver.counters.links_too_slow == 1
        assert stage.broker.seen[-1] == io.Lost(link.conn, "too many bytes unread by the other end")

    on_stage(play)


def test_the_alarm_rings_once_for_each_deadline(until: Any) -> None:
    async def play(stage: Stage) -> None:
        loop = asyncio.get_running_loop()
        stage.broker.at = loop.time() + 0.01
        stage.driver.start()
        assert stage.broker.seen == [io.Due()]
        await until(lambda: len(stage.broker.seen) >= 2)
        stage.broker.at = None
        await asyncio.sleep(0.01)
        count = len(stage.broker.seen)
        await asyncio.sleep(0.01)
        assert len(stage.broker.seen) == count
        await stage.driver.stop()

    on_stage(play)


def test_an_earlier_deadline_moves_the_alarm(until: Any) -> None:
    async def play(stage: Stage) -> None:
        loop = asyncio.get_running_loop()
        stage.broker.at = loop.time() + 3600
        stage.driver.start()
        stage.broker.at = loop.time()
        stage.client()
        await until(lambda: len(stage.broker.seen) >= 2)
        await stage.driver.stop()

    on_stage(play)


def test_records_leave_with_the_wall_clock() -> None:
    sink = Sink()

    async def play(stage: Stage) -> None:
        passage = Passage(102.5, "b1", "ann", [Event("t")])
        stage.broker.answers[io.Due] = [io.Observe([Record(101.5, "b1", Kind.STARTED), passage])]
        stage.driver.start()

    on_stage(play, trace=sink, clock=lambda: 100.0, wall=lambda: 5000.0)
    assert [record.time for record in sink.records] == [5001.5, 5002.5]


def test_a_client_whose_address_cannot_be_told_needs_a_name() -> None:
    """One that resets its connection at once has none on some loops, and what it had sent is still read."""

    async def play(stage: Stage) -> None:
        for peer in (("127.0.0.1", 5), ("::1", 5, 0, 0), ("10.0.0.1", 5), None, ""):
            stage.client(peer)
        assert stage.door.nameless == [True, True, False, False, False]

    on_stage(play)


def test_an_operator_hears_the_reply_to_his_own_request() -> None:
    async def play(stage: Stage) -> None:
        stage.broker.answers[io.AddLink] = [io.Reply(1, "a cycle: a - b - a"), io.Reply(99)]
        stage.broker.answers[io.RemoveLink] = [io.Reply(2)]
        stage.broker.answers[io.SwapLink] = [io.Reply(3, "", "b1.7")]
        assert await stage.driver.operations.add_link("b2", "127.0.0.1:1") == io.Reply(1, "a cycle: a - b - a")
        assert await stage.driver.operations.remove_link("b2") == io.Reply(2)
        assert (await stage.driver.operations.swap_link("b2", "b3", "whole")).change == "b1.7"
        asked = [io.AddLink("b2", "127.0.0.1:1", 1), io.RemoveLink("b2", 2), io.SwapLink("b2", "b3", 3, "whole")]
        assert stage.broker.seen == asked

    on_stage(play)


def test_a_dial_that_fails_is_told(until: Any) -> None:
    async def play(stage: Stage) -> None:
        stage.broker.answers[io.Due] = [io.Dial("b2", "nowhere"), io.Dial("b3", "127.0.0.1:1")]
        stage.driver.start()
        await until(lambda: len(stage.broker.seen) >= 3)
        failures = sorted((each for each in stage.broker.seen[1:]), key=repr)
        assert [each.peer for each in failures if isinstance(each, io.DialFailed)] == ["b2", "b3"]

    on_stage(play)


def test_at_the_end_what_was_written_leaves_and_the_core_is_not_told() -> None:
    sink = Sink()

    async def play(stage: Stage) -> None:
        (client, to_client), (link, to_link) = stage.client(), stage.link()
        before = list(stage.broker.seen)
        stopping = asyncio.create_task(stage.driver.stop())
        await asyncio.sleep(0)
        assert (to_client.ended, to_link.ended, sink.closed) == ("closed", "closed", False)
        client.connection_lost(None)
        link.connection_lost(None)
        await stopping
        assert sink.closed
        assert stage.broker.seen == before

    on_stage(play, trace=sink)


def test_news_of_links_are_told_and_counted_with_and_without_a_trace() -> None:
    def records() -> list[Record]:
        return [Record(1.0, "b1", Kind.LINK_DOWN, peer="b2", detail="gone"), Record(1.0, "b1", Kind.STARTED)]

    for sink in (None, Sink()):
        said: list[str] = []

        async def play(stage: Stage) -> None:
            stage.broker.answers[io.Due] = [io.Observe(records())]
            stage.driver.start()
            assert stage.driver.journal.neighbours["b2"].downs == 1

        on_stage(play, trace=sink, journal=Journal(said.append))
        assert said == ["link to b2 is down: gone"]
        if sink is not None:
            assert [each.kind for each in sink.records] == [Kind.LINK_DOWN, Kind.STARTED]


def test_why_the_core_closes_a_connection_is_told() -> None:
    said: list[str] = []

    async def play(stage: Stage) -> None:
        link, _ = stage.link()
        stage.broker.answers[io.Received] = [io.Close(link.conn, "speaks version 9, not 1")]
        link.data_received(frame_head(b"x") + b"x")
        other, _ = stage.link()
        other.data_received(b"GET / HTTP/1.1")

    on_stage(play, journal=Journal(said.append))
    assert said[0] == "closed a connection with somewhere: speaks version 9, not 1"
    assert said[1].startswith("closed a connection with somewhere: a frame of ")


def test_what_is_to_be_remembered_is_kept_and_a_full_disk_is_told_and_counted() -> None:
    said: list[str] = []
    kept: list[io.Remember] = []

    def keep(effect: io.Remember) -> None:
        if kept:
            raise OSError("no space")
        kept.append(effect)

    async def play(stage: Stage) -> None:
        stage.broker.answers[io.Due] = [io.Remember({"b2": "h:1"}, {"b3": ""}, "n")] * 2
        stage.driver.start()
        assert stage.driver.counters.memory_failures == 1

    on_stage(play, journal=Journal(said.append), memory=keep)
    assert kept == [io.Remember({"b2": "h:1"}, {"b3": ""}, "n")]
    assert said == ["the neighbours could not be written down: no space"]
