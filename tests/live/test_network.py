"""A whole network: it becomes ready, a broker that dies comes back with the links of now, and the end is clean."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import socket
from pathlib import Path
from typing import Any

import httpx
import pytest

from reknit.cli.verify_routes import compare
from reknit.client import connect
from reknit.core.overlay.shapes import find_cycle
from reknit.live.address import parse_address
from reknit.live.config import NetworkFile, NetworkSection
from reknit.live.errors import ConfigError, NetworkRunning, StartFailed
from reknit.live.network import Network
from reknit.live.plan import NetworkPlan, plan_network
from reknit.live.statefile import STATE_FILE, read_state
from tests.ports import ports_in_a_row


@pytest.fixture
def plan() -> NetworkPlan:
    port = ports_in_a_row(3)
    return plan_network(NetworkFile(network=NetworkSection(brokers=3, mqtt_base_port=port)))


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


async def neighbours(admin: str) -> list[str]:
    """Those of this broker whose links are up; none while it does not answer."""
    async with httpx.AsyncClient(trust_env=False) as http:
        try:
            said = (await http.get(admin + "/topology")).json()["neighbours"]
        except httpx.HTTPError:
            return []
    return sorted(name for name, link in said.items() if link["up"])


async def linked(admin: str, names: list[str]) -> bool:
    return await neighbours(admin) == names


def test_a_network_lives_heals_and_ends(plan: NetworkPlan, tmp_path: Path, until: Any) -> None:
    said: list[str] = []

    async def run() -> list[int]:
        async with Network(plan, tmp_path, said.append) as network:
            state = read_state(tmp_path)
            assert [broker.name for broker in state.brokers] == ["b1", "b2", "b3"]
            assert await neighbours(state.broker("b2").admin) == ["b1", "b3"]
            with pytest.raises(NetworkRunning):
                await Network(plan, tmp_path).__aenter__()

            # Move a link, so that the one that dies must not come back with the links of the start.
            async with httpx.AsyncClient(trust_env=False, timeout=40) as http:
                assert (await http.delete(state.broker("b3").admin + "/links/b2")).json() == {"done": True}
                body = {"peer": "b1", "address": state.broker("b1").listen}
                assert (await http.post(state.broker("b3").admin + "/links", json=body)).json() == {"done": True}

            victim = state.broker("b3")
            os.kill(victim.pid, signal.SIGKILL)
            await until(lambda: read_state(tmp_path).broker("b3").restarts == 1)
            await until(lambda: linked(victim.admin, ["b1"]))
            assert read_state(tmp_path).broker("b3").pid != victim.pid
            assert any("b3: ended with code -9; restarting" in line for line in said)
            await until(lambda: "b3 is back" in said)
            assert any(line.startswith("b1: ") and "link to b3 is down" in line for line in said)

            where = [parse_address(state.broker(name).mqtt) for name in ("b2", "b3")]
            async with connect(*where[0]) as b2, connect(*where[1]) as b3, b3.subscribe("t") as events:
                event = asyncio.create_task(anext(events))
                while not event.done():  # until the new subscription has reached the publisher's broker
                    await b2.publish("t", b"across")
                    await asyncio.sleep(0.05)
                assert (await event).payload == b"across"
            return [broker.pid for broker in network.state.brokers]

    pids = asyncio.run(run())
    assert not any(line.endswith("ended") for line in said)
    assert all(gone(pid) for pid in pids)
    assert list(tmp_path.iterdir()) == []


async def swap_and_kill(network: Network, rng: random.Random, kills: int) -> list[str]:
    """Swap links as they come, one after another, and now and then kill one of the three in the middle of it."""
    doors = {broker.name: broker.admin for broker in network.state.brokers}
    killed: list[str] = []
    async with httpx.AsyncClient(trust_env=False, timeout=40) as http:
        while len(killed) < kills:
            tree = {name: await neighbours(door) for name, door in doors.items()}
            some = [(a, b, c) for b, others in tree.items() for a in others for c in others if a != c]
            if not some:
                await asyncio.sleep(0.05)
                continue
            a, b, c = three = rng.choice(some)
            swap = asyncio.create_task(http.post(doors[a] + "/changes", json={"kind": "swap", "middle": b, "goal": c}))
            await asyncio.sleep(rng.uniform(0, 0.03))
            if rng.random() < 0.4:
                killed.append(rng.choice(three))
                os.kill(network.state.broker(killed[-1]).pid, signal.SIGKILL)
            await asyncio.wait([swap])
    return killed


async def unrest(network: Network) -> str:
    """What keeps the network from being at rest, as one tree with ideal tables and nobody locked."""
    async with httpx.AsyncClient(trust_env=False) as http:
        try:
            tables = {each.name: (await http.get(each.admin + "/table")).json() for each in network.state.brokers}
        except httpx.HTTPError as error:
            return repr(error)
    for name, table in tables.items():
        if table["changes"]["under_way"] or table["changes"]["waiting"] or table["other_links"] or not table["ready"]:
            return f"{name}: {table}"
    links = {frozenset((name, other)) for name, table in tables.items() for other in table["neighbours"]}
    if len(links) != len(tables) - 1 or find_cycle([(min(link), max(link)) for link in links]):
        return f"no tree: {links}"
    return str(compare(tables) or "")


@pytest.mark.long
def test_a_broker_that_is_killed_in_a_swap_goes_on_with_it_in_its_next_life(tmp_path: Path, until: Any) -> None:
    port = ports_in_a_row(4)
    file = NetworkFile(network=NetworkSection(brokers=4, mqtt_base_port=port))

    async def run() -> None:
        async with Network(plan_network(file), tmp_path, lambda line: None) as network:
            where = [parse_address(broker.mqtt) for broker in network.state.brokers]
            async with connect(*where[0]) as one, connect(*where[3]) as other, one.subscribe("t"), other.subscribe("u"):
                killed = await swap_and_kill(network, random.Random(5), kills=3)

            async def calm() -> bool:
                return not await unrest(network)

            await until(calm)
            assert sum(broker.restarts for broker in network.state.brokers) == len(killed) == 3

    asyncio.run(run())
    assert list(tmp_path.iterdir()) == []


def test_a_broker_more_is_started_linked_and_looked_after(plan: NetworkPlan, tmp_path: Path, until: Any) -> None:
    async def run() -> None:
        async with Network(plan, tmp_path, lambda line: None) as network:
            added = await network.add("b4", "b2")
            assert await neighbours(added.admin) == ["b2"]
            assert [broker.name for broker in read_state(tmp_path).brokers] == ["b1", "b2", "b3", "b4"]
            os.kill(added.pid, signal.SIGKILL)
            await until(lambda: read_state(tmp_path).broker("b4").restarts == 1)
            await until(lambda: linked(added.admin, ["b2"]))
            alone = await network.add("alone")
            assert await neighbours(alone.admin) == []
            for name, link, why in (
                ("b4", "", "there is a broker 'b4' in this network already"),
                ("b5", "b9", "there is no broker 'b9' in this network; known: b1, b2, b3, b4, alone"),
                ("b 5", "", "'b 5' is no broker's name"),
            ):
                with pytest.raises(ConfigError, match=why):
                    await network.add(name, link)

    asyncio.run(run())
    assert list(tmp_path.iterdir()) == []


def test_a_broker_more_that_cannot_start_is_told_and_leaves_the_others_alone(
    plan: NetworkPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        async with Network(plan, tmp_path, lambda line: None) as network:
            with socket.create_server(("127.0.0.1", 0)) as holder:
                port = holder.getsockname()[1]
                monkeypatch.setattr("reknit.live.network.free_ports", lambda *_: [port, port, port])
                with pytest.raises(StartFailed, match=f"b4: broker b4: mqtt: cannot listen on 127.0.0.1:{port}"):
                    await network.add("b4", "b2")
            assert [broker.name for broker in network.state.brokers] == ["b1", "b2", "b3"]
            assert await neighbours(network.state.broker("b2").admin) == ["b1", "b3"]

    asyncio.run(run())


def test_a_broker_that_cannot_start_ends_the_network_with_its_own_words(plan: NetworkPlan, tmp_path: Path) -> None:
    async def run() -> None:
        async with Network(plan, tmp_path, lambda line: None):
            pytest.fail("it runs")

    with (
        socket.create_server(plan.brokers[1].listen),
        pytest.raises(ConfigError, match=f"^b2: broker b2: listen: cannot listen on {plan.brokers[1].listen}: "),
    ):
        asyncio.run(run())
    assert not (tmp_path / STATE_FILE).exists()


def test_a_port_that_is_taken_while_a_broker_is_down_ends_the_network(plan: NetworkPlan, tmp_path: Path) -> None:
    async def run() -> None:
        async with Network(plan, tmp_path, lambda line: None) as network:
            os.kill(read_state(tmp_path).broker("b1").pid, signal.SIGKILL)
            # Bind as soon as the port is free, which is before the restart.
            while True:
                try:
                    holder = socket.create_server(plan.brokers[0].mqtt)
                    break
                except OSError:
                    await asyncio.sleep(0.001)
            with holder:
                await network.failure()

    with pytest.raises(ConfigError, match="b1: broker b1: mqtt: cannot listen on"):
        asyncio.run(run())
    assert list(tmp_path.iterdir()) == []
