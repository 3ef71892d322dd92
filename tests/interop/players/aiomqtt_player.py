"""aiomqtt, played by lines of JSON: one command a line in, one happening a line out."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from contextlib import AsyncExitStack
from typing import Any

import aiomqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

LASTING_S = 3600


def say(**what: Any) -> None:
    print(json.dumps(what), flush=True)


async def listen(client: aiomqtt.Client) -> None:
    async for message in client.messages:
        payload = bytes(message.payload).decode()  # type: ignore[arg-type]
        say(event="message", topic=str(message.topic), payload=payload, qos=message.qos, retain=message.retain)


def make(port: int, identifier: str, clean: bool, version: int, will: dict[str, Any] | None) -> aiomqtt.Client:
    options: dict[str, Any] = {"will": aiomqtt.Will(**will) if will else None}
    if version == 5:
        properties = Properties(PacketTypes.CONNECT)
        if not clean:
            properties.SessionExpiryInterval = LASTING_S
        options |= {"protocol": aiomqtt.ProtocolVersion.V5, "clean_start": clean, "properties": properties}
    else:
        options |= {"protocol": aiomqtt.ProtocolVersion.V311, "clean_session": clean}
    return aiomqtt.Client("127.0.0.1", port, identifier=identifier, **options)


async def play() -> None:
    loop = asyncio.get_running_loop()
    stack: AsyncExitStack = AsyncExitStack()
    listener: asyncio.Task[None] | None = None
    client: Any = None
    lasting: dict[str, Any] = {}  # a session has two ends: half of an exchange at QoS 2 is known to the client alone
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        command = json.loads(line)
        match command.pop("do"):
            case "connect":
                client = (lasting.get(command["identifier"]) if not command["clean"] else None) or make(**command)
                lasting[command["identifier"]] = client
                await stack.enter_async_context(client)
                listener = asyncio.create_task(listen(client))
                say(event="connected")
            case "subscribe":
                await client.subscribe(command["topic"], qos=command["qos"])
                say(event="subscribed")
            case "publish":
                await client.publish(command["topic"], command["payload"], command["qos"], command["retain"])
                say(event="published")
            case "disconnect":
                assert listener is not None
                await stack.aclose()
                with contextlib.suppress(aiomqtt.MqttError):  # it has ended, once all that was acknowledged is said
                    await listener
                say(event="disconnected")


asyncio.run(play())
