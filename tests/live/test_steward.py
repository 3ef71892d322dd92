"""The steward's door: a broker more, and requests that are none."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx

from reknit.live.address import free_ports
from reknit.live.config import NetworkFile, NetworkSection
from reknit.live.network import Network
from reknit.live.plan import plan_network
from reknit.live.statefile import read_state
from reknit.live.steward import network_door


def test_a_broker_is_added_by_the_door_and_bad_requests_change_nothing(tmp_path: Path) -> None:
    port = free_ports("127.0.0.1", 1)[0]
    plan = plan_network(NetworkFile(network=NetworkSection(brokers=1, mqtt_base_port=port)))

    async def run() -> None:
        async with (
            Network(plan, tmp_path, lambda line: None) as network,
            network_door(network) as url,
            httpx.AsyncClient(base_url=url, trust_env=False, timeout=40) as http,
        ):
            assert read_state(tmp_path).door == url
            for body in (b"", b"{", b"[]", b"{}", b'{"name": "b1"}', b'{"name": "x", "link": "y"}', b" " * 100_000):
                answer = await http.post("/brokers", content=body)
                assert (answer.status_code, bool(answer.json()["error"])) == (400, True), body
            added = await http.post("/brokers", json={"name": "b2", "link": "b1"})
            assert (added.status_code, added.json()["name"]) == (200, "b2")
            assert [broker.name for broker in read_state(tmp_path).brokers] == ["b1", "b2"]

    asyncio.run(run())
