"""One running network for each directory, and a file by which it is found."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from reknit.live.errors import ConfigError, NetworkRunning
from reknit.live.statefile import (
    STATE_FILE,
    BrokerState,
    NetworkState,
    claim,
    read_state,
    remove_state,
    write_state,
)

BROKER = BrokerState(name="b1", pid=1, mqtt="127.0.0.1:1", listen="127.0.0.1:2", admin="http://127.0.0.1:3")


def gone_pid() -> int:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    return ended.pid


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = claim(tmp_path)
    state = NetworkState(pid=os.getpid(), brokers=[BROKER], links=[("b1", "b2")])
    write_state(path, state)
    assert read_state(tmp_path) == state
    assert [each.name for each in tmp_path.iterdir()] == [STATE_FILE]
    remove_state(path)
    assert list(tmp_path.iterdir()) == []


def test_a_second_network_is_refused_while_the_first_lives(tmp_path: Path) -> None:
    claim(tmp_path)
    with pytest.raises(NetworkRunning, match=f"already running here .process {os.getpid()}"):
        claim(tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == [STATE_FILE]


@pytest.mark.parametrize("rest", [b"", b"{", b'{"pid": "x"}', b"\xff"])
def test_what_is_no_state_is_no_network(tmp_path: Path, rest: bytes) -> None:
    (tmp_path / STATE_FILE).write_bytes(rest)
    with pytest.raises(ConfigError, match=STATE_FILE):
        read_state(tmp_path)
    claim(tmp_path)


def test_a_network_that_was_killed_leaves_the_directory_free(tmp_path: Path) -> None:
    (tmp_path / STATE_FILE).write_bytes(msgspec.json.encode(NetworkState(pid=gone_pid(), brokers=[BROKER])))
    with pytest.raises(ConfigError, match="is gone"):
        read_state(tmp_path)
    claim(tmp_path)


def test_no_network_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="`reknit up`, or say where"):
        read_state(tmp_path)


def test_a_network_that_is_starting_says_so(tmp_path: Path) -> None:
    claim(tmp_path)
    with pytest.raises(ConfigError, match="still starting"):
        read_state(tmp_path)


def test_a_broker_is_found_by_name(tmp_path: Path) -> None:
    state = NetworkState(pid=1, brokers=[BROKER])
    assert state.broker("b1") is BROKER
    with pytest.raises(ConfigError, match="no broker 'b9' in this network; known: b1"):
        state.broker("b9")
