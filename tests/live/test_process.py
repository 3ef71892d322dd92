"""One broker as one process: it starts, serves, and ends when it is told or when nobody holds it any more."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from reknit.live.address import Address, free_ports
from reknit.live.errors import ConfigError
from reknit.live.look import neighbours, waiting
from reknit.live.memory import Memory, recall
from reknit.live.process import BrokerPlan, broker_running

HERE = "127.0.0.1"


@pytest.fixture
def ports() -> list[int]:

    return free_ports(HERE, 4)


class Started:
    """A broker's process; ends with the test."""

    def __init__(self, ports: list[int], *more: str) -> None:
        mqtt, listen, admin, relay = (f"{HERE}:{port}" for port in ports)
        self.admin = f"http://{admin}"
        command = [sys.executable, "-m", "reknit", "broker", "--name", "b1"]
        command += ["--mqtt", mqtt, "--listen", listen, "--admin", admin, "--relay", relay, *more]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)

    def until_ready(self) -> None:
        while self.process.poll() is None:
            try:
                if httpx.get(self.admin + "/readyz", trust_env=False).status_code == 200:
                    return
            except httpx.HTTPError:
                time.sleep(0.05)
        pytest.fail(f"it ended: {self.process.stderr.read() if self.process.stderr else b''!r}")

    def end(self) -> tuple[int, str]:
        """Wait for it, and return its exit code and what it said."""
        _, said = self.process.communicate(timeout=30)
        return self.process.returncode, said.decode()


def told(said: str) -> list[str]:
    """What it said: JSON, since nobody reads it on a terminal."""
    return [json.loads(line)["message"] for line in said.splitlines()]


@pytest.fixture
def started() -> Iterator[list[Started]]:
    all_started: list[Started] = []
    yield all_started
    for each in all_started:
        if each.process.poll() is None:
            each.process.kill()
        each.process.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly(ports: list[int], started: list[Started], number: signal.Signals) -> None:
    started.append(broker := Started(ports))
    broker.until_ready()
    os.kill(broker.process.pid, number)
    code, said = broker.end()
    mqtt, listen, admin, relay = (f"{HERE}:{port}" for port in ports)
    where = f"mqtt {mqtt}, relays {relay}, links {listen}, operators {admin}"
    assert (code, told(said)) == (0, [f"listening: {where}", "ready", "ended"])


def test_it_ends_with_whoever_holds_its_input_if_it_was_told_so(ports: list[int], started: list[Started]) -> None:
    started.append(broker := Started(ports, "--until-stdin-closes"))
    broker.until_ready()
    assert broker.process.stdin is not None
    broker.process.stdin.close()
    broker.process.stdin = None
    assert broker.end()[0] == 0


def test_a_taken_port_is_one_clear_line_and_exit_code_2(ports: list[int], started: list[Started]) -> None:
    with socket.create_server((HERE, ports[1])):
        started.append(broker := Started(ports))
        code, said = broker.end()
    assert code == 2
    assert said == f"reknit: broker b1: listen: cannot listen on {HERE}:{ports[1]}: Address already in use\n"


def test_the_trace_is_written_when_it_ends(ports: list[int], started: list[Started], tmp_path: Path) -> None:
    from reknit.trace.records import Kind
    from reknit.trace.store import read_trace

    started.append(broker := Started(ports, "--trace", str(tmp_path)))
    before = time.time()
    broker.until_ready()
    broker.process.terminate()
    assert broker.end()[0] == 0
    records = read_trace(tmp_path)
    assert records[0].kind is Kind.STARTED
    assert before <= records[0].time <= time.time()


def test_a_trace_that_cannot_be_written_is_bad_input(tmp_path: Path) -> None:
    from reknit.live.config import Settings, TraceSection

    (tmp_path / "file").write_text("")
    anywhere = Address(HERE, 0)
    settings = Settings(trace=TraceSection(directory=str(tmp_path / "file")))
    plan = BrokerPlan("b1", anywhere, anywhere, settings=settings)

    async def run() -> None:
        async with broker_running(plan):
            pytest.fail("it runs")

    with pytest.raises(ConfigError, match=r"trace: .*file is no directory that can be written to"):
        asyncio.run(run())


def test_links_are_kept_for_the_next_life_and_then_count_alone(tmp_path: Path, until: Any) -> None:
    anywhere = Address(HERE, 0)
    state = tmp_path / "b1.state"
    first, second = list[str](), list[str]()

    async def run() -> None:
        async with broker_running(BrokerPlan("b2", anywhere, anywhere)) as b2:
            begin = BrokerPlan("b1", anywhere, anywhere, state=state)
            async with broker_running(begin, first.append) as b1:
                assert not state.exists()
                assert (await b1.driver.operations.add_link("b2", str(b2.listen))).error == ""
                await until(lambda: neighbours(b1.driver).get("b2", {}).get("up", False))
            again = BrokerPlan("b1", anywhere, anywhere, state=state, neighbours={"b3": ""})
            async with broker_running(again, second.append) as b1:
                await until(lambda: "ready" in second)
                assert list(neighbours(b1.driver)) == ["b2"]
                assert (await b1.driver.operations.remove_link("b2")).error == ""
        assert recall(state, "b1") == Memory("b1", {})

    asyncio.run(run())
    assert [line for line in first if "b2" in line][:2] == ["link to b2 added", "link to b2 is up"]
    assert second[0] == f"the neighbours are those of {state}: b2"
    assert second[1].startswith("not among them, so not linked: b3")
    assert "link to b2 removed: left" in second


def test_a_neighbour_that_is_not_there_is_waited_for_and_said_once(until: Any) -> None:
    anywhere = Address(HERE, 0)
    said: list[str] = []

    async def run() -> None:
        plan = BrokerPlan("b1", anywhere, anywhere, neighbours={"b0": f"{HERE}:1"})
        async with broker_running(plan, said.append) as b1:
            await until(lambda: waiting(b1.driver)["b0"] == f"{HERE}:1: Connection refused")
            assert "waiting for b0" in said
            assert said.count(f"waiting for b0: {HERE}:1: Connection refused") == 1

    asyncio.run(run())
