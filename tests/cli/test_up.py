"""``reknit up``: what it prints, what it refuses, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def test_it_prints_every_address_and_ends_cleanly_on_ctrl_c(start_up: Callable[..., Any]) -> None:
    network = start_up("--shape", "star")
    network.until_ready()
    state = network.state
    assert state["links"] == [["b1", "b2"], ["b1", "b3"]]
    assert [broker["mqtt"] for broker in state["brokers"]] == [f"127.0.0.1:{network.base_port + n}" for n in range(3)]
    network.process.send_signal(signal.SIGINT)
    assert network.process.wait(timeout=30) == 0
    printed = (network.directory / "out").read_text()
    lines = [line for line in printed.splitlines() if not line.startswith(("b1: ", "b2: ", "b3: "))]  # their own words
    assert lines[-2:] == ["ready; end with Ctrl-C", "ending 3 brokers"]
    assert printed.splitlines()[-1] == "ending 3 brokers"
    for broker in state["brokers"]:
        assert all(broker[key] in printed for key in ("name", "mqtt", "listen", "admin"))
        with pytest.raises(ProcessLookupError):
            os.kill(broker["pid"], 0)
    assert [each.name for each in network.directory.iterdir()] == ["out"]


def test_its_addresses_as_json(start_up: Callable[..., Any]) -> None:
    network = start_up("--json")
    network.until_ready()
    network.process.send_signal(signal.SIGINT)
    assert network.process.wait(timeout=30) == 0
    printed = (network.directory / "out").read_text()
    told = json.JSONDecoder().raw_decode(printed, printed.index("{\n"))[0]
    assert [broker["mqtt"] for broker in told["brokers"]] == [f"127.0.0.1:{network.base_port + n}" for n in range(3)]


def test_a_second_one_in_the_directory_is_refused(reknit: Callable[..., Any], network: Any) -> None:
    said = reknit("up", "--mqtt-base-port", str(network.base_port))
    assert said.code == 2
    assert f"a network is already running here (process {network.process.pid})" in said.err


def test_a_taken_port_is_one_clear_line(reknit: Callable[..., Any], monkeypatch: Any, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        said = reknit("up", "--brokers", "1", "--mqtt-base-port", str(port))
    assert said.code == 2
    assert said.err == f"reknit: 127.0.0.1:{port} is taken; choose others, such as with --mqtt-base-port\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--shape", "ring"], "--shape ring: Invalid enum value 'ring'; allowed: line, random, star"),
        (["--brokers", "0"], "--brokers 0: a whole number of at least 1 is wanted"),
        (["--routing", "best"], "--routing best: Invalid enum value 'best'; allowed: "),
        (["--mqtt-base-port", "65535"], "--mqtt-base-port 65535: 3 brokers would need ports up to 65537"),
        (["none.toml"], "/none.toml: No such file"),
        (["listed.toml", "--brokers", "2"], "--brokers: the file lists its brokers under [[broker]]"),
        (["--routing", "rendezvous", "--store", "."], ": a broker that routes by rendezvous has no store"),
        (["ring.toml"], "options.ring.id: 3 brokers would be at one place of the ring"),
        (["cycle.toml"], "cycle.toml: the links form a cycle: y - x - y"),
    ],
)
def test_bad_input(reknit: Callable[..., Any], monkeypatch: Any, tmp_path: Path, words: list[str], line: str) -> None:
    monkeypatch.chdir(tmp_path)
    listed = '[[broker]]\nname = "x"\n[[broker]]\nname = "y"\n'
    Path("listed.toml").write_text(listed)
    Path("cycle.toml").write_text(listed + '[[link]]\na = "x"\nb = "y"\n' * 2)
    Path("ring.toml").write_text('[options]\nrouting = "rendezvous"\nring = { id = 5 }\n')
    said = reknit("up", *words)
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
    assert line in said.err.replace("x - y - x", "y - x - y")


def test_each_broker_keeps_what_is_acknowledged_in_a_file_of_the_directory(start_up: Callable[..., Any]) -> None:
    network = start_up("--brokers", "2", "--store", "stores")
    network.until_ready()
    network.process.send_signal(signal.SIGINT)
    assert network.process.wait(timeout=30) == 0
    assert sorted(each.name for each in (network.directory / "stores").iterdir()) == ["b1.store", "b2.store"]
