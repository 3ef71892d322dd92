"""The guide for those who come from mosquitto: its tour runs as written, and what it names is there."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

from reknit.live.config import BrokerFile
from tests.ports import ports_in_a_row

PAGE = (Path(__file__).parents[2] / "docs" / "from-mosquitto.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"<!-- (runs: network|runs|prints) -->\n```(?:sh)?\n(.*?)```", re.DOTALL)
LIMIT_S = 120


def with_ports(text: str) -> str:
    port = ports_in_a_row(3)
    for place in range(3):
        text = text.replace(str(1883 + place), str(port + place))
    return text


def test_the_tour_runs_and_prints_what_the_page_says(tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environ = {**os.environ, "PATH": path}
    printed, kinds = "", []
    network: subprocess.Popen[bytes] | None = None
    try:
        for kind, text in BLOCK.findall(with_ports(PAGE)):
            kinds.append(kind)
            if kind == "runs: network":
                with (tmp_path / "out").open("wb") as out:
                    network = subprocess.Popen(["bash", "-c", f"exec {text}"], cwd=tmp_path, env=environ, stdout=out)
                while "ready" not in (tmp_path / "out").read_text():
                    assert network.poll() is None
                    time.sleep(0.05)
            elif kind == "runs":
                command: list[Any] = ["bash", "-ec", text]
                ran = subprocess.run(
                    command, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=LIMIT_S
                )
                assert (ran.returncode, ran.stderr) == (0, "")
                printed = ran.stdout
            else:
                assert printed == text
    finally:
        if network is not None:
            network.send_signal(signal.SIGINT)
            network.wait(timeout=LIMIT_S)
    assert (kinds.count("runs"), kinds.count("prints")) == (5, 5)


def test_every_key_that_is_named_exists() -> None:
    table = PAGE.split("## mosquitto.conf")[1].split("\n## ")[0]
    keys = msgspec.to_builtins(BrokerFile())
    named = 0
    for line in table.splitlines():
        right = line.split(" | ")[-1]
        if (section := re.search(r"`\[(\w+)\]", right)) is None:
            continue
        assert section[1] in keys
        for key in re.findall(r"`(?:\[\w+\] )?([a-z_]+)(?: = [^`]*)?`", right):
            if key not in ("loopback", "nobody", "everybody"):
                assert key in keys[section[1]], f"[{section[1]}] {key}"
                named += 1
    assert named >= 20
