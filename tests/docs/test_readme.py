"""README.md says what is true: its tour runs as written, and no verb or page is left out."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from reknit.cli import build_app
from tests.ports import ports_in_a_row

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"<!-- (?P<mark>[^>]+) -->\n```(?P<language>\w*)\n(?P<text>.*?)```", re.DOTALL)
BROKERS = 3


@dataclass(frozen=True)
class Block:
    mark: str
    language: str
    text: str


def blocks(port: int) -> list[Block]:
    """The marked blocks, with the ports of this test."""
    text = PAGE
    for place in range(BROKERS):
        text = text.replace(f"{1883 + place}", f"{port + place}")
    return [Block(each["mark"], each["language"], each["text"]) for each in BLOCK.finditer(text)]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[str, str], Path]]:
    """Start a command of the page; the file has what it prints."""
    running: list[subprocess.Popen[bytes]] = []

    def begin(name: str, command: str) -> Path:
        printed = tmp_path / name
        with printed.open("wb") as out:
            running.append(subprocess.Popen(shell(command), cwd=tmp_path, env=environment(), stdout=out))
        return printed

    yield begin
    for process in reversed(running):
        process.send_signal(signal.SIGINT)
        process.wait(timeout=30)


def shell(text: str) -> list[str]:
    return ["bash", "-c", f"exec {text}" if text.count("\n") == 1 else text]


def environment() -> dict[str, str]:
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def run(block: Block, directory: Path) -> str:
    command = [sys.executable, "-c", block.text] if block.language == "python" else shell(block.text)
    # Both outputs together, as a terminal shows them.
    ran = subprocess.run(
        command,
        cwd=directory,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 0, f"{block.text}\n{ran.stdout}"
    return ran.stdout


def wait_for(text: str, file: Path) -> None:
    while text not in file.read_text():
        time.sleep(0.05)


def wait_for_tables(text: str, directory: Path) -> None:
    """While a subscription spreads, a table may not be ideal yet, and the verb says so with its exit code."""
    command = shell("reknit verify-routes\n")
    while text not in subprocess.run(command, cwd=directory, env=environment(), capture_output=True, text=True).stdout:
        time.sleep(0.05)


def test_the_tour_runs_and_prints_what_the_page_says(start: Callable[[str, str], Path], tmp_path: Path) -> None:
    printed, heard, marks = "", Path(), []
    for block in blocks(ports_in_a_row(BROKERS)):
        marks.append(block.mark)
        match block.mark:
            case "runs: network":
                wait_for("ready", start("network", block.text))
            case "runs: subscriber":
                heard = start("subscriber", block.text)
                wait_for_tables(", 2 entries, 0 differences", tmp_path)
            case "the subscriber prints":
                wait_for("\n", heard)
                assert heard.read_text() == block.text
            case "runs":
                printed = run(block, tmp_path)
            case "prints":
                assert printed == block.text
    assert marks.count("runs") == 5
    assert marks.count("prints") == 3


def test_every_verb_is_in_the_table() -> None:
    app = build_app()
    verbs = [each.name for each in app.registered_commands] + [each.name for each in app.registered_groups]
    table = PAGE.split("\n## The commands\n")[1].split("\n## ")[0]
    assert sorted(re.findall(r"`reknit ([\w-]+)`", table)) == sorted(str(verb) for verb in verbs)


def test_every_page_is_linked_and_every_link_leads_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", PAGE)
    assert [link for link in links if not (ROOT / link).exists()] == []
    pages = [*(ROOT / "docs").glob("*.md"), *(path for path in ROOT.glob("*.md") if path.name != "README.md")]
    assert sorted({link for link in links if link.endswith(".md")}) == sorted(
        str(path.relative_to(ROOT)) for path in pages
    )
