"""Metrics: what a scraper reads is what was counted."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
from prometheus_client.parser import text_string_to_metric_families

from reknit.client import connect
from reknit.core.broker import BrokerOptions
from reknit.core.recovery.figures import Figures
from reknit.core.recovery.options import RecoveryOptions
from reknit.live.communities import CommunitiesSection
from reknit.live.config import StoreSection
from reknit.live.process import BrokerPlan, broker_running


def test_a_scraper_reads_what_was_counted(plan: Callable[..., BrokerPlan], until: Any) -> None:
    async def run() -> None:
        async with (
            broker_running(plan("b1", {"b2": ""})) as b1,
            broker_running(plan("b2", {"b1": str(b1.listen)})),
            httpx.AsyncClient(trust_env=False) as http,
        ):
            await until(lambda: not b1.driver.waiting_for())
            async with connect(*b1.mqtt) as client:
                for qos, count in ((0, 2), (1, 3), (2, 1)):
                    for _ in range(count):
                        await client.publish("t", b"x", qos=qos)
                answer = await http.get(f"http://{b1.admin}/metrics")
            assert answer.headers["content-type"].startswith("text/plain")
            found = {
                (sample.name, *sorted(sample.labels.items())): sample.value
                for family in text_string_to_metric_families(answer.text)
                for sample in family.samples
            }
            broker = ("broker", "b1")
            assert found["reknit_packets_received_total", broker, ("packet", "publish")] == 6
            assert [found["reknit_publishes_received_total", broker, ("qos", qos)] for qos in "012"] == [2, 3, 1]
            assert [found["reknit_publishes_sent_total", broker, ("qos", qos)] for qos in "012"] == [0, 0, 0]
            assert found["reknit_packets_sent_total", broker, ("packet", "puback")] == 3
            assert found["reknit_clients", broker] == 1
            assert found["reknit_link_up", broker, ("link", "b2")] == 1
            assert found["reknit_failures_total", broker] == 0
            names = {label for key in found for label, _ in key[1:]}
            assert names <= {"broker", "link", "packet", "qos", "reason"}

    asyncio.run(run())


def test_a_store_is_counted_where_there_is_one(plan: Callable[..., BrokerPlan], tmp_path: Path) -> None:
    async def read(made: BrokerPlan) -> dict[str, float]:
        async with broker_running(made) as running, httpx.AsyncClient(trust_env=False) as http:
            reader, writer = await asyncio.open_connection(*running.mqtt)
            writer.write(b"\x10\x0d\0\4MQTT\4\0\0\0\0\1c")  # a session that lasts
            await reader.readexactly(4)
            text = (await http.get(f"http://{running.admin}/metrics")).text
            writer.close()
        families = text_string_to_metric_families(text)
        return {each.name: each.value for family in families for each in family.samples if "_store_" in each.name}

    assert asyncio.run(read(plan())) == {}
    found = asyncio.run(read(plan(store=StoreSection(path=str(tmp_path / "s")))))
    assert found["reknit_store_commits_total"] == found["reknit_store_entries_kept_total"] == 1
    assert found["reknit_store_commit_seconds_total"] > 0
    assert found["reknit_store_held_bytes"] == found["reknit_store_commits_failed_total"] == 0


def test_what_crosses_to_communities_is_counted_where_a_broker_is_a_member(plan: Callable[..., BrokerPlan]) -> None:
    async def read(section: CommunitiesSection) -> tuple[dict[str, Any], dict[str, float]]:
        async with (
            broker_running(plan("b1", {}, communities=section)) as running,
            httpx.AsyncClient(trust_env=False) as http,
        ):
            async with connect(*running.mqtt) as client:
                await client.publish("soccer", b"x", qos=1)
                await client.publish("tennis", b"x", qos=1)
            await asyncio.sleep(0)
            counted = (await http.get(f"http://{running.admin}/counters")).json()
            text = (await http.get(f"http://{running.admin}/metrics")).text
        families = text_string_to_metric_families(text)
        samples = [each for family in families for each in family.samples if family.name == "reknit_gateway_events"]
        return counted, {each.labels["reason"]: each.value for each in samples}

    counted, found = asyncio.run(read(CommunitiesSection(topics=("soccer",))))
    assert counted["communities"]["gateway"]["to_peers"] == found["to_peers"] == 1
    assert counted["communities"]["gateway"]["refused"] == found["refused"] == 0
    assert counted["communities"]["peer"]["failures"] == 0
    counted, found = asyncio.run(read(CommunitiesSection()))
    assert "communities" not in counted
    assert found == {}


def test_a_scraper_reads_what_recovery_has_counted(plan: Callable[..., BrokerPlan]) -> None:
    """All of its figures, and none where nothing comes back."""

    async def scraped(options: BrokerOptions) -> dict[str, float]:
        async with (
            broker_running(plan("b1", options=options)) as b1,
            httpx.AsyncClient(trust_env=False) as http,
        ):
            if b1.driver.broker.recovery is not None:
                b1.driver.broker.recovery.talk.figures.given_up = 7
            text = (await http.get(f"http://{b1.admin}/metrics")).text
        families = text_string_to_metric_families(text)
        return {each.name: each.value for family in families for each in family.samples if "_recovery_" in each.name}

    found = asyncio.run(scraped(BrokerOptions(recovery=RecoveryOptions(algorithm="auto"))))
    assert found["reknit_recovery_given_up_total"] == 7
    counted = {f"reknit_recovery_{each.name}_total" for each in dataclasses.fields(Figures)}
    assert set(found) == counted | {f"reknit_recovery_{name}" for name in ("missing", "cached", "cached_bytes")}
    assert asyncio.run(scraped(BrokerOptions())) == {}
