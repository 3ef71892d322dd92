"""``reknit plan apply`` and ``undo`` of a plan of placement: sessions of a ring of processes move, and go back."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from reknit.cli._operator import Operator
from reknit.client import connect
from reknit.core.options import BrokerOptions
from reknit.live.config import NetworkFile, NetworkSection
from reknit.live.network import Network
from reknit.live.plan import plan_network
from reknit.planning.files import write_plan
from reknit.planning.placement_plan import (
    AtBroker,
    ClientMove,
    PlacementEvidence,
    PlacementPlan,
    PlacementRules,
    make_placement_plan,
)
from tests.ports import ports_in_a_row

Reknit = Callable[..., Any]
SETTLE_S_MAX = 60.0
EVENTS = 30


def plan_of(moves: Sequence[ClientMove], count: int | None = None) -> PlacementPlan:
    """Two clients want the same at two brokers; of two topics in all one is left."""
    at = [AtBroker("b1", 1, 0, 1, 0), AtBroker("b2", 1, 2, 1, 1), AtBroker("b3", 0, 0, 0, 0)]
    evidence = PlacementEvidence(2, 2)
    return make_placement_plan(
        at, moves, len(moves) if count is None else count, ["b1", "b2"], PlacementRules(), evidence
    )


def places() -> dict[str, str]:
    with Operator([]) as operator:
        tables = operator.all("/table")
    return {client: table["name"] for table in tables for client in table["clients"]}


def test_sessions_move_and_go_back_while_events_flow(
    reknit: Reknit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    section = NetworkSection(brokers=3, mqtt_base_port=ports_in_a_row(3))
    network = plan_network(NetworkFile(network=section, options=BrokerOptions(routing="rendezvous")))
    monkeypatch.chdir(tmp_path)
    doors = [(broker.mqtt.host, broker.mqtt.port) for broker in network.brokers]
    file = tmp_path / "plan.json"

    async def plan(*words: str) -> Any:
        return await asyncio.to_thread(reknit, "plan", *words)

    async def settled() -> None:
        limit = time.monotonic() + SETTLE_S_MAX
        while (await asyncio.to_thread(reknit, "verify-routes")).code and time.monotonic() < limit:  # noqa: ASYNC110
            await asyncio.sleep(0.5)

    async def story() -> None:
        async with (
            Network(network, tmp_path, lambda line: None),
            connect(*doors[0], client_id="one") as one,
            connect(*doors[1], client_id="two") as two,
            connect(*doors[2], client_id="tells") as tells,
            one.subscribe("t/1") as to_one,
            two.subscribe("t/1") as to_two,
        ):
            await settled()
            sent = 0

            async def publish_during(task: asyncio.Task[Any]) -> Any:
                nonlocal sent
                until = sent + EVENTS
                while not task.done() or sent < until:
                    await tells.publish("t/1", str(sent).encode(), qos=1)
                    sent += 1
                    await asyncio.sleep(0.02)
                return await task

            file.write_bytes(write_plan(plan_of([ClientMove("one", "b1", "b2"), ClientMove("left", "b3", "b1")])))
            dry = await plan("apply", "--dry-run")
            assert dry.out.splitlines() == [
                "  one  from b1 to b2",
                "about 6 messages at least; 1 are gone; nothing was changed",
            ], dry
            assert (await plan("undo")).code == 2, "nobody is where the plan leads"
            done = await publish_during(asyncio.create_task(plan("apply", "--json", "--verify")))
            assert (done.code, done.json["moved"], done.json["gone"]) == (0, 1, ["left"]), done
            assert [done.json[f"topics_{what}"] for what in ("before", "predicted", "measured")] == [2, 1, 1]
            assert (await asyncio.to_thread(places))["one"] == "b2"
            again = await plan("apply")
            assert (again.code, "1 clients are where they are to be; 1 are gone" in again.err) == (2, True), again
            back = await publish_during(asyncio.create_task(plan("undo", "--verify")))
            assert (back.code, back.out.splitlines()[-1]) == (
                0,
                "topics that brokers subscribe to: 1 before, measured 2",
            ), back
            assert (await asyncio.to_thread(places))["one"] == "b1"
            for name, events in (("one", to_one), ("two", to_two)):
                got = list[int]()
                with contextlib.suppress(TimeoutError):
                    while len(got) < sent:
                        got.append(int((await asyncio.wait_for(anext(events), 20)).payload))
                assert got == list(range(sent)), name

            file.write_bytes(write_plan(plan_of([ClientMove("one", "b2", "b3")])))
            elsewhere = await plan("apply")
            assert (elsewhere.code, elsewhere.err) == (
                2,
                "reknit: plan apply plan.json: one is at b1, and the plan knows it at b2\n",
            )
            file.write_bytes(write_plan(plan_of([ClientMove("one", "b1", "b9")])))
            assert "b9 is not there" in (await plan("apply")).err

    asyncio.run(story())


def test_what_cannot_be_carried_out_is_said(reknit: Reknit, network: Any, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_bytes(write_plan(plan_of([], 20_000)))
    many = reknit("plan", "apply", str(file))
    assert (many.code, "counts 20,000 moves, too many to list them; brokers carry" in many.err) == (2, True)
    file.write_bytes(write_plan(plan_of([ClientMove("one", "b1", "b2")])))
    tree = reknit("plan", "apply", str(file))
    assert (tree.code, "is on no ring" in tree.err) == (1, True)
