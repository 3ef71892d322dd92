"""Metrics: what a scraper reads is what was counted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
from prometheus_client.parser import text_string_to_metric_families

from reknit.client import connect
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
                for _ in range(3):
                    await client.publish("t", b"x", qos=1)
                answer = await http.get(f"http://{b1.admin}/metrics")
            assert answer.headers["content-type"].startswith("text/plain")
            found = {
                (sample.name, *sorted(sample.labels.items())): sample.value
                for family in text_string_to_metric_families(answer.text)
                for sample in family.samples
            }
            broker = ("broker", "b1")
            assert found["reknit_packets_received_total", broker, ("packet", "publish")] == 3
            assert found["reknit_packets_sent_total", broker, ("packet", "puback")] == 3
            assert found["reknit_clients", broker] == 1
            assert found["reknit_link_up", broker, ("link", "b2")] == 1
            assert found["reknit_failures_total", broker] == 0
            names = {label for key in found for label, _ in key[1:]}
            assert names <= {"broker", "link", "packet", "reason"}

    asyncio.run(run())
