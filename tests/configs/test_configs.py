"""The configurations that are shipped for tests from outside: a broker runs with each, and does what it says."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from paho.mqtt.client import CallbackAPIVersion, Client, MQTTv5, MQTTv311
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from reknit.live.address import free_ports
from reknit.live.config import Settings, read_broker_file

CONFIGS = Path(__file__).parents[2] / "configs"
LIMIT_S = 20


@contextmanager
def broker(name: str, directory: Path) -> Iterator[int]:
    """The shipped file, at other ports; its MQTT port."""
    text = (CONFIGS / name).read_text()
    ports = iter(free_ports("127.0.0.1", 3))
    text = re.sub(r"127\.0\.0\.1:\d+", lambda _: f"127.0.0.1:{next(ports)}", text)
    (directory / name).write_text(text)
    section = read_broker_file(directory / name).broker
    command = [sys.executable, "-m", "reknit", "broker", "--config", str(directory / name)]
    process = subprocess.Popen(command, cwd=directory, stderr=subprocess.DEVNULL)
    try:
        until_ready(f"http://{section.admin}/readyz", process)
        yield int(section.mqtt.rpartition(":")[2])
    finally:
        process.terminate()
        process.wait(timeout=LIMIT_S)


def until_ready(url: str, process: subprocess.Popen[bytes]) -> None:
    while True:
        try:
            if httpx.get(url, trust_env=False).status_code == 200:
                return
        except httpx.HTTPError:
            pass
        assert process.poll() is None
        time.sleep(0.05)


class Guest:
    """A client of another make."""

    def __init__(self, port: int, protocol: int = MQTTv5, keep_alive_s: int = 600, aliases: int = 5) -> None:
        self.connack: Any = None
        self.granted: list[Any] = []
        self.heard: list[tuple[str, Any]] = []
        self.client = Client(CallbackAPIVersion.VERSION2, "guest", protocol=protocol)  # type: ignore[arg-type]
        self.client.on_connect = lambda *got: setattr(self, "connack", got[4])
        self.client.on_subscribe = lambda *got: self.granted.append(got[3])
        self.client.on_message = lambda _, __, message: self.heard.append((message.topic, message.properties))
        wishes = None
        if protocol == MQTTv5:
            wishes = Properties(PacketTypes.CONNECT)
            wishes.TopicAliasMaximum = aliases
        self.client.connect("127.0.0.1", port, keep_alive_s, properties=wishes)
        self.until(lambda: self.connack is not None)

    def until(self, done: Any) -> None:
        limit = time.monotonic() + LIMIT_S
        while not done():
            assert time.monotonic() < limit
            self.client.loop(0.05)

    def subscribe(self, topic: str) -> int:
        self.granted.clear()
        self.client.subscribe(topic, 1)
        self.until(lambda: self.granted)
        return int(self.granted[0][0].value)


def test_conformance(tmp_path: Path) -> None:
    with broker("conformance.toml", tmp_path) as port:
        guest = Guest(port)
        said = json.loads(json.dumps(guest.connack.json()))
        assert (said["ServerKeepAlive"], said["ReceiveMaximum"]) == (60, 20)
        assert guest.subscribe("test/nosubscribe") == 0x80
        assert guest.subscribe("test/#") == 1
        for _ in range(2):
            guest.client.publish("test/nosubscribe", b"x")
        guest.until(lambda: len(guest.heard) == 2)
        # Named once with its number, and by the number alone from then on.
        assert [(topic, each.TopicAlias) for topic, each in guest.heard] == [("test/nosubscribe", 1), ("", 1)]
        old = Guest(port, MQTTv311)
        assert (old.subscribe("test/nosubscribe"), old.subscribe("test/x")) == (0x80, 1)


def test_conformance_leaves_a_short_keep_alive_as_it_is(tmp_path: Path) -> None:
    with broker("conformance.toml", tmp_path) as port:
        assert not hasattr(Guest(port, keep_alive_s=30).connack, "ServerKeepAlive")


def test_default(tmp_path: Path) -> None:
    assert read_broker_file(CONFIGS / "default.toml").settings == Settings()
    with broker("default.toml", tmp_path) as port:
        guest = Guest(port)
        assert not hasattr(guest.connack, "ServerKeepAlive")
        assert guest.connack.ReceiveMaximum == 20
        assert guest.subscribe("test/nosubscribe") == 1
        for _ in range(2):
            guest.client.publish("test/nosubscribe", b"x")
        guest.until(lambda: len(guest.heard) == 2)
        assert [(topic, hasattr(each, "TopicAlias")) for topic, each in guest.heard] == [
            ("test/nosubscribe", False)
        ] * 2


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.toml")), ids=lambda path: path.name)
def test_each_says_how_it_is_used(path: Path) -> None:
    assert f"#   reknit broker --config configs/{path.name}\n" in path.read_text()
    assert read_broker_file(path).broker.name
