"""A broker among clients of ill will: nonsense on every port, a consumer that does not read, sockets that say nothing.

Owns: the three campaigns, and what counts as unharmed: the broker lives, nothing has failed inside, its memory stays
bounded, and a healthy client is served all along. Must not know: how a broker defends itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import resource
import tempfile
import time
import urllib.request
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import aiomqtt
import psutil  # type: ignore[import-untyped]
from rich.progress import Progress

from bench.nonsense import PACKETS_PER_CONNECTION, PORTS, connection
from bench.peers import Peer, free_ports, reknit
from bench.rows import INFORMATION, Row

__all__ = ["run"]

PACKETS = 1_000_000
"""On each port."""
SEED = 2026
CALLERS = 16
"""Connections of ill will at once."""
CALL_S_MAX = 2.0
GROWTH_MB_MAX = 10.0
WARM = 0.1
"""The part of a campaign behind which memory must not grow any more: code is loaded and caches are full by then."""
LOOK_S = 0.2
PING_S = 0.05
PING_S_MAX = 5.0

STALLED_MESSAGES = 50_000
STALLED_BYTES = 200
STALLED_GROWTH_MB_MAX = 16.0

SILENT = 5_000
SILENT_S_MAX = 10.0
_CONFIG = """\
[bounds]
address_connections_per_s_max = 1000000.0
[broker]
ws = "127.0.0.1:{ws}"
relay = "127.0.0.1:{relay}"
"""
"""All of them come from one address here, so that bound would hide the others."""


@dataclass(slots=True)
class _Broker:
    peer: Peer
    ports: dict[str, int]

    def rss_mb(self) -> float:
        return float(sum(psutil.Process(process.pid).memory_info().rss for process in self.peer.processes)) / 1e6

    def failures(self) -> int:
        """What nothing inside has handled."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.ports['admin']}/counters", timeout=10.0) as answer:
            return int(json.load(answer)["shell"]["failures"])

    def connections(self) -> int:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.ports['admin']}/counters", timeout=10.0) as answer:
            return int(json.load(answer)["mqtt"]["connections"])

    @property
    def alive(self) -> bool:
        return all(process.poll() is None for process in self.peer.processes)


@contextlib.contextmanager
def _broker() -> Iterator[_Broker]:
    ws, relay, admin = free_ports(3)
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "abuse.toml"
        file.write_text(_CONFIG.format(ws=ws, relay=relay), encoding="utf-8")
        with reknit("--config", str(file), "--admin", f"127.0.0.1:{admin}") as peer:
            listens = [
                each.laddr.port for each in psutil.Process(peer.processes[0].pid).net_connections() if not each.raddr
            ]
            known = (peer.publish_port, ws, relay, admin)
            (listen,) = (port for port in listens if port not in known)
            ports = {"mqtt": peer.publish_port, "ws": ws, "listen": listen, "relay": relay, "admin": admin}
            yield _Broker(peer, ports)


@dataclass(slots=True)
class _Health:
    """What a client that does no harm has seen."""

    served: int = 0
    slowest_s: float = 0.0
    lost: int = 0
    took_s: list[float] = field(default_factory=list)


@contextlib.asynccontextmanager
async def _healthy(broker: _Broker) -> AsyncIterator[_Health]:
    """Sends itself a message every now and then, all along."""
    health = _Health()
    async with aiomqtt.Client("127.0.0.1", broker.ports["mqtt"], identifier="healthy") as client:
        await client.subscribe("healthy", qos=1)
        task = asyncio.create_task(_ping(client, health))
        try:
            yield health
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def _ping(client: aiomqtt.Client, health: _Health) -> None:
    messages = aiter(client.messages)
    while True:
        began = time.perf_counter()
        try:
            async with asyncio.timeout(PING_S_MAX):
                await client.publish("healthy", b"x", qos=1)
                await anext(messages)
            health.served += 1
            health.slowest_s = max(health.slowest_s, time.perf_counter() - began)
        except (TimeoutError, aiomqtt.MqttError):
            health.lost += 1
        await asyncio.sleep(PING_S)


# --- nonsense


async def _call(port: int, data: bytes) -> None:
    """Say all, hear what comes, until the broker has had enough or there is no more to say."""
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(CALL_S_MAX):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                writer.write(data)
                writer.write_eof()
                while await reader.read(65_536):
                    pass
            finally:
                writer.transport.abort()


async def _nonsense(broker: _Broker, port: str, packets: int, progress: Progress) -> Row:
    connections, rng = packets // PACKETS_PER_CONNECTION, random.Random(f"{SEED}/{port}")
    task = progress.add_task(f"nonsense at {port}", total=connections)
    warm_mb, said = 0.0, 0
    async with _healthy(broker) as health:
        while said < connections and broker.alive:
            some = [_call(broker.ports[port], connection(port, rng)) for _ in range(min(CALLERS, connections - said))]
            await asyncio.gather(*some)
            said += len(some)
            progress.update(task, completed=said)
            if not warm_mb and said >= connections * WARM:
                warm_mb = broker.rss_mb()
        left = await _come_to_rest(broker)
        growth_mb, failures = broker.rss_mb() - warm_mb, broker.failures()
    good = broker.alive and not failures and not health.lost and health.served > 0 and not left
    note = (
        f"{said * PACKETS_PER_CONNECTION:,} packets on {said:,} connections, {failures} unhandled, {left} left behind, "
        f"grew by {growth_mb:.1f} MB; a healthy client was served {health.served} times, {health.lost} times not, "
        f"{health.slowest_s * 1000:.0f} ms at most"
    )
    measured = GROWTH_MB_MAX / max(growth_mb, 0.1) if good else 0.0
    return Row(f"nonsense at {port}", f"{GROWTH_MB_MAX:.0f} MB = 1", 1.0, measured, note)


async def _come_to_rest(broker: _Broker) -> int:
    """How many connections of clients are left beside the healthy one, once those of ill will have had their time."""
    for _ in range(int(SILENT_S_MAX / LOOK_S)):
        if broker.connections() == 1:
            break
        await asyncio.sleep(LOOK_S)
    return broker.connections() - 1


# --- a consumer that does not read


async def _stalled(broker: _Broker, messages: int) -> Row:
    reader, writer = await asyncio.open_connection("127.0.0.1", broker.ports["mqtt"])
    writer.write(_connect("stalled"))
    await reader.readexactly(4)
    writer.write(b"\x82\x06\x00\x01\x00\x01s\x01")
    await reader.readexactly(5)
    writer.transport.pause_reading()  # type: ignore[attr-defined]
    async with (
        aiomqtt.Client("127.0.0.1", broker.ports["mqtt"], identifier="reads") as reads,
        aiomqtt.Client("127.0.0.1", broker.ports["mqtt"], identifier="writes", max_inflight_messages=100) as writes,
    ):
        await reads.subscribe("s", qos=1)
        before_mb, most_mb = broker.rss_mb(), 0.0
        got = asyncio.create_task(_count(reads, messages))
        for number in range(messages):
            await writes.publish("s", number.to_bytes(8, "big") + bytes(STALLED_BYTES - 8), qos=1)
            if number % 1000 == 0:
                most_mb = max(most_mb, broker.rss_mb())
        try:
            async with asyncio.timeout(30.0):
                received = await got
        except TimeoutError:
            received = -1
        growth_mb = max(most_mb, broker.rss_mb()) - before_mb
    writer.transport.abort()
    note = (
        f"grew by {growth_mb:.1f} MB; the other reader got {received:,} of {messages:,} at QoS 1, each once, in order"
    )
    good = received == messages and broker.alive and not broker.failures()
    measured = STALLED_GROWTH_MB_MAX / max(growth_mb, 0.1) if good else 0.0
    return Row(
        f"{messages:,} messages past a consumer that does not read",
        f"{STALLED_GROWTH_MB_MAX:.0f} MB = 1",
        1.0,
        measured,
        note,
    )


async def _count(reads: aiomqtt.Client, messages: int) -> int:
    expected = 0
    async for message in reads.messages:
        assert isinstance(message.payload, bytes)
        if int.from_bytes(message.payload[:8], "big") != expected:
            return -1
        expected += 1
        if expected == messages:
            break
    return expected


def _connect(name: str) -> bytes:
    body = b"\x00\x04MQTT\x04\x02\x00\x00" + len(name).to_bytes(2, "big") + name.encode()
    return b"\x10" + bytes((len(body),)) + body


# --- sockets that say nothing


async def _silent(broker: _Broker, count: int) -> Row:
    async with _healthy(broker) as health:
        await asyncio.sleep(0.5)
        began = time.perf_counter()
        opened = await asyncio.gather(
            *[asyncio.open_connection("127.0.0.1", broker.ports["mqtt"]) for _ in range(count)]
        )
        ends = await asyncio.gather(*[_end_of(reader, began) for reader, _ in opened])
        for _, writer in opened:
            writer.transport.abort()
    slowest_s = max(ends)
    good = broker.alive and not broker.failures() and not health.lost and health.served > 0
    note = (
        f"the last was closed after {slowest_s:.1f} s; a healthy client was served {health.served} times, "
        f"{health.lost} times not, {health.slowest_s * 1000:.0f} ms at most"
    )
    return Row(
        f"{count:,} silent sockets", f"{SILENT_S_MAX:.0f} s = 1", 1.0, SILENT_S_MAX / slowest_s if good else 0.0, note
    )


async def _end_of(reader: asyncio.StreamReader, began: float) -> float:
    try:
        async with asyncio.timeout(3 * SILENT_S_MAX):
            while await reader.read(1024):
                pass
    except OSError:
        pass
    except TimeoutError:
        return float("inf")
    return time.perf_counter() - began


def run(quick: bool = False) -> list[Row]:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    packets, messages, sockets = (20_000, 2_000, 200) if quick else (PACKETS, STALLED_MESSAGES, SILENT)
    rows = []
    with Progress() as progress:
        for port in PORTS:
            with _broker() as broker:
                rows.append(asyncio.run(_nonsense(broker, port, packets, progress)))
    with _broker() as broker:
        rows.append(asyncio.run(_stalled(broker, messages)))
    with _broker() as broker:
        rows.append(asyncio.run(_silent(broker, sockets)))
    return [_as_information(row) for row in rows] if quick else rows


def _as_information(row: Row) -> Row:
    return Row(row.measure, row.peer, INFORMATION, row.measured, row.note)
