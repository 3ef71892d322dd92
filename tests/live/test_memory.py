"""A broker's memory: what is kept comes back, and what is no such file is one clear line."""

from __future__ import annotations

from pathlib import Path

import pytest

from reknit.core.links.former import FORMER_MAX, HOLDERS_MAX
from reknit.core.overlay.notes import Notes, write_notes
from reknit.core.overlay.options import RepairOptions
from reknit.core.overlay.repair import KNOWN_MAX
from reknit.live import memory
from reknit.live.errors import ConfigError
from reknit.live.memory import Memory, recall, remember


def test_what_is_kept_comes_back_and_replaces_what_was(tmp_path: Path) -> None:
    path = tmp_path / "b1.state"
    assert recall(path, "b1") is None
    remember(path, Memory("b1", {"b2": "127.0.0.1:7002"}))
    now = Memory("b1", {"b2": "127.0.0.1:7002", "b3": ""}, {"b4": "h:1"}, '{"closing": {}}')
    remember(path, now)
    assert recall(path, "b1") == now
    assert list(tmp_path.iterdir()) == [path]


def test_what_need_not_outlive_the_machine_does_not_wait_for_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[int] = []
    monkeypatch.setattr(memory.os, "fsync", waits.append)
    path = tmp_path / "b1.state"
    remember(path, Memory("b1", {"b2": ""}), synced=False)
    assert (recall(path, "b1"), len(waits)) == (Memory("b1", {"b2": ""}), 0)
    remember(path, Memory("b1", {}))
    assert (recall(path, "b1"), len(waits)) == (Memory("b1", {}), 1)


def test_a_place_where_it_cannot_be_kept_is_refused_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="none is no directory that can be written to"):
        recall(tmp_path / "none" / "b1.state", "b1")


def test_where_it_cannot_be_written_the_old_one_stays_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(fd: int) -> None:
        raise OSError("no space")

    path = tmp_path / "b1.state"
    remember(path, Memory("b1", {}))
    monkeypatch.setattr(memory.os, "fsync", fail)
    with pytest.raises(OSError, match="no space"):
        remember(path, Memory("b1", {"b2": ""}))
    assert recall(path, "b1") == Memory("b1", {})
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (b"", "no broker's state"),
        (b"\xff", "no broker's state"),
        (b'{"name": "b1"}', "no broker's state"),
        (b'{"name": "b2", "links": {}}', "the state of 'b2', not of 'b1'"),
        (b'{"name": "b1", "links": {"b 2": ""}}', "neighbour: 'b 2' is no broker's name"),
        (b'{"name": "b1", "links": {}, "wanted": {"b2": "x"}}', "neighbour b2: 'x' is no HOST:PORT"),
        (b'{"name": "b1", "links": {}, "notes": "{"}', "no broker's state"),
        (b'{"name": "b1", "links": {}, "notes": "{\\"swap\\": 1}"}', "no broker's state"),
        (b" " * (memory.FILE_BYTES_MAX + 1), "larger than"),
    ],
)
def test_a_broken_file_is_refused_by_name(tmp_path: Path, text: bytes, line: str) -> None:
    path = tmp_path / "b1.state"
    path.write_bytes(text)
    with pytest.raises(ConfigError, match=line) as refused:
        recall(path, "b1")
    assert str(refused.value).startswith(str(path))
    with pytest.raises(ConfigError, match="Is a directory"):
        recall(tmp_path, "b1")


def test_a_broker_can_read_the_most_that_it_may_have_to_remember(tmp_path: Path) -> None:
    """Else it could not begin again, and nobody would know why."""
    name, address = "b" * 64, "host-" * 8 + ".example:65535"
    others = {f"{number:03}{name}"[:64]: address for number in range(RepairOptions().around_max)}
    around = {f"{number:03}{name}"[:64]: others for number in range(KNOWN_MAX)}
    gone = {f"{number:03}{name}"[:64]: list(others)[:HOLDERS_MAX] for number in range(FORMER_MAX)}
    memory = Memory("b1", {}, notes=write_notes(Notes(around=around, gone=gone)))
    remember(tmp_path / "b1.json", memory)
    assert recall(tmp_path / "b1.json", "b1") == memory
