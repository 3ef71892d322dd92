"""A client that is not ours reads what the door answers."""

from __future__ import annotations

import asyncio
import shutil
import subprocess

import pytest

from reknit.live.address import Address
from reknit.live.process import BrokerPlan, broker_running

MOSQUITTO_SUB = shutil.which("mosquitto_sub")


@pytest.mark.skipif(MOSQUITTO_SUB is None, reason="mosquitto_sub is not installed")
def test_mosquitto_sub_takes_a_refusal_for_one() -> None:
    """It closes a connection over a control character in a reason, connects again, and is refused for ever."""

    async def main() -> tuple[subprocess.CompletedProcess[str], int]:
        anywhere = Address("127.0.0.1", 0)
        async with broker_running(BrokerPlan("b1", anywhere, anywhere)) as broker:
            words = [MOSQUITTO_SUB or "", "-p", str(broker.mqtt.port), "-V", "mqttv5", "-t", "t", "-W", "10"]
            words += ["-D", "subscribe", "user-property", "selector", "severity >>= 3"]
            ended = await asyncio.to_thread(subprocess.run, words, capture_output=True, text=True, timeout=30)
            return ended, broker.driver.count()["mqtt"]["accepted"]

    ended, connections = asyncio.run(main())
    assert "denied" in ended.stderr
    assert connections == 1
