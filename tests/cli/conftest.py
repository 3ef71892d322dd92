"""A network for the tests of the verbs: started once by `reknit up`, as a user would."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from reknit.cli import main
from reknit.live.statefile import STATE_FILE
from tests.ports import ports_in_a_row

BROKERS_MAX = 5
"""Of a network of these tests."""


@dataclass(frozen=True)
class Said:
    """What a verb printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Reknit: TypeAlias = Callable[..., Said]


@pytest.fixture
def reknit(capfd: pytest.CaptureFixture[str]) -> Reknit:
    """Run a verb in this process."""

    def run(*words: str) -> Said:
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(words)
        out, err = capfd.readouterr()
        return Said(int(ended.value.code or 0), out, err)

    return run


@dataclass(frozen=True)
class Up:
    """A running ``reknit up``."""

    directory: Path
    process: subprocess.Popen[bytes]
    base_port: int

    @property
    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.directory / STATE_FILE).read_text())
        return found

    def until_ready(self) -> None:
        while not ((self.directory / STATE_FILE).exists() and self.state["brokers"]):
            self.wait_a_little()

    def wait_a_little(self) -> None:
        """For something that a network brings about as long as it runs; if it has ended, its last words say why."""
        assert self.process.poll() is None, (self.directory / "out").read_text()
        time.sleep(0.05)

    def end(self) -> None:
        """Nobody waits for that here."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)


@pytest.fixture(scope="session")
def networks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Up]]:
    """Start networks, each in a directory of its own, that end with the session."""
    started: list[Up] = []

    def start(*more: str, directory: Path | None = None) -> Up:
        where = directory or tmp_path_factory.mktemp("network")
        port = ports_in_a_row(BROKERS_MAX)
        words = [sys.executable, "-m", "reknit", "up", "--brokers", "3", "--mqtt-base-port", str(port), *more]
        with (where / "out").open("wb") as out:
            process = subprocess.Popen(words, cwd=where, stdout=out, stderr=subprocess.STDOUT)
        started.append(Up(where, process, port))
        return started[-1]

    yield start
    for each in started:
        each.end()
    for each in started:
        each.process.wait(timeout=30)


@pytest.fixture
def start_up(networks: Callable[..., Up]) -> Iterator[Callable[..., Up]]:
    """The same, but they are told to end with the test: a network at rest costs a hundredth of a core."""
    started: list[Up] = []

    def start(*more: str, directory: Path | None = None) -> Up:
        started.append(networks(*more, directory=directory))
        return started[-1]

    yield start
    for each in started:
        each.end()


@pytest.fixture(scope="session")
def shared_network(networks: Callable[..., Up]) -> Up:
    network = networks()
    network.until_ready()
    return network


@pytest.fixture
def network(shared_network: Up, monkeypatch: pytest.MonkeyPatch) -> Up:
    """Three brokers in a line; the test is in their directory."""
    monkeypatch.chdir(shared_network.directory)
    return shared_network
