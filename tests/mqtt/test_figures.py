"""The figures have mosquitto's names: what reads its $SYS tree reads ours."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from reknit.live.address import Address, free_ports
from reknit.live.config import MqttSection, Settings
from reknit.live.process import BrokerPlan, broker_running
from reknit.mqtt.figures import figures
from reknit.mqtt.options import DoorCounters

MOSQUITTO = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin")
SUB = shutil.which("mosquitto_sub")
ANY = Address("127.0.0.1", 0)


def test_totals_are_those_of_the_counters() -> None:
    counters = DoorCounters(bytes_received=7, accepted=3)
    counters.received.update(Publish=2, Connect=1)
    counters.dropped.update({"expired": 1, "queue full": 4})
    found = figures(counters, {}, 5, "1.2")
    assert found.total["messages/received"] == 3
    assert found.total["publish/messages/dropped"] == found.loads["publish/dropped"] == 5
    assert (found.loads["sockets"], found.loads["connections"], found.now["retained messages/count"]) == (3, 1, 5)


def topics(port: int, enough: int, wait_s: int = 15) -> dict[str, str]:
    words = [str(SUB), "-p", str(port), "-t", "$SYS/#", "-C", str(enough), "-W", str(wait_s), "-F", "%t=%p"]
    out = subprocess.run(words, capture_output=True, text=True, timeout=30, check=False).stdout
    return dict(line.split("=", 1) for line in out.splitlines())


@pytest.mark.skipif(not MOSQUITTO or not SUB, reason="mosquitto is not installed")
def test_every_topic_is_one_of_mosquittos(tmp_path: Path) -> None:
    port = free_ports("127.0.0.1", 1)[0]
    (tmp_path / "conf").write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\nsys_interval 1\n")
    process = subprocess.Popen([str(MOSQUITTO), "-c", str(tmp_path / "conf")], stderr=subprocess.DEVNULL)
    try:
        theirs: dict[str, str] = {}
        until = time.monotonic() + 30
        ours = asyncio.run(_ours())
        # It says a thing once there is something to say of it.
        while not set(ours) <= set(theirs) and time.monotonic() < until:
            subprocess.run(["mosquitto_pub", "-p", str(port), "-t", "a", "-m", "x", "-r"], check=False)
            theirs |= topics(port, 100, 2)
    finally:
        process.terminate()
        process.wait(timeout=30)
    assert set(ours) - set(theirs) <= set()
    assert ours["$SYS/broker/clients/connected"] == "1"
    assert ours["$SYS/broker/version"].startswith("reknit version ")
    assert ours["$SYS/broker/uptime"].endswith(" seconds")


async def _ours() -> dict[str, str]:
    settings = Settings(mqtt=MqttSection(sys_interval_s=0.2))
    async with broker_running(BrokerPlan("b1", ANY, ANY, settings=settings)) as broker:
        # All at once, and then what changes when a client is there.
        found = await asyncio.to_thread(topics, broker.mqtt.port, 60)
        assert broker.driver.counters.failures == 0
        return found


def test_there_is_none_where_it_is_switched_off() -> None:
    async def run() -> int:
        settings = Settings(mqtt=MqttSection(sys_interval_s=0))
        async with broker_running(BrokerPlan("b1", ANY, ANY, settings=settings)) as broker:
            await asyncio.sleep(0)
            return len(broker.driver.door._bulletin)

    assert asyncio.run(run()) == 0
