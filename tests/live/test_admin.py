"""The operator's door: what it says, and what it refuses."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiomqtt
import httpx
import pytest

from reknit.client import connect
from reknit.core.options import BrokerOptions
from reknit.core.ring.options import RingOptions
from reknit.live.guard import AccessSection
from reknit.live.look import neighbours
from reknit.live.passwords import set_password
from reknit.live.process import BrokerPlan, RunningBroker, broker_running


def door(broker: RunningBroker) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=f"http://{broker.admin}", trust_env=False)


async def ready(http: httpx.AsyncClient) -> bool:
    return (await http.get("/readyz")).status_code == 200


def test_what_a_broker_says_of_itself(plan: Callable[..., BrokerPlan], until: Any) -> None:
    async def run() -> None:
        async with broker_running(plan()) as broker, door(broker) as http:
            assert (await http.get("/healthz")).json() == {"name": "b1", "alive": True}
            await until(lambda: ready(http))
            about = (await http.get("/topology")).json()
            assert (about["name"], about["mqtt"], about["listen"]) == ("b1", str(broker.mqtt), str(broker.listen))
            assert about["neighbours"] == {}
            async with connect(*broker.mqtt, client_id="ann") as client, client.subscribe("t", where="n > 3"):
                table = (await http.get("/table")).json()
            assert table["clients"] == ["ann"]
            assert table["entries"] == [{"kind": "client", "hop": "ann", "topic": "t", "selector": "n > 3"}]
            counters = (await http.get("/counters")).json()
            assert counters["shell"]["clients_accepted"] == 1
            assert counters["mqtt"]["received"]["Connect"] == 1
            assert (await http.get("/nothing")).status_code == 404

    asyncio.run(run())


def test_a_broker_is_not_ready_before_its_neighbours_are(plan: Callable[..., BrokerPlan]) -> None:
    async def run() -> None:
        async with broker_running(plan("b1", {"b2": "", "b0": "127.0.0.1:1"})) as broker, door(broker) as http:
            answer = await http.get("/readyz")
            assert answer.status_code == 503
            said = answer.json()
            assert [each.partition(":")[0] for each in said.pop("reasons")] == ["waiting for b0", "waiting for b2"]
            assert said == {"name": "b1", "ready": False, "waiting_for": ["b0", "b2"]}

    asyncio.run(run())


def test_one_on_a_ring_is_not_ready_before_it_is_where_it_belongs_there(
    plan: Callable[..., BrokerPlan], until: Any
) -> None:
    """Also when it has gone on alone."""
    options = BrokerOptions(routing="rendezvous", ring=RingOptions(alone_s=0.2, lost_s=0.2))

    async def run() -> None:
        async with broker_running(plan("b1", options=options)) as first, door(first) as http:
            await until(lambda: ready(http))
            async with broker_running(plan("b2", {"b1": str(first.listen)}, options=options)) as b2, door(b2) as other:
                await until(lambda: ready(other))
                rings = [each.driver.broker.table()["ring"] for each in (first, b2)]
                assert [(ring["before"], ring["behind"]) for ring in rings] == [("b2", ["b2"]), ("b1", ["b1"])]
            assert (await http.get("/readyz")).json()["reasons"]
        async with broker_running(plan("b3", {"b1": "127.0.0.1:1"}, options=options)) as b3, door(b3) as http:
            await until(lambda: b3.driver.broker.table()["ring"]["joined"])
            assert "not on a ring with b1 yet" in (await http.get("/readyz")).json()["reasons"]

    asyncio.run(run())


def test_a_user_that_is_removed_is_turned_out_when_the_files_are_read_again(
    plan: Callable[..., BrokerPlan], until: Any, tmp_path: Path
) -> None:
    passwords = tmp_path / "passwords"
    for user in ("ann", "ben"):
        set_password(passwords, user, "secret")
    access = AccessSection(anonymous="nobody", passwords=str(passwords))
    lines: list[str] = []

    async def removed(at: dict[str, Any], http: httpx.AsyncClient) -> None:
        async with aiomqtt.Client(**at, username="ann") as ann:
            await ann.publish("t", b"x", qos=1)
            set_password(passwords, "ann", None)
            assert (await http.post("/access")).json() == {"done": True}
            async for _ in ann.messages:
                pass

    async def run() -> None:
        async with broker_running(plan(access=access), lines.append) as broker, door(broker) as http:
            at = {"hostname": broker.mqtt.host, "port": broker.mqtt.port, "password": "secret"}
            async with aiomqtt.Client(**at, username="ben") as ben:
                with pytest.raises(aiomqtt.MqttError):
                    await removed(at, http)
                assert not passwords.read_text().startswith("ann")
                await ben.publish("t", b"x", qos=1)
                assert [line for line in lines if "read again" in line] == [
                    "the files of passwords and rules were read again: 1 users, no file of rules"
                ]
                passwords.write_text("nonsense\n")
                assert (await http.post("/access")).status_code == 409
                await ben.publish("t", b"x", qos=1)
                assert sum("read again" in line for line in lines) == 1

    asyncio.run(run())


def test_links_come_and_go_by_command_and_a_cycle_is_refused_by_name(
    plan: Callable[..., BrokerPlan], until: Any
) -> None:
    async def run() -> None:
        async with (
            broker_running(plan("b1")) as b1,
            broker_running(plan("b2", {"b1": str(b1.listen)})) as b2,
            broker_running(plan("b3", {"b2": str(b2.listen)})) as b3,
            door(b3) as http,
            door(b2) as http2,
        ):
            await until(lambda: ready(http))
            await until(lambda: ready(http2))
            refused = await http.post("/links", json={"peer": "b1", "address": str(b1.listen)})
            assert refused.status_code == 409
            assert all(name in refused.json()["error"] for name in ("b1", "b2", "b3"))
            assert (await http.delete("/links/b2")).json() == {"done": True}
            added = await http.post("/links", json={"peer": "b1", "address": str(b1.listen)})
            assert (added.status_code, added.json()) == (200, {"done": True})
            unknown = await http.delete("/links/b9")
            assert unknown.status_code == 409
            assert "b9" in unknown.json()["error"]

    asyncio.run(run())


def test_a_link_is_swapped_by_command_and_each_of_the_three_tells_of_it(
    plan: Callable[..., BrokerPlan], until: Any
) -> None:
    async def run() -> None:
        async with (
            broker_running(plan("b1")) as b1,
            broker_running(plan("b2", {"b1": str(b1.listen)})) as b2,
            broker_running(plan("b3", {"b2": str(b2.listen)})) as b3,
            door(b1) as http1,
            door(b2) as http2,
            door(b3) as http3,
        ):
            for http in (http3, http2):
                await until(lambda http=http: ready(http))
            before = time.time()
            body = {"kind": "swap", "middle": "b2", "goal": "b1", "of": "whole"}
            done = (await http3.post("/changes", json=body)).json()
            assert done["done"] is True
            (told,) = (await http3.get("/changes")).json()["history"]
            assert (told["id"], told["part"], told["of"], told["error"]) == (done["change"], "mover", "whole", "")
            assert before - 1 <= told["begun"] <= told["ended"] <= time.time() + 1
            assert told["undo"] == {"kind": "swap", "brokers": ["b3", "b1", "b2"]}
            for http, part in ((http2, "middle"), (http1, "goal")):
                await until(lambda http=http, part=part: tells(http, done["change"], part))
            assert list((await http3.get("/topology")).json()["neighbours"]) == ["b1"]
            assert list((await http3.get("/table")).json()["neighbours"]) == ["b1"]
            again = await http3.post("/changes", json=body)
            assert again.status_code == 409
            assert again.json()["error"] == "b3 and b1 are linked already"

    asyncio.run(run())


def test_a_link_is_replaced_at_once_by_command_and_all_on_the_path_tell_of_it(
    plan: Callable[..., BrokerPlan], until: Any
) -> None:
    async def run() -> None:
        async with (
            broker_running(plan("b1")) as b1,
            broker_running(plan("b2", {"b1": str(b1.listen)})) as b2,
            broker_running(plan("b3", {"b2": str(b2.listen)})) as b3,
            door(b1) as http1,
            door(b2) as http2,
            door(b3) as http3,
        ):
            for http in (http3, http2):
                await until(lambda http=http: ready(http))
            path = {"strategy": "path", "head": ["b3"], "tail": ["b1", "b2"], "address": str(b1.listen)}
            done = (await http3.post("/changes", json={"kind": "replace", **path})).json()
            assert done["done"] is True
            (told,) = (await http3.get("/changes")).json()["history"]
            assert (told["id"], told["part"], told["strategy"]) == (done["change"], "first", "path")
            undo = {"kind": "replace", "brokers": ["b3", "b2", "b1"], "strategy": "path", "near": 0}
            assert told["undo"] == undo
            assert told["messages"] > 0
            assert told["bytes"] > 0
            for http, part in ((http2, "last"), (http1, "far end")):
                await until(lambda http=http, part=part: tells(http, done["change"], part))
            assert list((await http3.get("/topology")).json()["neighbours"]) == ["b1"]
            again = await http3.post("/changes", json={"kind": "replace", **path})
            assert again.status_code == 409
            assert again.json()["error"] == "b3 and b1 are linked already"

    asyncio.run(run())


async def tells(http: httpx.AsyncClient, change: str, part: str) -> bool:
    """This broker had this part in the change, which is over."""
    history = (await http.get("/changes")).json()["history"]
    return any(each["id"] == change and each["part"] == part and each["ended"] for each in history)


def test_bad_changes_are_answered_and_change_nothing(plan: Callable[..., BrokerPlan]) -> None:
    bad = [b"", b"{", b"[]", b"{}", b'{"kind": "melt"}', b'{"kind": "swap", "middle": "b2"}', b" " * 100_000]
    bad += [
        b'{"kind": "swap", "middle": "b2", "goal": "b 3"}',
        b'{"kind": "swap", "middle": "b2", "goal": "b3", "x": 1}',
    ]
    bad += [b'{"kind": "swap", "middle": "b2", "goal": "b3", "of": "%s"}' % (b"x" * 1000)]
    path = b'{"kind": "replace", "strategy": "path", "head": ["%s"], "tail": ["b2", "b3"], "address": "%s"}'
    bad += [path % (b"b 1", b"127.0.0.1:1"), path % (b"b1", b"nowhere"), path % (b'b1", 7, "b4', b"127.0.0.1:1")]

    async def run() -> None:
        async with broker_running(plan()) as broker, door(broker) as http:
            for body in bad:
                answer = await http.post("/changes", content=body)
                assert (answer.status_code, bool(answer.json()["error"])) == (400, True), body
            assert (await http.get("/changes")).json() == {
                "name": "b1",
                "under_way": None,
                "waiting": [],
                "history": [],
            }

    asyncio.run(run())


def test_bad_requests_are_answered_and_change_nothing(plan: Callable[..., BrokerPlan]) -> None:
    bad = [b"", b"{", b"\xff", b"[]", b'{"peer": "b2"}', b'{"peer": "b2", "address": "nowhere"}']
    bad += [b'{"peer": "b 2", "address": "127.0.0.1:1"}', b'{"peer": "b2", "address": "h:1", "x": 1}', b" " * 100_000]

    async def run() -> None:
        async with broker_running(plan()) as broker, door(broker) as http:
            for body in bad:
                answer = await http.post("/links", content=body)
                assert (answer.status_code, bool(answer.json()["error"])) == (400, True)
            assert (await http.put("/links")).status_code == 405
            assert (await http.get("/topology")).json()["neighbours"] == {}

    asyncio.run(run())


def test_its_paths_are_listed_and_each_is_there(plan: Callable[..., BrokerPlan]) -> None:
    async def run() -> None:
        async with broker_running(plan()) as broker, door(broker) as http:
            paths = (await http.get("/")).json()["paths"]
            assert len(paths) == 17
            for each in paths:
                method, path = each.split()
                assert (await http.request(method, path)).status_code not in (404, 405), each

    asyncio.run(run())


def test_what_is_no_http_is_counted_and_not_logged(
    plan: Callable[..., BrokerPlan], caplog: pytest.LogCaptureFixture
) -> None:
    async def run() -> None:
        async with broker_running(plan()) as broker, door(broker) as http:
            assert broker.admin is not None
            reader, writer = await asyncio.open_connection(*broker.admin)
            writer.write(b"\x00\x01garbage\r\n\r\n")
            assert b"400" in await reader.readline()
            writer.close()
            assert (await http.get("/counters")).json()["shell"]["admin_garbage"] == 1

    asyncio.run(run())
    assert caplog.records == []


def test_why_a_link_is_down_and_whom_a_broker_waits_for(plan: Callable[..., BrokerPlan], until: Any) -> None:
    async def run() -> None:
        async with broker_running(plan("b1", {"b0": "127.0.0.1:1"})) as b1, door(b1) as http:
            async with broker_running(plan("b2", {"b1": str(b1.listen)})):
                await until(lambda: neighbours(b1.driver).get("b2", {}).get("up", False))
            await until(lambda: not neighbours(b1.driver)["b2"]["up"])
            about = (await http.get("/topology")).json()
            assert about["neighbours"]["b2"]["last"]
            assert about["waiting_for"]["b0"] == "127.0.0.1:1: Connection refused"
            counted = (await http.get("/counters")).json()["neighbours"]["b2"]
            assert (counted["ups"], counted["downs"]) == (1, 1)

    asyncio.run(run())
