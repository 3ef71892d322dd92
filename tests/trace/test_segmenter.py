"""A segment is due by count, by time or when told; what cannot be written is counted and told."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from reknit.trace import segmenter
from reknit.trace.records import Kind, Record
from reknit.trace.segmenter import Segmenter
from reknit.trace.segments import node_directory, segments_of
from reknit.trace.store import read_trace


def seen(count: int, start: int = 0) -> list[Record]:
    return [Record(float(at), "b1", Kind.ATTACHED, client="c") for at in range(start, start + count)]


def rows(root: Path) -> list[int]:
    home = node_directory(root, "b1")
    return [pq.read_metadata(path).num_rows for path in segments_of(home)] if home.is_dir() else []


def test_a_full_segment_is_due(tmp_path: Path) -> None:
    subject = Segmenter(tmp_path, "b1", 10, 3600.0)
    subject.add(seen(9))
    assert rows(tmp_path) == []
    subject.add(seen(25, start=9))
    assert rows(tmp_path) == [10, 10, 10]
    subject.flush()
    assert rows(tmp_path) == [10, 10, 10, 4]
    assert read_trace(tmp_path) == seen(34)


def test_a_segment_is_due_when_its_records_span_the_time(tmp_path: Path) -> None:
    subject = Segmenter(tmp_path, "b1", 1000, 5.0)
    for record in seen(8):
        subject.add([record])
    assert rows(tmp_path) == [6]


def test_nothing_is_due_when_there_is_nothing(tmp_path: Path) -> None:
    subject = Segmenter(tmp_path, "b1", 1000, 5.0)
    subject.add([])
    subject.flush()
    assert rows(tmp_path) == []


def test_order_rises_over_segments_and_lives(tmp_path: Path) -> None:
    for _ in range(2):
        subject = Segmenter(tmp_path, "b1", 7, 3600.0)
        subject.add(seen(30))
        subject.flush()
    paths = segments_of(node_directory(tmp_path, "b1"))
    orders = [order for path in paths for order in pq.ParquetFile(path).read()["order"].to_pylist()]
    assert len(orders) == 60
    assert orders == sorted(set(orders))


def test_a_failed_write_is_told_when_writing_works_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError("no space left")

    subject = Segmenter(tmp_path, "b1", 10, 3600.0)
    with monkeypatch.context() as patch:
        patch.setattr(segmenter, "write_segment", full)
        subject.add(seen(3))
        subject.flush()
        subject.flush()
    assert (subject.written, subject.unwritten) == (0, 3)
    subject.add(seen(2, start=3))
    subject.flush()
    *wrote, note = read_trace(tmp_path)
    assert wrote == seen(2, start=3)
    assert (note.kind, note.node, note.size, note.time) == (Kind.UNTRACED, "b1", 3, 4.0)
    assert "no space left" in note.detail
    assert (subject.written, subject.unwritten) == (2, 3)
    subject.flush()
    assert rows(tmp_path) == [3]


def test_a_failure_is_told_even_if_nothing_else_is_seen(tmp_path: Path) -> None:
    subject = Segmenter(tmp_path, "b1", 10, 3600.0)
    subject.add([Record(1.0, "b1", Kind.REFUSED, detail="\ud800")])
    subject.flush()
    subject.flush()
    (note,) = read_trace(tmp_path)
    assert (note.kind, note.size, note.time) == (Kind.UNTRACED, 1, 1.0)
