"""Links and answers on UDP: two brokers with a proxy between them that loses events, and all come back."""

from __future__ import annotations

import asyncio
import random
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

import reknit
from reknit.client.gaps import Gap
from reknit.core.broker import BrokerOptions
from reknit.core.io import Attach, Publish, Subscribe
from reknit.core.links.options import LinkOptions
from reknit.core.recovery.options import RecoveryOptions
from reknit.live.address import Address, free_ports
from reknit.live.config import TlsSection
from reknit.live.errors import ConfigError
from reknit.live.faults import Harm, fault_proxy
from reknit.live.process import BrokerPlan, RunningBroker, broker_running
from reknit.model.event import Envelope, Event
from reknit.model.pattern import Pattern
from reknit.wire.codec import encode
from reknit.wire.messages import Asker, MissesOf, Repair, Wants
from reknit.wire.messages import Direct as Said

LOOSE = BrokerOptions(
    links=LinkOptions(loose=True, retransmit_s=0.1),
    recovery=RecoveryOptions(algorithm="combined", gossip_s=0.05, again_s=0.1, heartbeat_s=0.2),
)


def up(broker: RunningBroker, peer: str) -> bool:
    return bool(broker.driver.broker.table()["neighbours"].get(peer, {}).get("up"))


def figures(broker: RunningBroker) -> dict[str, Any]:
    found: dict[str, Any] = broker.driver.broker.table()["recovery"]
    return found


def watch(broker: RunningBroker, topic: str) -> list[bytes]:
    """A client that wants the topic; what it gets is put into the list."""
    got: list[bytes] = []
    broker.driver.door.deliver = lambda effect, now: got.append(effect.event.payload)  # type: ignore[method-assign]
    broker.driver.turn(Attach("watcher"))
    broker.driver.turn(Subscribe("watcher", (Pattern.parse(topic),)))
    return got


def wants(broker: RunningBroker, topic: str) -> bool:
    return any(each["topic"] == topic for each in broker.driver.broker.table()["entries"])


def _mixed(**kinds: str) -> BrokerOptions:
    return msgspec.structs.replace(LOOSE, links=msgspec.convert({"retransmit_s": 0.1, "kinds": kinds}, LinkOptions))


def test_what_is_longer_than_a_datagram_crosses_a_link(plan: Callable[..., BrokerPlan], until: Any) -> None:
    """A retained event is a line of the book, which has to arrive; so has an event that is too large to come back."""

    async def play() -> None:
        async with (
            broker_running(plan("b1", options=LOOSE)) as b1,
            fault_proxy(b1.listen, Harm(), "seed") as proxy,
            broker_running(plan("b2", {"b1": str(proxy.address)}, options=LOOSE)) as b2,
        ):
            await until(lambda: up(b1, "b2") and up(b2, "b1"))
            proxy.harm = Harm(loss=0.1)
            b1.driver.turn(Publish("pam", [Event("a", bytes(150_000), envelope=Envelope(retain=True))]))
            await until(lambda: len(b2.driver.broker.book) == 1)
            got = watch(b2, "large")
            await until(lambda: wants(b1, "large"))
            sizes = (20_000, 40_000, 70_000, 150_000)
            for size in sizes:
                b1.driver.turn(Publish("pam", [Event("large", bytes(size))]))
            await until(lambda: len(got) == len(sizes))
            assert sorted(map(len, got)) == list(sizes)
            assert up(b1, "b2")

    asyncio.run(play())


def test_each_link_is_of_its_own_kind(plan: Callable[..., BrokerPlan], until: Any) -> None:
    """b1 - b2 is a stream, b2 - b3 is made of datagrams; what is lost there comes back past both."""

    async def play() -> None:
        async with (
            broker_running(plan("b1", options=_mixed())) as b1,
            broker_running(plan("b2", {"b1": str(b1.listen)}, options=_mixed(b3="datagram"))) as b2,
            fault_proxy(b2.listen, Harm(), "seed") as proxy,
            broker_running(plan("b3", {"b2": str(proxy.address)}, options=_mixed(b2="datagram"))) as b3,
        ):
            await until(lambda: up(b2, "b1") and up(b2, "b3"))
            got = watch(b3, "a")
            await until(lambda: wants(b1, "a"))
            for number in range(60):
                proxy.harm = Harm(loss=0.3)
                b1.driver.turn(Publish("pam", [Event("a", str(number).encode())]))
                await asyncio.sleep(0.005)
            proxy.harm = Harm()
            await until(lambda: len(got) == 60)
            assert sorted(map(int, got)) == list(range(60))
            assert figures(b3)["recovered"] > 0
            assert proxy.lost > 0

    asyncio.run(play())


def test_ends_that_see_a_link_otherwise_are_told(plan: Callable[..., BrokerPlan], until: Any) -> None:
    async def play() -> None:
        async with broker_running(plan("b1", options=_mixed(b9="datagram"))) as b1:
            neighbours = {"b1": str(b1.listen)}
            async with broker_running(plan("b2", neighbours, options=_mixed(b1="datagram"))) as b2:
                said: list[str] = []
                b2.driver.journal.say = lambda line, *_: said.append(str(line))  # type: ignore[method-assign]
                await until(lambda: any("takes the link for datagrams, not for a stream" in line for line in said))
                assert not up(b2, "b1")

    asyncio.run(play())


def test_events_that_a_link_of_datagrams_loses_come_back(
    plan: Callable[..., BrokerPlan], until: Any, on_each_loop: Any
) -> None:
    async def run() -> None:
        async with (
            broker_running(plan("b1", options=LOOSE)) as b1,
            fault_proxy(b1.listen, Harm(loss=0.2, duplication=0.1, delay_s_max=0.01), "1") as proxy,
            broker_running(plan("b2", {"b1": str(proxy.address)}, options=LOOSE)) as b2,
        ):
            await until(lambda: up(b1, "b2") and up(b2, "b1"))
            got = watch(b2, "a")
            await until(lambda: wants(b1, "a"))
            sent = [str(number).encode() for number in range(200)]
            for payload in sent:
                b1.driver.turn(Publish("pam", [Event("a", payload)]))
                await asyncio.sleep(0.002)
            await until(lambda: len(got) >= len(sent))
            assert sorted(got) == sorted(sent)  # each once
            assert figures(b2)["recovered"] > 10
            assert proxy.lost > 10
            assert b1.driver.counters.failures == b2.driver.counters.failures == 0

    on_each_loop(run())


def test_a_client_hears_what_it_misses_and_that_it_is_given_up(
    plan: Callable[..., BrokerPlan], until: Any, on_each_loop: Any
) -> None:
    """Nobody else wants the pattern, so there is nobody whom this algorithm would ask."""
    recovery = RecoveryOptions(algorithm="subscriber-pull", last_resort_s=0.0, lost_s_max=0.5)
    options = msgspec.structs.replace(LOOSE, recovery=recovery)

    async def run() -> None:
        async with (
            broker_running(plan("b1", options=options)) as b1,
            fault_proxy(b1.listen, Harm(), "1") as proxy,
            broker_running(plan("b2", {"b1": str(proxy.address)}, options=options)) as b2,
            reknit.connect(*b2.mqtt, client_id="ann") as ann,
            ann.subscribe("a") as events,
            ann.gaps() as gaps,
        ):
            await until(lambda: up(b1, "b2") and up(b2, "b1") and wants(b1, "a"))
            come, told = aiter(events), aiter(gaps)
            for number, harm in enumerate((Harm(), Harm(black_hole=True), Harm(black_hole=True), Harm()), start=1):
                proxy.harm = harm
                b1.driver.turn(Publish("pam", [Event("a", str(number).encode())]))
                if harm == Harm():
                    assert (await anext(come)).payload == str(number).encode()
                else:
                    await asyncio.sleep(0.1)  # it is in the hole by then
            source = b1.driver.broker.transit.source
            assert [await anext(told) for _ in range(2)] == [
                Gap(source, "a", 2, 3, "missing"),
                Gap(source, "a", 2, 3, "given up"),
            ]
            assert (figures(b2)["lost"], figures(b2)["given_up"], figures(b2)["missing"]) == (2, 2, 0)

    on_each_loop(run())


def test_a_black_hole_is_found_by_silence_and_the_link_comes_back(
    plan: Callable[..., BrokerPlan], until: Any, on_each_loop: Any
) -> None:
    links = LinkOptions(loose=True, retransmit_s=0.1, silence_s_max=0.6, heartbeat_s=0.2, dial_s_max=0.2)
    options = BrokerOptions(links=links, recovery=RecoveryOptions(algorithm="combined", heartbeat_s=0.2))

    async def run() -> None:
        async with (
            broker_running(plan("b1", options=options)) as b1,
            fault_proxy(b1.listen, Harm(), "1") as proxy,
            broker_running(plan("b2", {"b1": str(proxy.address)}, options=options)) as b2,
        ):
            await until(lambda: up(b1, "b2") and up(b2, "b1"))
            proxy.harm = Harm(black_hole=True)
            await until(lambda: not up(b1, "b2") and not up(b2, "b1"))
            proxy.harm = Harm()
            await until(lambda: up(b1, "b2") and up(b2, "b1"))

    on_each_loop(run())


def _changed(chance: random.Random, datagram: bytes) -> bytes:
    """With a few bytes that are others, or missing, or too many; or as it was."""
    data = bytearray(datagram)
    for _ in range(chance.randrange(4)):
        at = chance.randrange(len(data))
        match chance.randrange(3):
            case 0:
                data[at] = chance.randrange(256)
            case 1:
                del data[at : at + chance.randrange(1, 4)]
            case _:
                data[at:at] = chance.randbytes(chance.randrange(1, 4))
        if not data:
            break
    return bytes(data)


def _questions(address: str, count: int) -> Iterator[Said]:
    """What a broker would understand, and answer in many bytes, if somebody asked who may."""
    for number in range(1, count):
        asker, ranges = Asker("x", address, number), [(1, 100)]
        yield MissesOf(asker, "b1.1", [(Pattern.parse("a").signature(), 1e6, ranges)], ["b1"], "", number)
        yield MissesOf(asker, "s.1", [(Pattern.parse("a").signature(), 1e6, ranges)], ["b2", "s"], address, number)
        yield Wants(asker, Pattern.parse("a").signature(), 1e6, [("b1.1", ranges)])
        yield Repair("x", number, [0.0], [Event("a", b"lie", source="s.1", seq=number)])


def test_nonsense_on_the_port_harms_nobody_and_is_answered_with_nothing(
    plan: Callable[..., BrokerPlan], until: Any, on_each_loop: Any
) -> None:
    """Real words, some of them changed, in a broker that has something to give; a stranger gets not a byte."""
    chance = random.Random(7)

    async def run() -> None:
        async with (
            broker_running(plan("b1", options=LOOSE)) as b1,
            broker_running(plan("b2", {"b1": str(b1.listen)}, options=LOOSE)) as b2,
        ):
            await until(lambda: up(b1, "b2") and up(b2, "b1"))
            got = watch(b2, "a")
            await until(lambda: wants(b1, "a"))
            b1.driver.turn(Publish("pam", [Event("a", bytes(300)) for _ in range(100)]))
            await until(lambda: len(got) == 100)
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
                stranger.bind(("127.0.0.1", 0))
                stranger.setblocking(False)
                here = "{}:{}".format(*stranger.getsockname())
                for broker in (b1, b2):
                    before = figures(broker)
                    for question in _questions(here, 30):
                        for datagram in (encode(question), _changed(chance, encode(question))):
                            stranger.sendto(b"\x00" + datagram, tuple(broker.listen))
                        for kind in (b"", b"\x01", b"\x02"):
                            stranger.sendto(kind + _changed(chance, encode(question)), tuple(broker.listen))
                        await asyncio.sleep(0.001)
                    await until(lambda: figures(broker)["malformed"] >= 30)  # noqa: B023
                    await until(lambda: figures(broker)["unentitled"] >= 58)  # noqa: B023
                    await until(lambda: figures(broker)["unasked"] >= 58)  # noqa: B023
                    assert figures(broker)["repairs"] == before["repairs"]
                await asyncio.sleep(0.2)
                with pytest.raises(BlockingIOError):
                    stranger.recv(65_536)
            assert len(got) == 100
            assert b1.driver.counters.failures == b2.driver.counters.failures == 0

    on_each_loop(run())


def test_datagrams_do_not_go_with_tls_and_need_to_be_sent_again(plan: Callable[..., BrokerPlan]) -> None:
    async def start(which: BrokerPlan) -> None:
        async with broker_running(which):
            raise AssertionError("it has started")

    secure = TlsSection(link_authorities="ca.pem")
    with pytest.raises(ConfigError, match="datagrams are not in TLS"):
        asyncio.run(start(plan("b1", options=LOOSE, tls=secure)))
    with pytest.raises(ConfigError, match=r"needs options\.links\.retransmit_s"):
        asyncio.run(start(plan("b1", options=BrokerOptions(links=LinkOptions(loose=True)))))


class Processes:
    """b1, b2 and b3, each a process of its own; what is between two of them, the test decides."""

    def __init__(self, directory: Path) -> None:
        names = ("b1", "b2", "b3")
        ports = free_ports("127.0.0.1", 3 * len(names))
        self.mqtt = dict(zip(names, ports[0::3], strict=True))
        self.listen = {name: Address("127.0.0.1", port) for name, port in zip(names, ports[1::3], strict=True)}
        self.admin = dict(zip(names, ports[2::3], strict=True))
        self.directory = directory
        self.running: list[subprocess.Popen[bytes]] = []

    def start(self, name: str, neighbours: dict[str, Address], known_at: Address) -> None:
        path = self.directory / f"{name}.toml"
        path.write_text(
            f'[broker]\nname = "{name}"\nmqtt = "127.0.0.1:{self.mqtt[name]}"\nlisten = "{self.listen[name]}"\n'
            f'admin = "127.0.0.1:{self.admin[name]}"\nknown_at = "{known_at}"\n'
            "[options.links]\nloose = true\nretransmit_s = 0.1\n"
            '[options.recovery]\nalgorithm = "auto"\nhold_s_max = 0.4\nheartbeat_s = 0.2\n[neighbours]\n'
            + "".join(f'{other} = "{address}"\n' for other, address in neighbours.items())
        )
        with (self.directory / f"{name}.err").open("ab") as err:
            words = [sys.executable, "-m", "reknit", "broker", "--config", str(path)]
            self.running.append(subprocess.Popen(words, stderr=err))

    async def table(self, name: str) -> dict[str, Any]:
        async with httpx.AsyncClient(trust_env=False) as http:
            found: dict[str, Any] = (await http.get(f"http://127.0.0.1:{self.admin[name]}/table")).json()
            return found

    async def know(self, name: str, topic: str) -> bool:
        """Whether this broker leads events of the topic somewhere."""
        try:
            return any(each["topic"] == topic for each in (await self.table(name))["entries"])
        except httpx.HTTPError:  # its door is not open yet
            return False

    async def ready(self, name: str) -> bool:
        try:
            return bool((await self.table(name))["ready"])
        except httpx.HTTPError:
            return False


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    network = Processes(tmp_path)
    yield network
    for process in network.running:
        process.terminate()
    for process in network.running:
        process.wait(timeout=30)


def test_processes_lose_a_tenth_of_all_datagrams_and_every_event_arrives_once(processes: Processes, until: Any) -> None:
    """Also of those that go past the tree: each broker is known at the proxy before it."""
    harm = Harm(loss=0.1, duplication=0.05, delay_s_max=0.005)

    async def play() -> None:
        async with (
            fault_proxy(processes.listen["b1"], harm, "1") as first,
            fault_proxy(processes.listen["b2"], harm, "2") as second,
            fault_proxy(processes.listen["b3"], harm, "3") as third,
        ):
            processes.start("b1", {}, first.address)
            processes.start("b2", {"b1": first.address}, second.address)
            processes.start("b3", {"b2": second.address}, third.address)
            for name in ("b1", "b2", "b3"):
                await until(lambda name=name: processes.ready(name))
            async with (
                reknit.connect("127.0.0.1", processes.mqtt["b3"]) as reader,
                reknit.connect("127.0.0.1", processes.mqtt["b1"]) as writer,
                reader.subscribe("news") as news,
            ):
                await until(lambda: processes.know("b1", "news"))
                sent = [str(number).encode() for number in range(150)]
                for payload in sent:
                    await writer.publish("news", payload)
                    await asyncio.sleep(0.003)
                events = aiter(news)
                got = [(await anext(events)).payload for _ in sent]
                assert sorted(got) == sorted(sent)
            assert first.lost + second.lost > 10
            assert third.passed > 0  # answers of b1
            assert (await processes.table("b3"))["recovery"]["recovered"] > 5

    asyncio.run(play())
