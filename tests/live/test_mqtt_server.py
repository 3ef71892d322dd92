"""The clients' door on real sockets: garbage harms nobody, and a client that does not read stalls nobody."""

from __future__ import annotations

import asyncio
import random
import socket
import struct
from collections.abc import Callable
from typing import Any

from reknit.client import connect
from reknit.live.config import Bounds
from reknit.live.look import count
from reknit.live.process import BrokerPlan, RunningBroker, broker_running

CONNECT_5 = bytes.fromhex("10 13 0004 4d515454 05 02 003c 00 0006") + b"tester"
SUBSCRIBE_T = bytes.fromhex("82 07 0001 00 0001 74 00")


async def throw(broker: RunningBroker, data: bytes) -> bytes:
    reader, writer = await asyncio.open_connection(*broker.mqtt)
    try:
        writer.write(data)
        writer.write_eof()
        return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


def test_garbage_ends_the_connection_and_is_counted(
    plan: Callable[..., BrokerPlan], until: Any, on_each_loop: Any
) -> None:
    chance = random.Random(11)
    garbage = [chance.randbytes(chance.randrange(1, 200)) for _ in range(30)]
    garbage += [CONNECT_5 + chance.randbytes(chance.randrange(1, 60)) for _ in range(30)]
    garbage += [CONNECT_5[:cut] for cut in range(len(CONNECT_5))]

    async def run() -> None:
        async with broker_running(plan()) as broker:
            await asyncio.gather(*(throw(broker, data) for data in garbage))
            await until(lambda: not broker.driver.clients)
            counted = count(broker.driver)
            assert counted["shell"]["clients_accepted"] == len(garbage)
            assert counted["shell"]["failures"] == 0
            assert counted["mqtt"]["malformed"] + sum(counted["mqtt"]["refused"].values()) > 0
            async with connect(*broker.mqtt) as client, client.subscribe("t") as events:
                await client.publish("t", b"still here")
                assert (await anext(events)).payload == b"still here"

    on_each_loop(run())


def test_why_a_connection_ends_is_read_by_a_client_that_goes_on_sending(
    plan: Callable[..., BrokerPlan], on_each_loop: Any
) -> None:
    """What comes after the end must not reset the connection, for then its reason would be lost."""

    async def run() -> None:
        async with broker_running(plan()) as broker:
            reader, writer = await asyncio.open_connection(*broker.mqtt)
            writer.write(CONNECT_5 + SUBSCRIBE_T + b"\xf0\x00")  # an AUTH that nobody has asked for
            await reader.readexactly(1)
            for _ in range(10):
                writer.write(b"\xc0\x00")
                await writer.drain()
                await asyncio.sleep(0.01)
            assert (await reader.read()).find(b"\x8c") > 0  # bad authentication method
            writer.close()

    on_each_loop(run())


def test_a_client_that_has_reset_its_connection_is_let_go(
    plan: Callable[..., BrokerPlan], until: Any, on_each_loop: Any
) -> None:
    """Before anybody has heard of it: there is nobody left to tell why it ends."""

    async def run() -> None:
        async with broker_running(plan()) as broker:
            client = socket.create_connection(broker.mqtt)
            client.sendall(CONNECT_5)
            await until(lambda: len(broker.driver.clients) == 1)
            (protocol,) = broker.driver.clients.values()
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.close()
            protocol.close(lingers=True)
            await until(lambda: not broker.driver.clients)

    on_each_loop(run())


def test_a_client_that_never_reads_stalls_nobody_and_is_cut(plan: Callable[..., BrokerPlan], on_each_loop: Any) -> None:
    bounds = Bounds(client_buffer_bytes_max=100_000, client_stall_s_max=0.3)

    async def run() -> None:
        async with broker_running(plan(bounds=bounds)) as broker:
            reader, writer = await asyncio.open_connection(*broker.mqtt, limit=1024)
            writer.write(CONNECT_5 + SUBSCRIBE_T)
            await reader.readexactly(8)
            async with connect(*broker.mqtt) as client, client.subscribe("t") as events:
                counters, taken = broker.driver.counters, 0
                while not counters.clients_too_slow:
                    await client.publish("t", bytes(50_000))
                    assert len((await anext(events)).payload) == 50_000
                    taken += 1
                assert counters.clients_paused >= 1
                assert taken > 2
            writer.close()

    on_each_loop(run())
