"""gmqtt, played by lines of JSON: one command a line in, one happening a line out."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import gmqtt  # type: ignore[import-not-found]
from gmqtt.mqtt.constants import MQTTv50, MQTTv311  # type: ignore[import-not-found]

LASTING_S = 3600

heard: dict[tuple[str, bytes], None] = {}
"""What has come at QoS 2: gmqtt keeps no list of that, and hands a repetition on, though it is marked as one."""


def say(**what: Any) -> None:
    print(json.dumps(what), flush=True)


def _message(client: Any, topic: str, payload: bytes, qos: int, properties: dict[str, Any]) -> int:
    if qos == 2 and properties["dup"] and (topic, payload) in heard:
        return 0
    if qos == 2:
        heard[topic, payload] = None
    retain = bool(properties.get("retain"))
    say(event="message", topic=topic, payload=payload.decode(), qos=qos, retain=retain)
    return 0


async def connect(port: int, identifier: str, clean: bool, version: int, will: dict[str, Any] | None) -> Any:
    more: dict[str, Any] = {} if version != 5 or clean else {"session_expiry_interval": LASTING_S}
    message = gmqtt.Message(will["topic"], will["payload"], will["qos"], will["retain"]) if will else None
    client = gmqtt.Client(identifier, clean_session=clean, will_message=message, **more)
    client.on_message = _message
    client.on_connect = lambda *rest: say(event="connected")
    client.on_subscribe = lambda *rest: say(event="subscribed")
    client.on_disconnect = lambda *rest, **names: say(event="disconnected")
    await client.connect("127.0.0.1", port, version=MQTTv50 if version == 5 else MQTTv311)
    return client


async def published(client: Any, command: dict[str, Any]) -> None:
    """It has no word for an acknowledgement, so look into what it keeps for repetitions."""
    client.publish(command["topic"], command["payload"], qos=command["qos"], retain=command["retain"])
    for _ in range(3000):
        if client._persistent_storage.is_empty:
            break
        await asyncio.sleep(0.01)
    say(event="published")


async def play() -> None:
    loop = asyncio.get_running_loop()
    client: Any = None
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        command = json.loads(line)
        match command.pop("do"):
            case "connect":
                client = await connect(**command)
            case "subscribe":
                client.subscribe(command["topic"], qos=command["qos"])
            case "publish":
                await published(client, command)
            case "disconnect":
                await client.disconnect()


asyncio.run(play())
