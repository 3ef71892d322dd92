"""The brokers under test, each a process of its own (a chain is three), on free ports of the loopback.

Owns: starting and ending them, and getting mosquitto where it is missing. Must not know: what is measured.

mosquitto gets the settings that are best for it here: no delay of small packets, no bound on queues or on messages in
flight (it would drop), no log, no persistence.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil  # type: ignore[import-untyped]

from reknit.live import address

__all__ = [
    "Missing",
    "Peer",
    "find_mosquitto",
    "free_ports",
    "mosquitto",
    "mosquitto_autosaving",
    "mosquitto_chain",
    "reknit",
    "reknit_chain",
    "relay",
]

START_S_MAX = 15.0
END_S_MAX = 5.0
INSTALL_S_MAX = 300.0


class Missing(Exception):
    """A peer cannot be run here; the text says why."""


@dataclass(frozen=True, slots=True)
class Peer:
    name: str
    publish_port: int
    subscribe_port: int
    processes: tuple[subprocess.Popen[bytes], ...]

    def cpu_s(self) -> float:
        """The processor time that its processes have used so far."""
        times = [psutil.Process(process.pid).cpu_times() for process in self.processes]
        return float(sum(each.user + each.system for each in times))


def free_ports(count: int) -> list[int]:
    """Ports on which nobody listens, and which stay free while the one that listens there is down."""
    return address.free_ports("127.0.0.1", count)


# --- processes


@contextlib.contextmanager
def _running(name: str, commands: list[list[str]], ports: list[int]) -> Iterator[Peer]:
    """Run the commands; the first is where one publishes, the last where one subscribes. ``ports`` are their doors."""
    with contextlib.ExitStack() as stack:
        processes: list[subprocess.Popen[bytes]] = []
        for command, port in zip(commands, ports, strict=True):
            errors = stack.enter_context(tempfile.TemporaryFile())
            processes.append(_start(command, errors))
            stack.callback(_end, processes[-1])
            _await_door(name, processes[-1], port, errors)
        yield Peer(name, ports[0], ports[-1], tuple(processes))


def _start(command: list[str], errors: IO[bytes]) -> subprocess.Popen[bytes]:
    null = subprocess.DEVNULL
    return subprocess.Popen(command, stdin=null, stdout=null, stderr=errors, cwd=_ROOT)


def _await_door(name: str, process: subprocess.Popen[bytes], port: int, errors: IO[bytes]) -> None:
    end = time.monotonic() + START_S_MAX
    while time.monotonic() < end:
        if process.poll() is not None:
            raise Missing(f"{name} ended at once: {_last_line(errors)} (exit code {process.returncode})")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1.0):
            return
        time.sleep(0.05)
    raise Missing(f"{name} did not open its door within {START_S_MAX:.0f} s")


def _last_line(errors: IO[bytes]) -> str:
    errors.seek(0)
    lines = errors.read().decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it did not say why"


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(END_S_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


_ROOT = Path(__file__).resolve().parent.parent


# --- reknit


def _reknit_command(name: str, port: int, listen: int, *more: str) -> list[str]:
    program = [sys.executable, "-c", "from reknit.cli import main; main()", "broker", "--name", name]
    return [*program, "--mqtt", f"127.0.0.1:{port}", "--listen", f"127.0.0.1:{listen}", *more]


@contextlib.contextmanager
def reknit(*more: str) -> Iterator[Peer]:
    """One broker; ``more`` are further options of its command."""
    port, listen = free_ports(2)
    with _running("reknit", [_reknit_command("b1", port, listen, *more)], [port]) as peer:
        yield peer


@contextlib.contextmanager
def reknit_chain(length: int, *more: str) -> Iterator[Peer]:
    """Brokers in a line; each dials the one before it. ``more`` are further options of all their commands."""
    ports = free_ports(2 * length)
    doors, listens = ports[:length], ports[length:]
    commands = []
    for at in range(length):
        before = ["--link", f"b{at}=127.0.0.1:{listens[at - 1]}"] if at else []
        after = ["--expect", f"b{at + 2}"] if at + 1 < length else []
        commands.append(_reknit_command(f"b{at + 1}", doors[at], listens[at], *before, *after, *more))
    with _running("reknit", commands, doors) as peer:
        yield peer


# --- mosquitto


def find_mosquitto() -> tuple[str, str]:
    """Where mosquitto is, installed now if need be, and a remark about that. ``Missing`` if there is none."""
    if path := _which():
        return path, ""
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise Missing("mosquitto is not installed, and only root can install it, with apt-get")
    print("mosquitto is missing; installing it with apt-get", file=sys.stderr)
    for words in (["update"], ["install", "--yes", "--no-install-recommends", "mosquitto"]):
        command = ["apt-get", "--quiet", *words]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=INSTALL_S_MAX, env=_QUIET)
        except (subprocess.SubprocessError, OSError) as error:
            raise Missing(f"mosquitto is not installed, and `{' '.join(command)}` failed ({error})") from None
    if path := _which():
        return path, "mosquitto was installed with apt-get for this run"
    raise Missing("mosquitto was installed, but is nowhere to be found")


_QUIET = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}


def _which() -> str | None:
    return shutil.which("mosquitto", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")


_MOSQUITTO = """\
listener {port} 127.0.0.1
allow_anonymous true
max_queued_messages 0
max_inflight_messages 0
set_tcp_nodelay true
persistence false
log_dest none
"""

_BRIDGE = """\
connection onward
address 127.0.0.1:{port}
topic # out 0
cleansession true
notifications false
restart_timeout 1
"""


_AUTOSAVING = """\
listener {port} 127.0.0.1
allow_anonymous true
max_queued_messages 0
max_inflight_messages 0
set_tcp_nodelay true
user root
persistence true
persistence_location {directory}/
autosave_on_changes true
autosave_interval 1
log_dest none
"""


@contextlib.contextmanager
def mosquitto_autosaving(program: str, directory: Path) -> Iterator[Peer]:
    """One that writes all that it has down after every change, which is the most that it can do against a crash."""
    (port,) = free_ports(1)
    config = directory / "autosaving.conf"
    config.write_text(_AUTOSAVING.format(port=port, directory=directory))
    with _running("mosquitto", [[program, "-c", str(config)]], [port]) as peer:
        yield peer


@contextlib.contextmanager
def mosquitto(program: str, directory: Path) -> Iterator[Peer]:
    with mosquitto_chain(program, directory, 1) as peer:
        yield peer


@contextlib.contextmanager
def mosquitto_chain(program: str, directory: Path, length: int) -> Iterator[Peer]:
    """Brokers in a line, each bridged to the next. The last is started first, so that no bridge has to try twice."""
    ports = free_ports(length)
    commands = []
    for at, port in enumerate(ports):
        onward = _BRIDGE.format(port=ports[at + 1]) if at + 1 < length else ""
        file = directory / f"mosquitto-{length}-{at}.conf"
        file.write_text(_MOSQUITTO.format(port=port) + onward, encoding="utf-8")
        commands.append([program, "-c", str(file)])
    with _running("mosquitto", commands[::-1], ports[::-1]) as peer:
        yield Peer(peer.name, peer.subscribe_port, peer.publish_port, peer.processes)


# --- the relay


@contextlib.contextmanager
def relay() -> Iterator[Peer]:
    (port,) = free_ports(1)
    with _running("relay", [[sys.executable, "-m", "bench.relay", str(port)]], [port]) as peer:
        yield peer
