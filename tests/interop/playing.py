"""Clients that are not ours, as processes that are played by lines of JSON; and where they come from.

paho-mqtt and aiomqtt are among the locked packages. gmqtt brings a package ``tests`` of its own, which would hide ours,
so it lives in a directory beside; npm's mqtt likewise. Both are installed once, at exact versions, under ``.venv``.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

__all__ = ["KINDS", "Player", "playing"]

KINDS = ("paho", "aiomqtt", "gmqtt", "mosquitto", "mqttjs")
ANSWER_S_MAX = 30.0
INSTALL_S_MAX = 240.0
_ROOT = Path(__file__).parents[2]
_PLAYERS = Path(__file__).parent / "players"
_BESIDE = _ROOT / ".venv" / "interop"


class Player:
    def __init__(self, process: asyncio.subprocess.Process, door: str) -> None:
        self.door = door
        """Of which of a broker's doors it speaks."""
        self.messages: list[dict[str, Any]] = []
        self._process = process
        self._happened: dict[str, int] = {}
        self._news = asyncio.Event()
        self._listener = asyncio.create_task(self._listen())

    async def _listen(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            found = json.loads(line)
            event = found.pop("event")
            if event == "message":
                self.messages.append(found)
            self._happened[event] = self._happened.get(event, 0) + 1
            self._news.set()

    async def until(self, true: Any) -> None:
        async with asyncio.timeout(ANSWER_S_MAX):
            while not true():
                self._news.clear()
                await self._news.wait()

    async def _do(self, awaited: str, **command: Any) -> None:
        before = self._happened.get(awaited, 0)
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command).encode() + b"\n")
        await self._process.stdin.drain()
        await self.until(lambda: self._happened.get(awaited, 0) > before)

    async def connect(
        self, port: int, identifier: str, *, clean: bool = True, version: int = 5, will: dict[str, Any] | None = None
    ) -> None:
        who = {"port": port, "identifier": identifier, "clean": clean, "version": version, "will": will}
        await self._do("connected", do="connect", **who)

    async def subscribe(self, topic: str, qos: int) -> None:
        await self._do("subscribed", do="subscribe", topic=topic, qos=qos)

    async def publish(self, topic: str, payload: str, qos: int, *, retain: bool = False) -> None:
        await self._do("published", do="publish", topic=topic, payload=payload, qos=qos, retain=retain)

    async def disconnect(self) -> None:
        await self._do("disconnected", do="disconnect")

    async def payloads(self, count: int) -> list[str]:
        """Of the first so many messages, once they are there."""
        await self.until(lambda: len(self.messages) >= count)
        return [message["payload"] for message in self.messages]

    async def different_payloads(self, count: int) -> list[str]:
        """The same, without what came again."""
        await self.until(lambda: len({message["payload"] for message in self.messages}) >= count)
        return list(dict.fromkeys(message["payload"] for message in self.messages))

    async def die(self) -> None:
        """Without a word."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, 9)
        await self._process.wait()
        self._listener.cancel()


@contextlib.asynccontextmanager
async def playing(kind: str) -> AsyncIterator[Player]:
    words, environment = await asyncio.to_thread(_prepared, kind)
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *words, stdin=pipe, stdout=pipe, env=environment, start_new_session=True
    )
    player = Player(process, "ws" if kind == "mqttjs" else "mqtt")
    try:
        yield player
    finally:
        await player.die()


# --- where they come from


def _prepared(kind: str) -> tuple[list[str], dict[str, str]]:
    environment = dict(os.environ)
    if kind == "mosquitto" and not (shutil.which("mosquitto_sub") and shutil.which("mosquitto_pub")):
        pytest.skip("mosquitto_sub and mosquitto_pub are not installed (Debian: mosquitto-clients)")
    if kind == "mqttjs":
        return ["node", str(_installed_mqttjs() / "mqttjs_player.mjs")], environment
    if kind == "gmqtt":
        environment["PYTHONPATH"] = str(_installed_gmqtt())
    return [sys.executable, str(_PLAYERS / f"{kind}_player.py")], environment


def _installed_gmqtt() -> Path:
    place = _BESIDE / "gmqtt"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    locked = str(_ROOT / "requirements" / "interop.txt")
    _install(place, [*pip, "--require-hashes", "--target", str(place), "-r", locked])
    return place


def _installed_mqttjs() -> Path:
    if not (shutil.which("node") and shutil.which("npm")):
        pytest.skip("node and npm are not installed")
    place = _BESIDE / "mqttjs"
    place.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "mqttjs_player.mjs"):
        shutil.copy(_PLAYERS / name, place / name)
    npm = ["npm", "install", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"]
    _install(place, [*npm, "--prefix", str(place)])
    return place


def _install(place: Path, command: list[str]) -> None:
    """Once, whoever comes first; a machine without a way to the packages skips, and says so."""
    place.mkdir(parents=True, exist_ok=True)
    done = place / ".installed"
    with (_BESIDE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if done.exists():
            return
        try:
            subprocess.run(command, check=True, capture_output=True, text=True, timeout=INSTALL_S_MAX)
        except subprocess.SubprocessError as error:
            said = (getattr(error, "stderr", "") or str(error)).strip().splitlines()
            pytest.skip(f"{place.name} cannot be installed here: {said[-1] if said else error}")
        done.touch()
