"""Brokers as processes of their own; one of them, or a link, is lost for good: what is left is one tree again."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import reknit
from reknit.core.overlay.shapes import find_path
from reknit.live.address import free_ports

LINKS = {"b1": [], "b2": ["b1"], "b3": ["b1"], "b4": ["b3"]}
LOST_S = 2.0


class Brokers:
    """A hub, two neighbours of it, and one behind; each with a file of its own."""

    def __init__(self, directory: Path) -> None:
        self.links = LINKS
        self.standby: dict[str, list[str]] = {}
        self.around_max = 64
        self.wires: dict[str, int] = {}  # by broker that is reached through a wire: the port of that
        ports = free_ports("127.0.0.1", 3 * len(LINKS))
        self.mqtt = dict(zip(LINKS, ports[0::3], strict=True))
        self.listen = dict(zip(LINKS, ports[1::3], strict=True))
        self.doors = {name: f"http://127.0.0.1:{port}" for name, port in zip(LINKS, ports[2::3], strict=True)}
        self.directory = directory
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str) -> None:
        path = self.directory / f"{name}.toml"
        path.write_text(
            f'[broker]\nname = "{name}"\nmqtt = "127.0.0.1:{self.mqtt[name]}"\n'
            f'listen = "127.0.0.1:{self.listen[name]}"\nknown_at = "127.0.0.1:{self._port(name)}"\nadmin = "{self.doors[name].removeprefix("http://")}"\n'
            f'state = "{self.directory / name}.json"\n[options.repair]\nlost_s = {LOST_S}\n'
            f"around_max = {self.around_max}\n[neighbours]\n"
            + "".join(f'{other} = "127.0.0.1:{self._port(other)}"\n' for other in self.links[name])
            + "[standby]\n"
            + "".join(f'{other} = "127.0.0.1:{self.listen[other]}"\n' for other in self.standby.get(name, ()))
        )
        with (self.directory / f"{name}.err").open("ab") as err:
            words = [sys.executable, "-m", "reknit", "broker", "--config", str(path)]
            self.processes[name] = subprocess.Popen(words, stderr=err)

    def _port(self, name: str) -> int:
        """Where others dial it."""
        return self.wires.get(name, self.listen[name])

    def kill(self, name: str) -> None:
        process = self.processes.pop(name)
        process.send_signal(signal.SIGKILL)
        process.wait()

    def end(self) -> None:
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            process.wait(timeout=30)

    async def all(self, path: str) -> dict[str, Any]:
        async with httpx.AsyncClient(trust_env=False) as http:
            return {name: (await http.get(self.doors[name] + path)).json() for name in self.processes}

    async def are_one_tree(self) -> bool:
        """All that run, and all of their links are up."""
        try:
            said = await self.all("/topology")
        except httpx.HTTPError:  # not all doors are open yet
            return False
        near = {name: each["neighbours"] for name, each in said.items()}
        if not all(other in near and near[name][other]["up"] for name in near for other in near[name]):
            return False
        edges = [(name, other) for name in near for other in near[name]]
        return all(find_path(edges, next(iter(near)), name) for name in near)

    async def have_ideal_routes(self) -> bool:
        return not (await asyncio.to_thread(self._verify))["differences"]

    def _verify(self) -> dict[str, Any]:
        doors = [word for name in self.processes for word in ("--admin", self.doors[name])]
        words = [sys.executable, "-m", "reknit", "verify-routes", "--json", *doors]
        found: dict[str, Any] = json.loads(subprocess.run(words, capture_output=True, check=False).stdout)
        return found


class Wire:
    """Between two brokers; it can be cut for good."""

    def __init__(self, goal: int) -> None:
        self.goal = goal
        self.port = 0
        self._server: asyncio.Server
        self._writers: list[asyncio.StreamWriter] = []

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._carry, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        beyond, back = await asyncio.open_connection("127.0.0.1", self.goal)
        self._writers += [writer, back]
        await asyncio.gather(self._copy(reader, back), self._copy(beyond, writer), return_exceptions=True)

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1 << 16):
            writer.write(data)
        writer.close()

    def cut(self) -> None:
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()


@pytest.fixture
def brokers(tmp_path: Path) -> Iterator[Brokers]:
    network = Brokers(tmp_path)
    for name in LINKS:
        network.start(name)
    yield network
    network.end()


def test_a_broker_is_killed_for_good_and_the_others_repair_the_tree(brokers: Brokers, until: Any) -> None:
    async def play() -> None:
        await until(brokers.are_one_tree)
        async with (
            reknit.connect("127.0.0.1", brokers.mqtt["b4"]) as reader,
            reknit.connect("127.0.0.1", brokers.mqtt["b2"]) as writer,
            reader.subscribe("news") as news,
        ):
            brokers.kill("b1")
            await until(brokers.are_one_tree)
            await until(brokers.have_ideal_routes)
            await writer.publish("news", b"again")
            assert (await anext(aiter(news))).payload == b"again"
            brokers.start("b1")  # it has its old links in mind
            await until(brokers.are_one_tree)
            await until(brokers.have_ideal_routes)
            said = await brokers.all("/topology")
            assert sum(len(each["neighbours"]) for each in said.values()) == 2 * (len(LINKS) - 1)

    asyncio.run(play())


@pytest.mark.parametrize("way", ["standby", "around"])
def test_a_link_is_lost_for_good_and_another_takes_its_place(tmp_path: Path, until: Any, way: str) -> None:
    """By a standby link, where b2 knows of no neighbour of b1; or else to such a neighbour, along the path."""
    brokers = Brokers(tmp_path)
    brokers.links = {"b1": [], "b2": ["b1"], "b3": ["b1"]}
    if way == "standby":
        brokers.standby, brokers.around_max = {"b2": ["b3"]}, 0

    async def play() -> None:
        wires = [Wire(brokers.listen[name]) for name in ("b1", "b2")]  # whichever of the two dials
        for wire in wires:
            await wire.open()
        brokers.start("b3")
        brokers.wires = {"b1": wires[0].port, "b2": wires[1].port}
        brokers.start("b1")
        brokers.start("b2")
        await until(brokers.are_one_tree)
        async with (
            reknit.connect("127.0.0.1", brokers.mqtt["b1"]) as reader,
            reknit.connect("127.0.0.1", brokers.mqtt["b2"]) as writer,
            reader.subscribe("news") as news,
        ):
            for wire in wires:
                wire.cut()
            await until(are_linked)
            await until(brokers.are_one_tree)
            await until(brokers.have_ideal_routes)
            await writer.publish("news", b"again")
            assert (await anext(aiter(news))).payload == b"again"
            tried = [each for each in (await brokers.all("/changes"))["b2"]["history"] if each["kind"] == "replace"]
            assert {each["strategy"] for each in tried if not each["error"]} <= strategies, tried

    async def are_linked() -> bool:
        return list((await brokers.all("/topology"))["b2"]["neighbours"]) == ["b3"]

    strategies = set() if way == "standby" else {"path"}  # or by a search, if it was tried too often by then
    try:
        asyncio.run(play())
    finally:
        brokers.end()
