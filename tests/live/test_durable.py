"""A broker with a store: nothing leaves before what it rests on is on the disk, and a next life has all of it."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from bench.durable_load import PUBACK, Publisher, Subscriber, Wire
from bench.mortal import Mortal, kills, mortal
from reknit.live.address import Address
from reknit.live.config import Bounds, StoreSection
from reknit.live.durable import DurableDriver
from reknit.live.errors import ConfigError
from reknit.live.ledger import SEEN
from reknit.live.process import BrokerPlan, RunningBroker, broker_running
from reknit.store.entries import Entry, Key, StoreFull
from reknit.store.sqlite import SqliteStore
from tests.live.conftest import Until
from tests.live.speaking import speak

CONNECT = b"\x10\x0d\0\4MQTT\4\0\0\0\0\1c"  # a session that lasts
SUBSCRIBE = b"\x82\x06\0\1\0\1t\1"
PUBLISH = b"\x32\x06\0\1t\0\7x"
ACKNOWLEDGED = b"\x40\x02\0\7"


class Gated:
    """The real store, whose commits wait until a test lets them go, or fail."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.free = threading.Event()
        self.free.set()
        self.fault = ""
        self.batches: list[Mapping[Key, bytes | None]] = []

    def load(self) -> Iterator[Entry]:
        return iter(self._store.load())

    def commit(self, batch: Mapping[Key, bytes | None]) -> None:
        self.batches.append(dict(batch))
        self.free.wait(30)
        if self.fault:
            raise StoreFull(self.fault)
        self._store.commit(batch)

    def close(self) -> None:
        self._store.close()


def gated(running: RunningBroker) -> Gated:
    assert isinstance(running.driver, DurableDriver)
    gate = running.driver._store = Gated(running.driver._store)
    return gate


@pytest.fixture
def durable(plan: Callable[..., BrokerPlan], tmp_path: Path) -> Callable[..., BrokerPlan]:
    return lambda **settings: plan(store=StoreSection(path=str(tmp_path / "b1.store")), **settings)


async def opened(running: RunningBroker, *data: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection(*running.mqtt)
    for each in (CONNECT, *data):
        writer.write(each)
        await reader.readexactly(4 if each is CONNECT else 5)
    return reader, writer


async def silent(reader: asyncio.StreamReader) -> bool:
    try:
        async with asyncio.timeout(0.2):
            return not await reader.read(1)
    except TimeoutError:
        return True


def test_nothing_leaves_before_its_commit_and_turns_go_on_meanwhile(
    durable: Callable[..., BrokerPlan], on_each_loop: Callable[..., None]
) -> None:
    async def play() -> None:
        async with broker_running(durable()) as running:
            reader, writer = await opened(running, SUBSCRIBE)
            gate = gated(running)
            gate.free.clear()
            writer.write(PUBLISH)
            assert await silent(reader)
            writer.write(b"\x32\x06\0\1t\0\x08y" + b"\xc0\0")
            assert await silent(reader)
            assert len(gate.batches) == 1
            gate.free.set()
            got = await reader.readexactly(2 * 4 + 2 * 8 + 2)
            assert got.count(b"\x40\x02") == 2
            assert b"\xd0\0" in got
            kept = [[shelf for shelf, _ in batch if shelf != SEEN] for batch in gate.batches]
            assert [len(shelves) for shelves in kept] == [1, 1]  # one message each: the acknowledgement needs none
            writer.close()

    on_each_loop(play())


def test_what_changes_nothing_that_lasts_leaves_at_once(durable: Callable[..., BrokerPlan]) -> None:
    async def play() -> None:
        async with broker_running(durable()) as running:
            reader, writer = await opened(running)
            gate = gated(running)
            writer.write(PUBLISH + b"\xc0\0")
            assert await reader.readexactly(6) == ACKNOWLEDGED + b"\xd0\0"
            assert gate.batches == []
            writer.close()

    asyncio.run(play())


def test_a_failed_commit_holds_all_says_why_once_and_goes_on_by_itself(
    durable: Callable[..., BrokerPlan], until: Until
) -> None:
    said: list[str] = []

    async def play() -> None:
        async with broker_running(durable(), said.append) as running, httpx.AsyncClient(trust_env=False) as http:
            reader, writer = await opened(running, SUBSCRIBE)
            gate, store, url = gated(running), running.driver.store, f"http://{running.admin}/readyz"
            assert store is not None
            gate.fault = "the disk is full"
            writer.write(PUBLISH)
            await until(lambda: store.commits_failed >= 2)
            answer = await http.get(url)
            assert (answer.status_code, answer.json()["reasons"]) == (503, ["the disk is full"])
            assert await silent(reader)
            writer.write(b"\x32\x06\0\1t\0\x08y")
            gate.fault = ""
            got = await reader.readexactly(2 * 4 + 2 * 8)
            assert got.count(b"\x40\x02") == 2
            await until(lambda: not running.driver.trouble)
            assert (await http.get(url)).status_code == 200
            writer.close()

    asyncio.run(play())
    assert sum("the disk is full" in line for line in said) == 1
    assert "the store is written again" in said


def test_nobody_is_read_while_too_much_is_held(durable: Callable[..., BrokerPlan], until: Until) -> None:
    async def play() -> None:
        async with broker_running(durable(bounds=Bounds(held_bytes_max=100))) as running:
            reader, writer = await opened(running, SUBSCRIBE)
            gate, store = gated(running), running.driver.store
            assert store is not None
            gate.free.clear()
            for number in range(100):
                writer.write(b"\x32\x06\0\1t" + (number + 1).to_bytes(2, "big") + b"z")
                await asyncio.sleep(0.001)
            await until(lambda: store.pauses > 0)
            held = store.held_bytes
            writer.write(b"\xc0\0" * 100)
            assert await silent(reader)
            assert store.held_bytes == held
            gate.free.set()
            got = await reader.readexactly(100 * 12 + 200)
            assert got.count(b"\xd0\0") >= 100
            writer.close()

    asyncio.run(play())


def test_a_session_comes_back_with_all_that_it_had(durable: Callable[..., BrokerPlan]) -> None:
    plan = durable()

    async def before() -> None:
        async with broker_running(plan) as running:
            reader, writer = await opened(running, SUBSCRIBE)
            writer.write(b"\x33\x06\0\1t\0\7r")  # to be retained, too
            await reader.readexactly(4 + 8)  # acknowledged to it, and delivered, but it does not acknowledge
            writer.close()

    async def after() -> None:
        async with broker_running(plan) as running:
            reader, writer = await asyncio.open_connection(*running.mqtt)
            writer.write(CONNECT)
            assert await reader.readexactly(4 + 8) == b"\x20\2\1\0" + b"\x3a\x06\0\1t\0\1r"
            writer.write(b"\x40\2\0\1" + b"\x82\x06\0\2\0\1t\0")
            got = await reader.readexactly(5 + 6)
            assert got == b"\x90\3\0\2\0" + b"\x31\x04\0\1tr"
            writer.close()

    asyncio.run(before())
    asyncio.run(after())


def test_an_incarnation_is_never_used_twice_even_if_the_clock_goes_back(durable: Callable[..., BrokerPlan]) -> None:
    from reknit.live.ledger import incarnation_entry

    plan = durable()
    late = int(time.time() * 1000) + 10**9
    store = SqliteStore(Path(plan.settings.store.path), "b1")
    store.commit(incarnation_entry(late))
    store.close()

    async def life() -> str:
        async with broker_running(plan) as running:
            return running.driver.broker.source

    assert [asyncio.run(life()) for _ in range(2)] == [f"b1.{late + 1:x}", f"b1.{late + 2:x}"]


def test_a_store_that_cannot_be_used_is_one_line(durable: Callable[..., BrokerPlan]) -> None:
    plan = durable()

    async def twice() -> None:
        async with broker_running(plan), broker_running(plan):
            pytest.fail("two brokers with one store")

    with pytest.raises(ConfigError, match="another broker holds this store"):
        asyncio.run(twice())
    with pytest.raises(ConfigError, match="the store of 'b1', not of 'b2'"):
        asyncio.run(twice_named(replace(plan, name="b2")))
    store = SqliteStore(Path(plan.settings.store.path), "b1")
    store.commit({("unheard", b"of"): b"x"})
    store.close()
    with pytest.raises(ConfigError, match=r"not to be understood.*unheard"):
        asyncio.run(twice_named(plan))


async def twice_named(plan: BrokerPlan) -> None:
    async with broker_running(plan):
        pytest.fail("it runs")


def test_a_session_that_has_moved_here_is_kept_here_and_no_longer_there(
    plan: Callable[..., BrokerPlan], tmp_path: Path, until: Until
) -> None:
    def with_store(name: str, neighbours: dict[str, str] | None = None) -> BrokerPlan:
        return plan(name, neighbours, store=StoreSection(path=str(tmp_path / name)))

    async def move() -> None:
        async with (
            broker_running(with_store("b1", {"b2": ""})) as heir,
            broker_running(with_store("b2", {"b1": str(heir.listen)})) as leaver,
            httpx.AsyncClient(trust_env=False) as http,
        ):
            await until(lambda: not heir.driver.waiting_for() and not leaver.driver.waiting_for())
            _, writer = await opened(leaver, SUBSCRIBE)
            writer.write(b"\xe0\0")
            await until(lambda: not leaver.driver.clients)
            writer.close()
            reader, writer = await asyncio.open_connection(*leaver.mqtt)
            writer.write(CONNECT.replace(b"\4\0\0\0\0\1c", b"\4\2\0\0\0\1p") + PUBLISH)
            assert await reader.readexactly(8) == b"\x20\2\0\0" + ACKNOWLEDGED
            writer.close()
            assert (await http.post(f"http://{leaver.admin}/drain")).status_code == 202
            async with asyncio.timeout(30):
                await leaver.driver.moves.ended.wait()

    async def after() -> None:
        async with broker_running(with_store("b1")) as running:
            reader, writer = await asyncio.open_connection(*running.mqtt)
            writer.write(CONNECT)
            assert await reader.readexactly(4 + 8) == b"\x20\2\1\0" + b"\x32\x06\0\1t\0\1x"
            writer.close()

    asyncio.run(move())
    left = SqliteStore(tmp_path / "b2", "b2")
    assert [shelf for shelf, _, _ in left.load() if shelf in ("session", "message")] == []
    left.close()
    asyncio.run(after())


# --- processes


def test_nothing_acknowledged_is_lost_by_a_broker_that_is_killed_five_times(tmp_path: Path) -> None:
    one, two = kills(tmp_path, 5)
    assert one.acknowledged > 500
    assert two.acknowledged > 500
    assert (one.lost, one.sessions_lost) == (0, 0)
    assert (two.lost, two.doubled, two.sessions_lost) == (0, 0, 0)


def test_without_a_store_the_same_would_be_seen(tmp_path: Path) -> None:
    """The clients of the test above do find a loss where there is one."""
    with mortal(tmp_path, store=False) as broker:
        subscriber, publisher = Subscriber(broker.port, "s", "t", 1), Publisher(broker.port, "p", "t", 1)
        subscriber.start()
        subscriber.subscribed.wait(30)
        publisher.start()
        while len(publisher.acknowledged) < 100:
            time.sleep(0.01)
        broker.kill()
        broker.start()
        while subscriber.connections < 2 or publisher.connections < 2:
            time.sleep(0.01)
        publisher.end()
        subscriber.end()
    assert publisher.lost + subscriber.lost == 2


def test_a_disk_that_is_full_for_a_while_costs_time_and_nothing_else(tmp_path: Path) -> None:
    """The kernel's own limit on the size of files, set from outside while the broker runs."""
    with mortal(tmp_path) as broker:
        subscriber, publisher = Subscriber(broker.port, "s", "t", 1), Publisher(broker.port, "p", "t", 1, size=500)
        subscriber.start()
        subscriber.subscribed.wait(30)
        publisher.start()
        while len(publisher.acknowledged) < 100:
            time.sleep(0.01)
        assert broker.process is not None
        pid, endless = broker.process.pid, resource.RLIM_INFINITY
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (4096, endless))
        while not (reasons := httpx.get(f"{broker.admin}/readyz", trust_env=False).json()["reasons"]):
            time.sleep(0.05)
        assert "could not be written" in reasons[0]
        before = len(publisher.acknowledged)
        time.sleep(0.5)
        assert len(publisher.acknowledged) == before
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (endless, endless))
        while len(publisher.acknowledged) < before + 100:
            time.sleep(0.01)
        assert httpx.get(f"{broker.admin}/readyz", trust_env=False).json()["reasons"] == []
        publisher.paused.set()
        while not publisher.settled or not set(publisher.acknowledged) <= set(subscriber.received):
            time.sleep(0.01)
        publisher.end()
        subscriber.end()
    assert broker.said.count("could not be written") == 1


def test_a_message_of_a_client_without_a_lasting_session_is_durable_too(tmp_path: Path) -> None:
    with mortal(tmp_path) as broker:
        subscriber = Subscriber(broker.port, "s", "t", 1)
        subscriber.start()
        subscriber.subscribed.wait(30)
        subscriber.end()
        with contextlib.closing(Wire(broker.port, "passing", clean=True)) as wire:
            wire.socket.sendall(b"\x32\x06\0\1t\0\x071")
            assert [kind for kind, _, _ in wire.read()] == [PUBACK]
        broker.kill()
        broker.start()
        again = Subscriber(broker.port, "s", "t", 1)
        again.start()
        while not again.received:
            time.sleep(0.01)
        again.end()
    assert again.received == [1]


def test_what_was_published_for_a_dead_neighbour_outlives_its_own_broker(tmp_path: Path) -> None:
    """The outbox of a link: acknowledged here, not yet there, and then both are killed."""
    near_state, far_state = (["--state", str(tmp_path / f"{name}.json")] for name in ("b1", "b2"))
    with mortal(tmp_path, "b1", [*near_state, "--expect", "b2"]) as near:
        link = ["--link", f"b1=127.0.0.1:{near.links}"]
        with mortal(tmp_path, "b2", [*far_state, *link]) as far:
            subscriber = Subscriber(far.port, "s", "t", 1)
            subscriber.start()
            subscriber.subscribed.wait(30)
            publisher = Publisher(near.port, "p", "t", 1)
            publisher.start()
            while not subscriber.received:  # the subscription has spread
                time.sleep(0.01)
            for _ in range(2):
                far.kill()
                before = len(publisher.acknowledged)
                while len(publisher.acknowledged) < before + 500:
                    time.sleep(0.01)
                near.kill()
                near.start()
                far.start()
                connections = publisher.connections
                while publisher.connections == connections:
                    time.sleep(0.01)
            publisher.paused.set()
            while not publisher.settled or not set(publisher.acknowledged) <= set(subscriber.received):
                time.sleep(0.05)
            publisher.end()
            subscriber.end()
    assert len(publisher.acknowledged) > 1000
    assert publisher.lost + subscriber.lost == 0


def test_a_drain_that_is_killed_in_the_middle_loses_nothing_that_was_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, until: Until
) -> None:
    """While the door waits for ann to acknowledge what she has, what comes for her is kept aside."""
    monkeypatch.setenv("REKNIT__MQTT__EXPORT_S_MAX", "60")
    monkeypatch.setenv("REKNIT__OPTIONS__SESSIONS__MOVE_S_MAX", "60")
    monkeypatch.setenv("REKNIT__OPTIONS__SESSIONS__LEASE_S", "60")
    states = [["--state", str(tmp_path / f"{name}.state")] for name in ("b1", "b2")]

    async def play() -> list[str]:
        with mortal(tmp_path, "b1", [*states[0], "--expect", "b2"]) as heir:  # noqa: SIM117
            with mortal(tmp_path, "b2", [*states[1], "--link", f"b1=127.0.0.1:{heir.links}"]) as leaver:
                at = Address("127.0.0.1", leaver.port)
                await ready(heir, leaver)
                ann, bob = await speak(at, "ann"), await speak(Address("127.0.0.1", heir.port), "bob")
                await ann.subscribe("t")
                while not ann.heard:  # until b1 knows of it
                    await bob.publish("t", "early")
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(0.1):
                            await ann.next()
                await bob.publish("t", "0")
                async with httpx.AsyncClient(trust_env=False) as http:
                    assert (await http.post(f"{leaver.admin}/drain")).status_code == 202

                    async def under_way() -> bool:
                        return bool((await http.get(f"{leaver.admin}/drain")).json().get("under_way"))

                    await until(under_way)
                for number in range(1, 20):
                    assert await bob.publish("t", str(number)) == 0
                leaver.kill()
                ann.die()
                leaver.start()
                await ready(heir, leaver)
                again = await speak(at, "ann")
                assert again.present
                await bob.publish("t", "end")
                while ("end", "t") not in again.heard:
                    await again.next()
                again.die()
                bob.die()
                return [payload for payload, _ in again.heard if payload.isdigit()]

    assert asyncio.run(play()) == [str(number) for number in range(20)]


async def ready(*brokers: Mortal) -> None:
    async with httpx.AsyncClient(trust_env=False) as http:
        for broker in brokers:
            while True:
                with contextlib.suppress(httpx.HTTPError):
                    if (await http.get(f"{broker.admin}/readyz")).status_code == 200:
                        break
                await asyncio.sleep(0.02)
