"""A segment is there whole or not at all, and is never overwritten."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reknit.model.event import Event
from reknit.trace.columns import BadTrace, to_table
from reknit.trace.records import Kind, Record
from reknit.trace.segments import last_number, name_of, node_directory, read_segment, segments_of, write_segment

TABLE = to_table([Record(float(at), "b1", Kind.PUBLISHED, event=Event("t", seq=at)) for at in range(20)])


@given(st.text(st.characters(codec="utf-8"), max_size=20))
def test_any_name_is_one_directory_and_comes_back(node: str) -> None:
    home = node_directory(Path("trace"), node)
    assert home.parent == Path("trace")
    assert name_of(home) == node


def test_a_name_that_no_directory_can_have() -> None:
    with pytest.raises(BadTrace, match="too long"):
        node_directory(Path(), "b" * 300)


def test_segments_are_listed_by_number_and_nothing_else_is(tmp_path: Path) -> None:
    for name in ("segment-123456789.parquet", "segment-00000002.parquet", ".segment-00000003.partial", "notes.txt"):
        (tmp_path / name).touch()
    assert [path.name for path in segments_of(tmp_path)] == ["segment-00000002.parquet", "segment-123456789.parquet"]
    assert last_number(tmp_path) == 123456789
    assert last_number(tmp_path / "nowhere") == 0


def test_a_taken_number_is_passed_over(tmp_path: Path) -> None:
    assert write_segment(TABLE, tmp_path, 1) == 1
    before = (tmp_path / "segment-00000001.parquet").read_bytes()
    assert write_segment(to_table([]), tmp_path, 1) == 2
    assert (tmp_path / "segment-00000001.parquet").read_bytes() == before


def test_what_a_killed_process_left_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / ".segment-00000001.partial").write_bytes(b"half")
    assert write_segment(TABLE, tmp_path, 1) == 2
    assert len(segments_of(tmp_path)) == 1


def test_a_failed_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("pyarrow.parquet.write_table", full)
    with pytest.raises(OSError, match="no space"):
        write_segment(TABLE, tmp_path, 1)
    assert list(tmp_path.iterdir()) == []


def test_a_truncated_segment_is_refused_at_every_length(tmp_path: Path) -> None:
    write_segment(TABLE, tmp_path, 1)
    (whole,) = segments_of(tmp_path)
    data = whole.read_bytes()
    for length in [*range(0, len(data), 97), len(data) - 1]:
        whole.write_bytes(data[:length])
        with pytest.raises(BadTrace, match=r"segment-00000001\.parquet: "):
            read_segment(whole)


def test_a_flipped_bit_in_the_data_is_noticed(tmp_path: Path) -> None:
    write_segment(TABLE, tmp_path, 1)
    (path,) = segments_of(tmp_path)
    wrote, data, noticed = read_segment(path), path.read_bytes(), 0
    for at in range(4, len(data) // 2, 13):
        path.write_bytes(data[:at] + bytes([data[at] ^ 16]) + data[at + 1 :])
        try:
            assert read_segment(path) == wrote
        except BadTrace:
            noticed += 1
    assert noticed


def test_a_file_of_another_kind_is_named(tmp_path: Path) -> None:
    path = tmp_path / "segment-00000001.parquet"
    path.write_text("hello")
    with pytest.raises(BadTrace, match="segment-00000001"):
        read_segment(path)
