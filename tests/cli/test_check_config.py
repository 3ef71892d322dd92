"""``reknit check-config``, and that flags come before the environment, and that before the file."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from reknit.live.address import free_ports

ROOT = Path(__file__).parents[2]


def test_good_and_what_it_says(reknit: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("REKNIT__MQTT__RECEIVE_MAXIMUM", "30")
    said = reknit("check-config", "configs/conformance.toml")
    assert said.code == 0
    first, *settings = said.out.splitlines()
    assert first == "configs/conformance.toml: good, for a broker; 8 settings not at the default"
    assert "  mqtt.receive_maximum = 30  # REKNIT__MQTT__RECEIVE_MAXIMUM" in settings
    assert "  mqtt.keep_alive_s_max = 60" in settings
    said = reknit("check-config", "examples/network.toml", "--json")
    assert said.json["kind"] == "network"


def test_bad_is_one_line(reknit: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text("[mqtt]\nfilters_max = -1\n")
    said = reknit("check-config", str(path))
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
    assert f"reknit: {path}: mqtt.filters_max: " in said.err


def test_flag_over_environment_over_file_over_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a broker that runs: each of the four names it, in turn."""
    mqtt, listen, admin = free_ports("127.0.0.1", 3)
    path = tmp_path / "b.toml"
    places = f'mqtt = "127.0.0.1:{mqtt}"\nlisten = "127.0.0.1:{listen}"\nadmin = "127.0.0.1:{admin}"\n'
    path.write_text(f'[broker]\nname = "of-the-file"\n{places}')

    def name(*flags: str) -> str:
        command = [sys.executable, "-m", "reknit", "broker", "--config", str(path), *flags]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            assert process.stderr is not None
            while json.loads(process.stderr.readline())["event"] != "ready":
                pass
            return str(httpx.get(f"http://127.0.0.1:{admin}/healthz", trust_env=False).json()["name"])
        finally:
            process.terminate()
            process.communicate(timeout=30)

    assert name() == "of-the-file"
    monkeypatch.setenv("REKNIT__BROKER__NAME", "of-the-environment")
    assert name() == "of-the-environment"
    assert name("--name", "of-the-flag") == "of-the-flag"


def test_a_network_takes_the_environment_and_hands_it_to_its_brokers_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start_up: Callable[..., Any]
) -> None:
    """A flag of `up` wins; what the brokers inherit in their own environment does not come over what they are told."""
    monkeypatch.setenv("REKNIT__NETWORK__BROKERS", "7")
    monkeypatch.setenv("REKNIT__MQTT__RECEIVE_MAXIMUM", "33")
    monkeypatch.setenv("REKNIT__NETWORK__SHAPE", "star")
    network = start_up("--shape", "line", directory=tmp_path)
    network.until_ready()
    state = network.state
    assert len(state["brokers"]) == 3
    assert sorted(map(sorted, state["links"])) == [["b1", "b2"], ["b2", "b3"]]

    async def receive_maximum() -> int:
        import aiomqtt

        found: list[int] = []

        class Curious(aiomqtt.Client):
            def _on_connect(self, client: Any, userdata: Any, flags: Any, reason: Any, properties: Any = None) -> None:
                found.append(properties.ReceiveMaximum)
                super()._on_connect(client, userdata, flags, reason, properties)

        async with Curious("127.0.0.1", network.base_port, protocol=aiomqtt.ProtocolVersion.V5):
            return found[0]

    assert asyncio.run(receive_maximum()) == 33
