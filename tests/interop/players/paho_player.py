"""paho-mqtt, played by lines of JSON: one command a line in, one happening a line out."""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

LASTING_S = 3600
_lock = threading.Lock()


def say(**what: Any) -> None:
    with _lock:
        print(json.dumps(what), flush=True)


def _message(client: Any, userdata: Any, message: Any) -> None:
    say(event="message", topic=message.topic, payload=message.payload.decode(), qos=message.qos, retain=message.retain)


_lasting: dict[str, mqtt.Client] = {}
"""A session has two ends: half of an exchange at QoS 2 is known to the client alone, so it has to be the same one."""


def connect(port: int, identifier: str, clean: bool, version: int, will: dict[str, Any] | None) -> mqtt.Client:
    five = version == 5
    client = _lasting.get(identifier) if not clean else None
    client = _lasting[identifier] = client or make(identifier, clean, five)
    if will:
        client.will_set(will["topic"], will["payload"], will["qos"], will["retain"])
    properties = Properties(PacketTypes.CONNECT) if five else None
    if properties is not None and not clean:
        properties.SessionExpiryInterval = LASTING_S
    options = {"clean_start": clean, "properties": properties} if five else {}
    client.connect("127.0.0.1", port, **options)
    client.loop_start()
    return client


def make(identifier: str, clean: bool, five: bool) -> mqtt.Client:
    protocol = MQTTProtocolVersion.MQTTv5 if five else MQTTProtocolVersion.MQTTv311
    more = {} if five else {"clean_session": clean}
    client = mqtt.Client(CallbackAPIVersion.VERSION2, client_id=identifier, protocol=protocol, **more)
    client.on_message = _message
    client.on_connect = lambda *rest: say(event="connected")
    client.on_subscribe = lambda *rest: say(event="subscribed")
    client.on_disconnect = lambda *rest: say(event="disconnected")
    return client


def main() -> None:
    client: Any = None
    for line in sys.stdin:
        command = json.loads(line)
        match command.pop("do"):
            case "connect":
                client = connect(**command)
            case "subscribe":
                client.subscribe(command["topic"], command["qos"])
            case "publish":
                info = client.publish(command["topic"], command["payload"], command["qos"], command["retain"])
                info.wait_for_publish(30)
                say(event="published")
            case "disconnect":
                client.disconnect()
                client.loop_stop()


main()
