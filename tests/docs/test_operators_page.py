"""The operators' page: the tour of changes runs, and prints what the page says, but for ids, times and ports."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ports import ports_in_a_row

PAGE = (Path(__file__).parents[2] / "docs" / "operators.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"<!-- (runs|refused|prints) -->\n```(?:sh)?\n(.*?)```", re.DOTALL)
BROKERS = 5
ID = re.compile(r"\b(?:b\d|replace|drain|undo)\.[0-9a-f]{8,12}(?:-\d)?\b")
VARYING = [(r"\d+\.\d\d s", "SECONDS"), (r"\d\d:\d\d:\d\d", "CLOCK"), (r"127\.0\.0\.1:\d+", "PORT"), (r" +\n", "\n")]


def plain(text: str) -> str:
    """Without what differs from run to run."""
    text = ID.sub("ID", text)
    for varying, name in VARYING:
        text = re.sub(varying, name, text)
    return text


@pytest.fixture
def network(tmp_path: Path) -> Iterator[Path]:
    port = ports_in_a_row(BROKERS)
    words = ["up", "--brokers", str(BROKERS), "--shape", "line", "--mqtt-base-port", str(port)]
    out = tmp_path / "out"
    with out.open("wb") as file:
        process = subprocess.Popen([sys.executable, "-m", "reknit", *words], cwd=tmp_path, stdout=file)
    while "ready" not in out.read_text():
        assert process.poll() is None
        time.sleep(0.05)
    yield tmp_path
    process.send_signal(signal.SIGINT)
    process.wait(timeout=30)


def run(text: str, directory: Path) -> tuple[str, list[int]]:
    """What the commands print, on both outputs, and their exit codes."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    printed, codes = "", []
    for line in text.splitlines():
        ran = subprocess.run(
            ["bash", "-c", line],
            cwd=directory,
            env={**os.environ, "PATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
        )
        printed += ran.stdout
        codes.append(ran.returncode)
    return printed, codes


def test_the_tour_of_changes_runs_and_prints_what_the_page_says(network: Path) -> None:
    ids: dict[str, str] = {}  # of the page, and what they are here
    printed, kinds = "", []
    for kind, text in BLOCK.findall(PAGE):
        kinds.append(kind)
        if kind == "prints":
            assert plain(printed) == plain(text)
            ids.update(zip(ID.findall(text), ID.findall(printed), strict=True))
        else:
            command = ID.sub(lambda found: ids[found[0]], text)
            printed, codes = run(command, network)
            assert set(codes) == ({2} if kind == "refused" else {0}), printed
    assert kinds.count("prints") == 9
