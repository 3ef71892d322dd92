"""A broker's memory: what is kept comes back, and what is no such file is one clear line."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from reknit.core.links.former import FORMER_MAX, HOLDERS_MAX
from reknit.core.overlay.notes import Notes, write_notes
from reknit.core.overlay.options import RepairOptions
from reknit.core.overlay.repair import KNOWN_MAX
from reknit.live import memory
from reknit.live.errors import ConfigError
from reknit.live.memory import Memory, MemoryFile, recall


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "b1.state"


@pytest.fixture
def file(path: Path) -> Iterator[MemoryFile]:
    made = MemoryFile(path)
    yield made
    made.close()


def memory_of(*neighbours: str) -> Memory:
    return Memory("b1", dict.fromkeys(neighbours, ""))


def test_what_is_kept_comes_back_and_replaces_what_was(path: Path, file: MemoryFile) -> None:
    assert recall(path, "b1") is None
    file.remember(Memory("b1", {"b2": "127.0.0.1:7002"}))
    now = Memory("b1", {"b2": "127.0.0.1:7002", "b3": ""}, {"b4": "h:1"}, '{"closing": {}}')
    file.remember(now)
    assert recall(path, "b1") == now
    assert list(path.parent.iterdir()) == [path]


def test_a_line_more_makes_no_new_file_and_what_is_known_already_makes_no_line(path: Path, file: MemoryFile) -> None:
    file.remember(memory_of("b2"))
    before = path.stat().st_ino
    for neighbours in (("b2",), ("b3",), ("b3",)):
        file.remember(memory_of(*neighbours))
    assert path.stat().st_ino == before
    assert [list(json.loads(line)["links"]) for line in path.read_text().splitlines()] == [["b2"], ["b3"]]


def test_each_life_and_each_full_file_begins_anew_with_one_line(
    path: Path, file: MemoryFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    for neighbours in (("b2",), ("b3",)):
        file.remember(memory_of(*neighbours))
    file.close()
    again = MemoryFile(path)
    again.remember(memory_of("b4"))
    assert (recall(path, "b1"), path.read_bytes().count(b"\n")) == (memory_of("b4"), 1)
    monkeypatch.setattr(memory, "LINES_BYTES_MAX", 2 * path.stat().st_size)
    again.remember(memory_of("b5"))
    assert path.read_bytes().count(b"\n") == 2
    again.remember(memory_of("b6"))
    assert (recall(path, "b1"), path.read_bytes().count(b"\n")) == (memory_of("b6"), 1)
    again.close()


def test_a_line_that_its_writer_has_died_over_does_not_count(path: Path, file: MemoryFile) -> None:
    file.remember(memory_of("b2"))
    file.remember(memory_of("b3"))
    whole = path.read_bytes()
    line = whole.splitlines(keepends=True)[1]
    for end in range(len(line)):
        path.write_bytes(whole + line[:end])
        assert recall(path, "b1") == memory_of("b3")


@pytest.mark.parametrize("damage", [b"\0" * 50, b'\0\0"links":{}}', b"\xff\xfe"])
def test_a_line_over_which_the_machine_has_died_does_not_count(path: Path, file: MemoryFile, damage: bytes) -> None:
    """Its end has come to the disk, and its beginning has not."""
    file.remember(memory_of("b2"))
    file.remember(memory_of("b3"))
    path.write_bytes(path.read_bytes() + damage + b"\n")
    assert recall(path, "b1") == memory_of("b3")


def test_a_file_that_was_removed_or_replaced_meanwhile_is_made_again(path: Path, file: MemoryFile) -> None:
    file.remember(memory_of("b2"))
    path.unlink()
    file.remember(memory_of("b2"))
    assert recall(path, "b1") == memory_of("b2")
    path.rename(path.with_name("aside"))
    path.write_text("{}")
    file.remember(memory_of("b3"))
    assert recall(path, "b1") == memory_of("b3")
    assert recall(path.with_name("aside"), "b1") == memory_of("b2")


def test_what_somebody_has_laid_out_over_several_lines_is_read(path: Path) -> None:
    path.write_text('{\n  "name": "b1",\n  "links": {"b2": ""}\n}\n')
    assert recall(path, "b1") == memory_of("b2")


def test_what_need_not_outlive_the_machine_does_not_wait_for_the_disk(
    path: Path, file: MemoryFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda fd: waits.append(os.readlink(f"/proc/self/fd/{fd}")))
    loose = MemoryFile(path, synced=False)
    loose.remember(memory_of("b2"))
    loose.remember(memory_of("b3"))
    loose.close()
    assert (recall(path, "b1"), waits) == (memory_of("b3"), [])
    file.remember(memory_of())
    beside = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    assert (recall(path, "b1"), waits) == (memory_of(), [str(beside), str(path.parent)])
    file.remember(memory_of("b4"))
    assert (recall(path, "b1"), waits[2:]) == (memory_of("b4"), [str(path)])


def test_a_place_where_it_cannot_be_kept_is_refused_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="none is no directory that can be written to"):
        recall(tmp_path / "none" / "b1.state", "b1")


@pytest.mark.parametrize("lines", [1, 2])
def test_where_it_cannot_be_written_the_old_one_stays_and_nothing_is_left(
    path: Path, file: MemoryFile, monkeypatch: pytest.MonkeyPatch, lines: int
) -> None:
    def fail(fd: int) -> None:
        raise OSError("no space")

    path.write_text('{"name": "b1", "links": {"b0": ""}}')
    for _ in range(lines - 1):
        file.remember(memory_of("b0"))
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(OSError, match="no space"):
            file.remember(memory_of("b2"))
    assert recall(path, "b1") == memory_of("b0")
    assert list(path.parent.iterdir()) == [path]
    file.remember(memory_of("b3"))
    assert (recall(path, "b1"), path.read_bytes().count(b"\n")) == (memory_of("b3"), 1)


def test_a_disk_that_is_full_is_an_error_and_half_a_line_does_not_stay(path: Path, file: MemoryFile) -> None:
    resource = pytest.importorskip("resource")
    file.remember(memory_of("b2"))
    before, limits = path.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 5, limits[1]))
    try:
        with pytest.raises(OSError, match="No space left"):
            file.remember(memory_of("b3"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == before


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
        (b'{"name": "b1", "links": {}}\n{"name": "b1"}\n', "no broker's state"),
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
    file = MemoryFile(tmp_path / "b1.json")
    file.remember(memory)
    file.close()
    assert recall(file.path, "b1") == memory
