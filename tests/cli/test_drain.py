"""``reknit broker drain`` on a real network: processes, sockets, clients of several kinds, events all the while."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import reknit as package
from reknit.cli._changes import moves, perform
from reknit.cli._operator import Operator
from reknit.cli._problem import Failed
from reknit.core.overlay.history import Deed

COUNT_S = 1.5
"""How long each publisher goes on."""


class _Publisher:
    """Publishes numbers at QoS 1 until it is told to stop; each is the application's next only once it is taken."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.count = 0
        self.going = True

    async def run(self, mqtt: str) -> None:
        host, port = mqtt.split(":")
        async with package.connect(host, int(port), client_id=self.name) as client:
            while self.going:
                await client.publish(f"numbers/{self.name}", str(self.count + 1), qos=1)
                self.count += 1
                await asyncio.sleep(0.001)


@contextlib.asynccontextmanager
async def _subscribed(mqtt: str, name: str, qos: int) -> AsyncIterator[dict[str, list[int]]]:
    """What has come, by publisher."""
    host, port = mqtt.split(":")
    got: dict[str, list[int]] = {}
    async with (
        package.connect(host, int(port), client_id=name) as client,
        client.subscribe("numbers/#", qos=qos) as events,
    ):

        async def read() -> None:
            async for event in events:
                got.setdefault(event.topic.split("/")[1], []).append(int(event.payload))

        task = asyncio.create_task(read())
        yield got
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def _until_all(got: dict[str, list[int]], *publishers: _Publisher) -> None:
    while any(len(got.get(each.name, ())) < each.count for each in publishers):  # noqa: ASYNC110  it is elsewhere
        await asyncio.sleep(0.02)


async def _until_subscribed(admin: str, client: str) -> None:
    async with httpx.AsyncClient(trust_env=False) as http:
        while client not in [entry["hop"] for entry in (await http.get(f"{admin}/table")).json()["entries"]]:  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def _verb(directory: Path, *words: str) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "reknit",
        *words,
        cwd=directory,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    out, _ = await process.communicate()
    return process.returncode or 0, out.decode()


def test_nobody_misses_an_event_gets_one_twice_or_out_of_order(start_up: Callable[..., Any]) -> None:
    network = start_up()
    network.until_ready()
    b1, _, b3 = (broker["mqtt"] for broker in network.state["brokers"])
    ends = [network.state["brokers"][place]["admin"] for place in (0, 2)]

    async def play() -> None:
        near, far = _Publisher("near"), _Publisher("far")
        async with (
            _subscribed(b3, "sure", 1) as sure,
            _subscribed(b3, "plain", 0) as plain,
            _subscribed(b1, "far-sub", 1) as other,
        ):
            for admin in ends:
                await _until_subscribed(admin, "b2")  # what is wanted at the other end
            publishing = [asyncio.create_task(near.run(b3)), asyncio.create_task(far.run(b1))]
            await asyncio.sleep(COUNT_S / 3)
            code, said = await _verb(network.directory, "broker", "drain", "b3")
            assert code == 0, said
            assert "b3 has left, and its clients are with b2 in" in said
            await asyncio.sleep(COUNT_S / 3)
            near.going = far.going = False
            await asyncio.gather(*publishing)
            for got in (sure, plain, other):
                await _until_all(got, near, far)
        await asyncio.sleep(0.2)
        for got in (sure, plain, other):
            assert got == {each.name: list(range(1, each.count + 1)) for each in (near, far)}
        assert min(near.count, far.count) > 100

    asyncio.run(play())
    assert [broker["name"] for broker in network.state["brokers"]] == ["b1", "b2"]


mosquitto = pytest.mark.skipif(shutil.which("mosquitto_sub") is None, reason="mosquitto's clients are not installed")


def _mosquitto(mqtt: str, *words: str) -> list[str]:
    host, port = mqtt.split(":")
    return ["mosquitto_sub", "-h", host, "-p", port, "-t", "numbers/#", "-q", "1", "-i", "old", "-v", *words]


@mosquitto
def test_a_client_of_mqtt_3_1_1_finds_its_session_where_it_has_gone(start_up: Callable[..., Any]) -> None:
    network = start_up()
    network.until_ready()
    b1, b2, b3 = (broker["mqtt"] for broker in network.state["brokers"])
    words = ["-V", "311", "-c", "-W", "60"]

    async def play() -> None:
        # It subscribes, and goes: its session waits for it at b3, and then at b2.
        first = await asyncio.create_subprocess_exec(*_mosquitto(b3, *words, "-E"))
        assert await first.wait() == 0
        await _until_subscribed(network.state["brokers"][0]["admin"], "b2")
        host, port = b1.split(":")
        async with package.connect(host, int(port)) as client:
            for number in range(10):
                await client.publish("numbers/a", str(number), qos=1)
            await asyncio.sleep(0.3)
            code, said = await _verb(network.directory, "broker", "drain", "b3")
            assert code == 0, said
            for number in range(10, 20):
                await client.publish("numbers/a", str(number), qos=1)
            await asyncio.sleep(0.3)
        again = await asyncio.create_subprocess_exec(
            *_mosquitto(b2, *words, "-C", "20"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        out, _ = await again.communicate()
        assert out.decode().splitlines() == [f"numbers/a {number}" for number in range(20)]

    asyncio.run(play())


@mosquitto
def test_one_that_is_connected_is_told_where_to_go_or_closed(start_up: Callable[..., Any]) -> None:
    """mosquitto's clients print the reason, and do not follow; the session is at b2 all the same."""
    network = start_up()
    network.until_ready()
    b1, b2, b3 = (broker["mqtt"] for broker in network.state["brokers"])

    async def play() -> None:
        for_ever = ["-V", "5", "-c", "-x", "600", "-W", "30", "-d"]
        first = await asyncio.create_subprocess_exec(*_mosquitto(b3, *for_ever), stdout=subprocess.PIPE)
        await _until_subscribed(network.state["brokers"][2]["admin"], "old")
        code, said = await _verb(network.directory, "broker", "drain", "b3")
        assert code == 0, said
        out, _ = await first.communicate()
        assert "Received DISCONNECT (157)" in out.decode()  # server moved
        host, port = b1.split(":")
        async with package.connect(host, int(port)) as client:
            await client.publish("numbers/a", "1", qos=1)
            await asyncio.sleep(0.3)
        again = await asyncio.create_subprocess_exec(*_mosquitto(b2, *for_ever[:-1], "-C", "1"), stdout=subprocess.PIPE)
        out, _ = await again.communicate()
        assert out.decode() == "numbers/a 1\n"

    asyncio.run(play())


def test_a_broker_in_the_middle_is_drained_and_comes_back(
    reknit: Callable[..., Any], start_up: Callable[..., Any], monkeypatch: Any
) -> None:
    network = start_up()
    network.until_ready()
    monkeypatch.chdir(network.directory)
    planned = reknit("broker", "drain", "b2", "--to", "b3", "--dry-run", "--json").json
    assert planned["steps"] == ["swap b1 b2 b3", "broker drain b2 --to b3"]
    assert (planned["sessions"], planned["brokers"]) == (0, ["b1", "b2", "b3"])
    done = reknit("broker", "drain", "b2", "--to", "b3", "--verify", "--json").json
    assert (done["steps"], done["differences"]) == (planned["steps"], [])
    assert all(done["changes"])
    assert [broker["name"] for broker in network.state["brokers"]] == ["b1", "b3"]
    shown = reknit("change", "show", done["changes"][1]).out.splitlines()
    assert shown[0] == f"{done['changes'][1]}: broker drain b2 --to b3: done (step of {done['change']})"
    assert shown[1].endswith(" messages, 0 bytes without b2")
    assert "  b2: what it has sent is not known, for it has left, or remembers it no more" in shown
    assert shown[-1] == "  undo: reknit broker add b2 --link b3"
    refused = reknit("change", "undo", done["changes"][0])
    way_out = f"b2 has left since; try: reknit change undo {done['change']}"
    assert (refused.code, refused.err) == (2, f"reknit: change undo {done['changes'][0]}: {way_out}\n")
    undone = reknit("change", "undo", done["change"], "--verify", "--json").json
    assert (undone["steps"], undone["differences"]) == (["broker add b2 --link b3", "swap b1 b3 b2"], [])
    assert [broker["name"] for broker in undone["added"]] == ["b2"]
    assert _links(reknit) == [("b1", "b2"), ("b2", "b3")]
    again = reknit("change", "undo", undone["change"], "--json").json
    assert again["steps"] == planned["steps"]
    assert _links(reknit) == [("b1", "b3")]


@pytest.mark.parametrize("after", [1, 2])
def test_the_undo_of_a_drain_that_was_broken_off_is_resumed(
    reknit: Callable[..., Any], start_up: Callable[..., Any], monkeypatch: Any, after: int
) -> None:
    network = start_up("--brokers", "4", "--shape", "star")
    network.until_ready()
    monkeypatch.chdir(network.directory)
    star = _links(reknit)
    drained = reknit("broker", "drain", "b1", "--json").json
    make, made = perform.make, list[Deed]()

    def broken_off(where: Operator, deed: Deed, of: str) -> str:
        made.append(deed)
        if len(made) > after:
            raise KeyboardInterrupt
        return make(where, deed, of)

    with monkeypatch.context() as patch:
        patch.setattr(perform, "make", broken_off)
        said = reknit("change", "undo", drained["change"])
    assert said.code == 130
    whole = said.err.split()[-1]
    resumed = reknit("change", "resume", whole, "--json").json
    assert len(resumed["steps"]) == len(drained["steps"]) - after
    assert _links(reknit) == star
    assert reknit("change", "undo", whole, "--json").json["steps"] == drained["steps"]


def _links(reknit: Callable[..., Any]) -> list[tuple[str, str]]:
    return [(link["a"], link["b"]) for link in reknit("topology", "--json").json["links"]]


def test_what_cannot_be_drained_is_refused_with_what_to_do(reknit: Callable[..., Any], network: Any) -> None:
    assert "there is no broker 'b9'" in reknit("broker", "drain", "b9").err
    b1 = network.state["brokers"][0]
    said = reknit("broker", "drain", "b2", "--admin", b1["admin"])
    assert said.err == "reknit: the operators' door of b2 is not known; give its --admin\n"
    assert (
        "b1 is no neighbour of it; try: reknit broker drain b3 --to b2"
        in reknit("broker", "drain", "b3", "--to", "b1").err
    )


def test_a_dry_run_says_what_would_move(reknit: Callable[..., Any], network: Any) -> None:
    said = reknit("broker", "drain", "b3", "--dry-run")
    assert said.code == 0
    assert said.out.startswith(
        "b3 would leave, and its clients would be with b2\n  broker drain b3 --to b2\ntouches b2, b3\n"
    )
    beyond = "and, beyond this estimate, what waits in their queues and what is kept for recovery"
    assert f"moves 0 sessions with 0 subscriptions, {beyond}\n" in said.out


def test_the_last_broker_stays(reknit: Callable[..., Any], start_up: Callable[..., Any], monkeypatch: Any) -> None:
    network = start_up("--brokers", "1")
    network.until_ready()
    monkeypatch.chdir(network.directory)
    said = reknit("broker", "drain", "b1")
    assert said.code == 2
    assert said.err.startswith("reknit: broker drain b1: it is the last broker of its network: nobody could take its")
    assert "try: reknit broker add NAME --link b1" in said.err


@pytest.fixture
def stuck(start_up: Callable[..., Any], monkeypatch: Any) -> Iterator[Any]:
    """A network whose b3 is being drained into a b2 that does not answer."""
    network = start_up()
    network.until_ready()
    monkeypatch.chdir(network.directory)
    _, b2, b3 = network.state["brokers"]
    os.kill(b2["pid"], signal.SIGSTOP)
    try:
        with httpx.Client(trust_env=False) as http:
            assert http.post(f"{b3['admin']}/drain").status_code == 202
        yield network
    finally:
        os.kill(b2["pid"], signal.SIGCONT)


def test_a_drain_whose_neighbour_does_not_answer_can_be_stopped(reknit: Callable[..., Any], stuck: Any) -> None:
    door = stuck.state["brokers"][2]["admin"]
    said = reknit("broker", "drain", "b3", "--stop", "--admin", door, "--json")
    assert (said.code, said.json) == (0, {"broker": "b3", "stays": True})
    with Operator([]) as operator, pytest.raises(Failed, match="the drain was stopped; b3 stays"):
        make_gone(operator)
    said = reknit("broker", "drain", "b3", "--stop", "--admin", door)
    assert (said.code, said.err) == (1, "reknit: b3 is not being drained\n")


def make_gone(operator: Operator) -> None:
    """Wait for b3 to leave, as the verb does."""
    moves._until_gone(operator, Deed("drain", ("b3", "b2")), [])


def test_a_broker_that_dies_under_a_drain_has_not_left(stuck: Any) -> None:
    os.kill(stuck.state["brokers"][2]["pid"], signal.SIGKILL)
    with Operator([]) as operator, pytest.raises(Failed, match="b3 was restarted, and knows nothing of it; try again"):
        make_gone(operator)
    assert [broker["name"] for broker in stuck.state["brokers"]] == ["b1", "b2", "b3"]
