"""Broker processes whose links lose datagrams, and recovery that chooses by itself: what arrives within five seconds?

Owns: the network, the load, and the rows. Must not know: how events come back.

Each broker is a process of its own, and before each stands a proxy that loses a share of all datagrams, in both
directions: of links, and of what goes past the tree. At each broker one client wants some topics and publishes to all.
Loss begins when everybody's wishes are known everywhere. Whatever comes is noted with its delay; the messages are what
the brokers tell their operators. One network serves all shares of loss, one after the other: to start it takes longest.
A few brokers start at a time, and one that ends says why.
"""

from __future__ import annotations

import asyncio
import math
import random
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from bench.rows import Row
from reknit.client import Client, Subscription, connect
from reknit.core.overlay.shapes import Edge, names, shape_edges
from reknit.live.address import Address, free_ports
from reknit.live.faults import FaultProxy, Harm, fault_proxy

__all__ = ["run"]

HOST = "127.0.0.1"
TARGETS = {0.05: 0.9999, 0.1: 0.999, 0.2: 0.999, 0.3: 0.99}
"""By the share that is lost: what has to arrive in time."""
IN_TIME_S = 5.0
MESSAGES_MAX = 2.0
READY_S_MAX = 120.0
PAYLOAD = struct.Struct("!HHId")
STARTING_MAX = 4
"""Brokers that start at a time: all at once keep each other from it."""


@dataclass(frozen=True, slots=True)
class _Size:
    brokers: int
    losses: tuple[float, ...]
    events_per_s: float
    """Of each broker."""
    span_s: float
    topics: int = 12
    topics_per_client: int = 2


WHOLE = _Size(30, tuple(TARGETS), 5.0, 20.0)
QUICK = _Size(4, (0.1,), 10.0, 3.0, topics=3)


@dataclass(slots=True)
class _Heard:
    span: int = 0
    """Which share of loss this is about: what comes from before counts no more."""
    owed: int = 0
    in_time: int = 0
    late: int = 0
    twice: int = 0
    known: dict[tuple[str, int, int], None] = field(default_factory=dict)

    def note(self, client: str, payload: bytes) -> None:
        span, publisher, number, at = PAYLOAD.unpack(payload)
        if span != self.span:
            return
        if (client, publisher, number) in self.known:
            self.twice += 1
            return
        self.known[client, publisher, number] = None
        if time.monotonic() - at <= IN_TIME_S:
            self.in_time += 1
        else:
            self.late += 1


def run(quick: bool = False) -> list[Row]:
    size = QUICK if quick else WHOLE
    with tempfile.TemporaryDirectory(prefix="reknit-bench-") as name:
        try:
            return asyncio.run(_measured(size, Path(name)))
        except NotReady as error:
            return [Row("loss: delivered within 5 s", "all", 1.0, math.nan, str(error))]


async def _measured(size: _Size, directory: Path) -> list[Row]:
    wants, rows, ears = _wishes(size), list[Row](), [_Heard()]
    async with _network(size, directory) as network, AsyncExitStack() as clients:
        tasks = []
        writers = []
        for name, topics in wants.items():
            client = await clients.enter_async_context(connect(HOST, network.mqtt[name]))
            writers.append(client)
            for topic in topics:
                news = await clients.enter_async_context(client.subscribe(topic))
                tasks.append(asyncio.create_task(_listen(name, news, ears)))
        await network.until_known({topic for topics in wants.values() for topic in topics})
        for span, loss in enumerate(size.losses):
            ears[0] = _Heard(span)
            rows += await _under_loss(size, loss, network, writers, ears[0])
        for task in tasks:
            task.cancel()
    return rows


async def _under_loss(size: _Size, loss: float, network: _Network, writers: list[Client], heard: _Heard) -> list[Row]:
    wants = _wishes(size)
    network.lose(loss)
    before = await network.figures()
    await asyncio.gather(*(_speak(size, place, client, wants, heard) for place, client in enumerate(writers)))
    await asyncio.sleep(IN_TIME_S + 1.0)
    after = await network.figures()
    network.lose(0.0)
    await asyncio.sleep(IN_TIME_S)  # what is still missing comes back, and is not taken for the next share's
    return _rows(loss, heard, {name: after[name] - before[name] for name in after})


def _rows(loss: float, heard: _Heard, spent: dict[str, int]) -> list[Row]:
    """Where nothing has come back, nothing was lost, or nothing is recovered: then no price is met."""
    share = heard.in_time / heard.owed
    messages = spent["gossip"] + spent["requests"] + spent["repairs"]
    price = messages / spent["recovered"] if spent["recovered"] else math.inf
    lost = f"{100 * loss:g} % lost"
    came = f"{heard.in_time} of {heard.owed} in time, {heard.late} later, {heard.twice} twice"
    cost = f"{price:.2f} for each of {spent['recovered']} that came back; {spent['heartbeats']} heartbeats; "
    cost += f"{spent['datagrams_lost']} datagrams were lost"
    return [
        Row(f"loss: delivered within 5 s, {lost}", f"{100 * TARGETS[loss]:g} %", 1.0, share / TARGETS[loss], came),
        Row(f"loss: nothing twice, {lost}", "once", 1.0, 0.0 if heard.twice else 1.0),
        Row(f"loss: messages, {lost}", f"{MESSAGES_MAX:g}", 1.0, MESSAGES_MAX / price if price else 1.0, cost),
    ]


def _wishes(size: _Size) -> dict[str, list[str]]:
    rng = random.Random(f"{size.brokers}")
    topics = [f"t{number}" for number in range(size.topics)]
    return {name: rng.sample(topics, size.topics_per_client) for name in names(size.brokers)}


async def _speak(size: _Size, place: int, client: Client, wants: dict[str, list[str]], heard: _Heard) -> None:
    """At times and to topics drawn by seed."""
    rng = random.Random(f"{place}")
    ends, number = time.monotonic() + size.span_s, 0
    while time.monotonic() < ends:
        await asyncio.sleep(rng.expovariate(size.events_per_s))
        topic = f"t{rng.randrange(size.topics)}"
        number += 1
        heard.owed += sum(topic in topics for topics in wants.values())
        await client.publish(topic, PAYLOAD.pack(heard.span, place, number, time.monotonic()))


async def _listen(name: str, news: Subscription, ears: list[_Heard]) -> None:
    """``ears``: the one that counts now."""
    async for event in news:
        ears[0].note(name, event.payload)


# --- the network


class NotReady(Exception):
    """The network did not start; says why, as far as that is known."""


class _Network:
    def __init__(self, directory: Path, members: list[str], edges: list[Edge]) -> None:
        ports = free_ports(HOST, 3 * len(members))
        self.members = members
        self.edges = edges
        self.directory = directory
        self.mqtt = dict(zip(members, ports[0::3], strict=True))
        self.listen = {name: Address(HOST, port) for name, port in zip(members, ports[1::3], strict=True)}
        self.admin = dict(zip(members, ports[2::3], strict=True))
        self.proxies: dict[str, FaultProxy] = {}
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.http = httpx.AsyncClient(trust_env=False, timeout=30.0)

    def start(self, name: str) -> None:
        """Of two neighbours the later one dials, the proxy before the other one."""
        around = [edge[1] if edge[0] == name else edge[0] for edge in self.edges if name in edge]
        order = self.members.index
        links = {each: str(self.proxies[each].address) if order(each) < order(name) else "" for each in around}
        path = self.directory / f"{name}.toml"
        path.write_text(
            f'[broker]\nname = "{name}"\nmqtt = "{HOST}:{self.mqtt[name]}"\nlisten = "{self.listen[name]}"\n'
            f'known_at = "{self.proxies[name].address}"\nadmin = "{HOST}:{self.admin[name]}"\n'
            "[options]\nfounded = true\n[options.links]\nloose = true\nretransmit_s = 0.1\n"
            '[options.recovery]\nalgorithm = "auto"\n[neighbours]\n'
            + "".join(f'{other} = "{address}"\n' for other, address in links.items())
        )
        words = [sys.executable, "-m", "reknit", "broker", "--config", str(path)]
        with (self.directory / f"{name}.err").open("ab") as err:
            self.running[name] = subprocess.Popen(words, stderr=err)

    def lose(self, loss: float) -> None:
        for proxy in self.proxies.values():
            proxy.harm = Harm(loss=loss)

    async def start_all(self) -> None:
        """Few at a time: a broker's door opens when it has started, whether its neighbours are there or not."""
        starting: list[str] = []
        for name in self.members:
            self.start(name)
            starting.append(name)
            if len(starting) >= STARTING_MAX:
                await self._until(starting.pop(0), lambda _: True)
        await self.until_ready()

    async def table(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = (await self.http.get(f"http://{HOST}:{self.admin[name]}/table")).json()
        return found

    async def until_ready(self) -> None:
        for name in self.members:
            await self._until(name, lambda table: bool(table["ready"]))

    async def until_known(self, topics: set[str]) -> None:
        for name in self.members:
            await self._until(name, lambda table: topics <= {each["topic"] for each in table["entries"]})

    async def _until(self, name: str, holds: Any) -> None:
        ends = time.monotonic() + READY_S_MAX
        while time.monotonic() < ends:
            try:
                if holds(await self.table(name)):
                    return
            except httpx.HTTPError:
                pass  # its door is not open yet
            if (code := self.running[name].poll()) is not None:
                raise NotReady(f"{name} ended with code {code}: {self._last_words(name)}")
            await asyncio.sleep(0.1)
        raise NotReady(f"{name} is not ready after {READY_S_MAX:g} s: {self._last_words(name)}")

    def _last_words(self, name: str) -> str:
        lines = (self.directory / f"{name}.err").read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it has said nothing"

    async def figures(self) -> dict[str, int]:
        """Of all brokers together, and of the proxies before them."""
        names_ = ("gossip", "requests", "repairs", "recovered", "heartbeats")
        tables = [(await self.table(name))["recovery"] for name in self.members]
        figures = {name: sum(table[name] for table in tables) for name in names_}
        return figures | {"datagrams_lost": sum(proxy.lost for proxy in self.proxies.values())}

    async def stop(self) -> None:
        await self.http.aclose()
        for process in self.running.values():
            process.terminate()
        for process in self.running.values():
            try:
                await asyncio.to_thread(process.wait, 30)
            except subprocess.TimeoutExpired:
                process.kill()


@asynccontextmanager
async def _network(size: _Size, directory: Path) -> AsyncIterator[_Network]:
    members = names(size.brokers)
    network = _Network(directory, members, shape_edges("random", members, random.Random("loss")))
    async with AsyncExitStack() as stack:
        for name in members:
            proxy = fault_proxy(network.listen[name], Harm(), name)
            network.proxies[name] = await stack.enter_async_context(proxy)
        stack.push_async_callback(network.stop)
        await network.start_all()
        yield network
