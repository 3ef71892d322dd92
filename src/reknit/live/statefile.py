"""The file that a running network leaves in the working directory, by which the other commands find it.

Owns: its name, its shape, and the rule that a directory holds one running network. Must not know: how brokers are
started. The file is replaced as a whole, so a reader never sees half of it.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from reknit.live.errors import ConfigError, NetworkRunning

__all__ = [
    "STATE_FILE",
    "BrokerState",
    "NetworkState",
    "claim",
    "read_state",
    "refuse_if_running",
    "remove_state",
    "write_state",
]

STATE_FILE = "reknit.network.json"
CLAIM_TRIES_MAX = 3


class BrokerState(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    pid: int
    mqtt: str
    listen: str
    admin: str
    """The URL of the operator's door."""
    restarts: int = 0


class NetworkState(msgspec.Struct, frozen=True, kw_only=True):
    pid: int
    """Of the process that looks after the brokers."""
    brokers: list[BrokerState] = []
    links: list[tuple[str, str]] = []
    """As they were when the network started; the brokers know how they are now."""
    door: str = ""
    """The URL at which that process can be asked for a broker more."""

    def broker(self, name: str) -> BrokerState:
        for broker in self.brokers:
            if broker.name == name:
                return broker
        known = ", ".join(broker.name for broker in self.brokers)
        raise ConfigError(f"there is no broker {name!r} in this network; known: {known}")


def claim(directory: Path) -> Path:
    """Make the file, so that this directory is ours; ``NetworkRunning`` if it is somebody's who still lives."""
    path = directory / STATE_FILE
    beside = _beside(path)
    try:
        beside.write_bytes(msgspec.json.encode(NetworkState(pid=os.getpid())))
        for _ in range(CLAIM_TRIES_MAX):
            try:
                path.hardlink_to(beside)  # unlike a rename, fails if the file is there; unlike an open, is never empty
                return path
            except FileExistsError:
                refuse_if_running(directory)
                path.unlink(missing_ok=True)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    finally:
        beside.unlink(missing_ok=True)
    raise NetworkRunning(f"{path}: another network is starting in this directory")


def _beside(path: Path) -> Path:
    return path.with_suffix(f".{os.getpid()}.tmp")


def refuse_if_running(directory: Path) -> None:
    """``NetworkRunning`` if this directory holds a network whose process lives."""
    path = directory / STATE_FILE
    try:
        pid = _decode(path).pid
    except ConfigError:
        return
    if _alive(pid):
        raise NetworkRunning(f"{path}: a network is already running here (process {pid}); end it first")


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def write_state(path: Path, state: NetworkState) -> None:
    beside = _beside(path)
    beside.write_bytes(msgspec.json.format(msgspec.json.encode(state), indent=2) + b"\n")
    beside.replace(path)


def remove_state(path: Path) -> None:
    path.unlink(missing_ok=True)


def read_state(directory: Path) -> NetworkState:
    """The network of this directory; ``ConfigError`` says how to get one."""
    path = directory / STATE_FILE
    if not path.exists():
        way_out = "start one with `reknit up`, or say where the broker is (see --help)"
        raise ConfigError(f"no network here: there is no {STATE_FILE}; {way_out}")
    state = _decode(path)
    if not _alive(state.pid):
        raise ConfigError(f"{path}: its network (process {state.pid}) is gone; start one with `reknit up`")
    if not state.brokers:
        raise ConfigError(f"{path}: the network is still starting; try again when it is ready")
    return state


def _decode(path: Path) -> NetworkState:
    try:
        return msgspec.json.decode(path.read_bytes(), type=NetworkState)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from None
