"""MQTT through WebSocket: a real client, frames that are cut anywhere, and strangers."""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import os
from collections.abc import Callable
from typing import Any

import aiomqtt

from reknit.live.address import Address
from reknit.live.process import BrokerPlan, RunningBroker, broker_running

ANY = Address("127.0.0.1", 0)
CONNECT = bytes.fromhex("10 0d 0004 4d515454 05 02 003c 00 0000")


def test_a_client_publishes_and_subscribes(plan: Callable[..., BrokerPlan], on_each_loop: Any) -> None:
    async def run() -> None:
        async with broker_running(dataclasses.replace(plan(), doors={"ws": ANY})) as broker:
            at, version = broker.doors["ws"], aiomqtt.ProtocolVersion.V5
            large = b"x" * 300_000
            async with aiomqtt.Client(*at, transport="websockets", protocol=version) as client:
                await client.subscribe("t", 2)
                for payload in (b"1", large, b"3"):
                    await client.publish("t", payload, 2)
                got = []
                async for message in client.messages:
                    got.append(message.payload)
                    if len(got) == 3:
                        break
                assert got == [b"1", large, b"3"]

    on_each_loop(run())


def upgrade(subprotocol: str = "mqtt") -> bytes:
    key = base64.b64encode(os.urandom(16)).decode()
    offered = f"Sec-WebSocket-Protocol: {subprotocol}\r\n" if subprotocol else ""
    return (
        f"GET /mqtt HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n{offered}"
        f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n"
    ).encode()


def frame(data: bytes, opcode: int = 2) -> bytes:
    """Masked with zeros."""
    assert len(data) < 126
    return bytes((0x80 | opcode, 0x80 | len(data), 0, 0, 0, 0)) + data


async def say(broker: RunningBroker, *pieces: bytes) -> bytes:
    reader, writer = await asyncio.open_connection(*broker.doors["ws"])
    for piece in pieces:
        writer.write(piece)
        await writer.drain()
        await asyncio.sleep(0.001)
    writer.write_eof()
    try:
        return await asyncio.wait_for(reader.read(), 10)
    except ConnectionError:
        return b""
    finally:
        writer.close()


def test_a_stream_may_be_cut_anywhere(plan: Callable[..., BrokerPlan]) -> None:
    async def run() -> None:
        async with broker_running(dataclasses.replace(plan(), doors={"ws": ANY})) as broker:
            stream = upgrade() + frame(CONNECT[:5]) + frame(CONNECT[5:]) + frame(b"hi", 9) + frame(b"\xc0\x00")
            answer = await say(broker, *(stream[place : place + 1] for place in range(len(stream))))
            assert answer.startswith(b"HTTP/1.1 101")
            assert b"\x8a\x02hi" in answer  # the pong
            assert answer.rstrip(b"\x88\x02\x03\xe8").endswith(b"\x82\x02\xd0\x00")  # the PINGRESP

    asyncio.run(run())


def test_strangers_are_turned_away_and_counted(plan: Callable[..., BrokerPlan], until: Any) -> None:
    async def run() -> None:
        async with broker_running(dataclasses.replace(plan(), doors={"ws": ANY})) as broker:
            assert b" 400 " in (await say(broker, upgrade("chat"))).partition(b"\r\n")[0]
            assert b" 400 " in (await say(broker, upgrade(""))).partition(b"\r\n")[0]
            assert b"101" not in await say(broker, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert not await say(broker, CONNECT)
            assert not await say(broker, b"GET /" + b"x" * 100_000)
            text = await say(broker, upgrade(), frame(b"text", 1))
            assert text.endswith(b"\x88\x02\x03\xeb")
            await until(lambda: not broker.driver.clients)
            assert broker.driver.counters.websocket_garbage >= 3
            assert broker.driver.counters.failures == 0

    asyncio.run(run())
