"""The page about rings: its network runs, as processes, and does what the page says of it."""

from __future__ import annotations

import asyncio
import contextlib
import os
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
from reknit.model.ring import ring_id
from reknit.planning.ring import Ring
from tests.ports import ports_in_a_row

PAGE = (Path(__file__).parents[2] / "docs" / "ring.md").read_text(encoding="utf-8")


FOUNDED, RESTLESS, PLACING = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)


def planned(directory: Path) -> NetworkPlan:
    quick = "\n[options.ring]\nlost_s = 1.0\nhandover_s = 3.0\n"
    ports = f"brokers = 4\nmqtt_base_port = {ports_in_a_row(4)}"
    (directory / "ring.toml").write_text(FOUNDED.replace("brokers = 4", ports) + quick)
    return plan_network(read_network_file(directory / "ring.toml"))


async def table(admin: str) -> dict[str, Any]:
    async with httpx.AsyncClient(trust_env=False) as http:
        found: dict[str, Any] = (await http.get(admin + "/table")).json()
        return found


async def settled(plan: NetworkPlan) -> dict[str, dict[str, Any]]:
    """The tables of all, once they are the ideal ones; or as they are after a while."""
    tables: dict[str, dict[str, Any]] = {}
    for _ in range(150):
        await asyncio.sleep(0.2)
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
                assert compare(await settled(plan)) == []
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


def restless(directory: Path) -> NetworkPlan:
    """The page's ring that places its brokers by itself; soon."""
    soon = RESTLESS.replace("free_s = 3600.0", "free_s = 4.0\nreport_s = 0.5")
    assert soon != RESTLESS
    text = f"[network]\nbrokers = 4\nmqtt_base_port = {ports_in_a_row(4)}\n{soon}"
    (directory / "ring.toml").write_text(text)
    return plan_network(read_network_file(directory / "ring.toml"))


def test_placement_is_set_as_the_page_says(tmp_path: Path) -> None:
    (tmp_path / "ring.toml").write_text(f"[network]\nbrokers = 2\n{PLACING}")
    assert read_network_file(tmp_path / "ring.toml").options.placement.update_s == 10.0


def topic_rooted_elsewhere_than(name: str, names: list[str]) -> str:
    ring = Ring([ring_id(each) for each in names])
    place = ring.ids.index(ring_id(name))
    return next(topic for topic in map(str, range(100)) if len(ring.route(ring.owner(ring_id(topic)), place)) > 1)


@pytest.mark.long
def test_brokers_change_places_by_themselves_while_events_flow(tmp_path: Path) -> None:
    plan = restless(tmp_path)
    topic = topic_rooted_elsewhere_than(plan.brokers[0].name, [broker.name for broker in plan.brokers])

    async def run() -> None:
        async with Network(plan, tmp_path, lambda line: None):
            where = [(broker.mqtt.host, broker.mqtt.port) for broker in plan.brokers]
            async with connect(*where[0]) as reader, connect(*where[3]) as writer, reader.subscribe(topic) as events:
                before = await settled(plan)
                for sent in range(1000):
                    await writer.publish(topic, str(sent).encode(), qos=1)
                    assert int((await asyncio.wait_for(anext(events), 20.0)).payload) == sent  # none lost, none twice
                    await asyncio.sleep(0.02)
                    if sent % 50 == 49 and len(await versions(plan)) == 1 and await versions(plan) != {1}:
                        break
                after = await settled(plan)
                assert compare(after) == []
        home = plan.brokers[0].name
        assert {each["ring"]["version"] for each in before.values()} == {1}
        assert after[home]["ring"]["id"] != before[home]["ring"]["id"]

    asyncio.run(run())


async def versions(plan: NetworkPlan) -> set[int]:
    return {(await table(broker.admin_url))["ring"]["version"] for broker in plan.brokers}
