"""The page about rings: its network runs, as processes, and does what the page says of it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import re
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest

from reknit.cli._problem import Failed
from reknit.cli.verify_routes import compare
from reknit.client import Refused, connect
from reknit.live.config import read_network_file
from reknit.live.network import Network
from reknit.live.plan import NetworkPlan, plan_network
from tests.ports import ports_in_a_row

PAGE = (Path(__file__).parents[2] / "docs" / "ring.md").read_text(encoding="utf-8")


def planned(directory: Path) -> NetworkPlan:
    (example,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    quick = "\n[options.ring]\nlost_s = 1.0\nhandover_s = 3.0\n"
    ports = f"brokers = 4\nmqtt_base_port = {ports_in_a_row(4)}"
    (directory / "ring.toml").write_text(example.replace("brokers = 4", ports) + quick)
    return plan_network(read_network_file(directory / "ring.toml"), random.Random())


async def table(admin: str) -> dict[str, Any]:
    async with httpx.AsyncClient(trust_env=False) as http:
        found: dict[str, Any] = (await http.get(admin + "/table")).json()
        return found


async def settled(plan: NetworkPlan) -> dict[str, dict[str, Any]]:
    """The tables of all, once they are the ideal ones; or as they are after a while."""
    tables: dict[str, dict[str, Any]] = {}
    for _ in range(15):
        await asyncio.sleep(2.0)
        with contextlib.suppress(httpx.HTTPError):
            tables = {broker.name: await table(broker.admin_url) for broker in plan.brokers}
            if compare(tables) == []:
                break
    return tables


def test_a_ring_runs_and_a_broker_may_die(tmp_path: Path) -> None:
    plan = planned(tmp_path)

    async def run() -> None:
        async with Network(plan, tmp_path, lambda line: None) as network:
            where = [(broker.mqtt.host, broker.mqtt.port) for broker in plan.brokers]
            async with connect(*where[0]) as one, connect(*where[3]) as other, one.subscribe("t/1") as events:
                with pytest.raises(Refused, match="exact topics"):
                    async with one.subscribe("t/#"):
                        pass
                await asyncio.sleep(10.0)
                for number in range(20):
                    if number == 5:
                        os.kill(network.state.broker("b3").pid, signal.SIGKILL)
                    await other.publish("t/1", str(number).encode(), qos=1)
                    await asyncio.sleep(0.05)
                got = [(await asyncio.wait_for(anext(events), 30)).payload for _ in range(20)]
                assert got == [str(number).encode() for number in range(20)]
                tables = await settled(plan)
                assert compare(tables) == []
                assert [each["ring"]["wanted"] for each in tables.values()] == [["t/1"], [], [], []]
                tables["b2"]["ring"]["id"] = tables["b1"]["ring"]["id"]
                with pytest.raises(Failed, match="two places have the ring id"):
                    compare(tables)

    asyncio.run(run())
