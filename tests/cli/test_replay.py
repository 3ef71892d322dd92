"""``reknit replay``, into a network that runs and into the simulator."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from reknit.trace.wishes import Wish
from tests.trace.test_wishes import write

WISHES = [
    Wish(10.0, True, "b1", "u1", "cell/1"),
    Wish(20.0, True, "b3", "u2", "cell/1"),
    Wish(30.0, False, "b1", "u1", "cell/1"),
]


def test_into_the_network_that_runs_here(reknit: Callable[..., Any], network: Any, tmp_path: Path) -> None:
    stream = str(write(tmp_path, WISHES))
    said = reknit("replay", stream, "--speed", "1000", "--json")
    assert said.code == 0, said.err
    assert (said.json["subscribes"], said.json["unsubscribes"], said.json["clients"]) == (2, 1, 2)
    door = f"b1=127.0.0.1:{network.base_port}"
    text = reknit("replay", stream, "--speed", "0", "--changes", "1", "--broker", door)
    assert "subscribes: 1" in text.out
    assert reknit("replay", stream, "--speed", "0", "--broker", door).code == 1  # where b3 is, nobody has said
    assert reknit("replay", stream, "--broker", "b1").code == 2


def test_into_the_simulator(reknit: Callable[..., Any], tmp_path: Path) -> None:
    stream = str(write(tmp_path, WISHES))
    said = reknit("replay", stream, "--sim", "--speed", "10", "--json").json
    assert (said["subscribes"], said["unsubscribes"], said["brokers"], said["problems"]) == (2, 1, 2, [])
    assert said["frames"] > 0
    assert reknit("replay", stream, "--sim", "--shape", "ring").code == 2
    assert reknit("replay", str(tmp_path / "nowhere"), "--sim").code == 2
