"""``reknit places``, on a ring of processes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reknit.client import connect
from reknit.core.options import BrokerOptions
from reknit.live.config import NetworkFile, NetworkSection
from reknit.live.network import Network
from reknit.live.plan import plan_network
from tests.ports import ports_in_a_row

VERIFIED_TRIES = 200


def test_a_tree_has_no_places(reknit: Callable[..., Any], network: Any) -> None:
    said = reknit("places", "b1", "b2")
    assert (said.code, said.err) == (1, "reknit: b1 routes by subscription-forwarding, and is on no ring\n")
    assert reknit("places", "b1").code == 2
    assert reknit("places", "b1", "b1").code == 2


def until_verified(reknit: Callable[..., Any]) -> Any:
    """Until the tree shows what is wanted; the ring is one already."""
    said = reknit("verify-routes")
    for _ in range(VERIFIED_TRIES):
        if said.code == 0:
            break
        said = reknit("verify-routes")
        assert "on the ring" not in said.out
    return said


def test_brokers_change_places_under_load(
    reknit: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    section = NetworkSection(brokers=4, mqtt_base_port=ports_in_a_row(4))
    plan = plan_network(NetworkFile(network=section, options=BrokerOptions(routing="rendezvous")))
    monkeypatch.chdir(tmp_path)

    async def run() -> tuple[list[bytes], Any, Any]:
        async with Network(plan, tmp_path, lambda line: None):
            where = [(broker.mqtt.host, broker.mqtt.port) for broker in plan.brokers]
            async with connect(*where[0]) as one, connect(*where[3]) as other, one.subscribe("t/1") as events:
                assert (await asyncio.to_thread(until_verified, reknit)).code == 0
                dry = await asyncio.to_thread(reknit, "places", "b1", "b2", "b4", "--dry-run")
                change = asyncio.create_task(asyncio.to_thread(reknit, "places", "b1", "b2", "b4", "--json"))
                sent = 0
                while not change.done() or sent < 50:
                    await other.publish("t/1", str(sent).encode(), qos=1)
                    sent += 1
                    await asyncio.sleep(0.01)
                got: list[bytes] = []
                with contextlib.suppress(TimeoutError):
                    while len(got) < sent:
                        got.append((await asyncio.wait_for(anext(events), 20)).payload)
                assert got == [str(number).encode() for number in range(sent)]
                unknown = await asyncio.to_thread(reknit, "places", "b1", "b9")
                assert (unknown.code, "there is no broker b9" in unknown.err) == (2, True)
                return got, dry, await change

    got, dry, done = asyncio.run(run())
    assert len(got) >= 50
    assert dry.out.splitlines()[-1] == "nothing was changed"
    assert int(done.json["version"]) > 1
