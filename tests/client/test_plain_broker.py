"""The client on a plain MQTT broker: topics and attributes work there as well; selectors are reknit's."""

from __future__ import annotations

import asyncio
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator

import pytest

from reknit.client import connect
from reknit.live.address import free_ports

MOSQUITTO = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin")


@pytest.fixture
def port() -> Iterator[int]:
    if MOSQUITTO is None:
        pytest.skip("mosquitto is not installed")
    chosen = free_ports("127.0.0.1", 1)[0]
    process = subprocess.Popen([MOSQUITTO, "-p", str(chosen)], stderr=subprocess.DEVNULL)
    while True:
        try:
            socket.create_connection(("127.0.0.1", chosen)).close()
            break
        except OSError:
            assert process.poll() is None
            time.sleep(0.02)
    yield chosen
    process.terminate()
    process.wait()


def test_topics_and_typed_attributes(port: int) -> None:
    async def run() -> None:
        async with (
            connect("127.0.0.1", port) as client,
            client.subscribe("a/+") as one,
            client.subscribe("b", qos=1) as other,
        ):
            await client.publish("a/x", b"1", n=3, region="eu")
            await client.publish("b", b"2", qos=1)
            first, second = await anext(one), await anext(other)
        assert (first.topic, first.payload, first.attributes) == ("a/x", b"1", {"n": 3, "region": "eu"})
        assert (second.payload, second.qos) == (b"2", 1)

    asyncio.run(run())
