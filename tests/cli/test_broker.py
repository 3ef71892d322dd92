"""``reknit broker``: bad input is one line and exit code 2. How it runs, the tests of the live shell show."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HERE = ["--mqtt", "127.0.0.1:0", "--listen", "127.0.0.1:0"]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (HERE, "--name is missing"),
        (["--name", "b1", "--mqtt", "127.0.0.1:0"], "--listen is missing"),
        (["--name", "b 1", *HERE], "--name: 'b 1' is no broker's name"),
        (["--name", "b1", *HERE, "--admin", "nowhere"], "--admin: 'nowhere' is no HOST:PORT"),
        (["--name", "b1", *HERE, "--link", "b2"], "--link: 'b2' is no NAME=HOST:PORT"),
        (["--name", "b1", *HERE, "--link", "b2=x"], "neighbour b2: 'x' is no HOST:PORT"),
        (["--name", "b1", *HERE, "--link", "b2=h:1", "--link", "b2=h:2"], "'b2' is given twice"),
        (["--name", "b1", *HERE, "--expect", "b1"], "'b1' is this broker itself"),
        (["--name", "b1", *HERE, "--settings", "{"], "--settings: "),
        ([], "--name, --mqtt, --listen are missing"),
        (["--name", "b1", *HERE, "--state", "/dev/null"], "/dev/null: no broker's state"),
        (["--config", "none.toml"], "none.toml: No such file"),
    ],
)
def test_bad_input(reknit: Callable[..., Any], words: list[str], line: str) -> None:
    said = reknit("broker", *words)
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
    assert line in said.err


def test_an_unknown_key_in_its_file(reknit: Callable[..., Any], tmp_path: Path) -> None:
    file = tmp_path / "b1.toml"
    file.write_text("[broker]\nnmae = 'b1'")
    said = reknit("broker", "--config", str(file))
    assert said.code == 2
    allowed = "admin, known_at, listen, mqtt, mqtts, name, relay, state, ws, wss"
    assert said.err == f"reknit: {file}: broker: unknown key 'nmae'; allowed: {allowed}\n"


def test_what_is_required_is_marked_in_the_help(reknit: Callable[..., Any]) -> None:
    said = reknit("broker", "--help").out
    marked = [line.split()[0] for line in said.splitlines() if "[required]" in line]
    assert marked == ["--name", "--mqtt", "--listen"]


def test_a_broker_is_added_to_a_network_that_runs(reknit: Callable[..., Any], start_up: Any, monkeypatch: Any) -> None:
    network = start_up()
    network.until_ready()
    monkeypatch.chdir(network.directory)
    dry = reknit("broker", "add", "b4", "--link", "b2", "--dry-run")
    assert dry.out.startswith("b4 would be linked with b2\n  broker add b4 --link b2\ntouches b2, b4\ntakes about ")
    assert len(network.state["brokers"]) == 3
    said = reknit("broker", "add", "b4", "--link", "b2")
    assert said.code == 0, said.err
    where = network.state["brokers"][3]
    first, second, third = said.out.splitlines()
    assert first == f"b4 is ready: mqtt {where['mqtt']}, links {where['listen']}, admin {where['admin']}"
    assert second.startswith("b4 is linked with b2 in ")
    assert third == "4 brokers, 0 differences between tables and ideal ones"
    assert said.err == "starting b4 ...\n"
    found = reknit("topology", "--json").json["links"]
    assert [(link["a"], link["b"], link["up"]) for link in found] == [
        ("b1", "b2", True),
        ("b2", "b3", True),
        ("b2", "b4", True),
    ]
    assert reknit("verify-routes").code == 0


def test_a_broker_of_its_own_takes_nothing(reknit: Callable[..., Any], network: Any) -> None:
    dry = reknit("broker", "add", "b9", "--dry-run", "--json").json
    assert dry == {"dry_run": True, "steps": ["broker add b9"], "brokers": ["b9"], "messages": 0, "bytes": 0}


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["b1"], "there is a broker 'b1' already; choose another name; try: reknit broker add b4\n"),
        (
            ["b1", "--link", "b2"],
            "there is a broker 'b1' already; choose another name; try: reknit broker add b4 --link",
        ),
        (["b 9"], "'b 9' is no broker's name"),
        (["b9", "--link", "b8"], "there is no broker 'b8' in this network"),
    ],
)
def test_a_broker_that_cannot_be_added(reknit: Callable[..., Any], network: Any, words: list[str], line: str) -> None:
    said = reknit("broker", "add", *words)
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
    assert line in said.err
    assert network.process.poll() is None
