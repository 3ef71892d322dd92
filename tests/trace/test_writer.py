"""What is appended is written, or counted as missing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from reknit.model.event import Event
from reknit.trace.passage import Passage, expand
from reknit.trace.records import Kind, Record
from reknit.trace.segments import node_directory, segments_of
from reknit.trace.store import read_trace
from reknit.trace.writer import TraceWriter


def seen(count: int, start: int = 0) -> list[Record]:
    return [
        Record(float(at), "b1", Kind.PUBLISHED, client="c", event=Event("t", attributes={"n": at}, source="b1", seq=at))
        for at in range(start, start + count)
    ]


def files(root: Path) -> list[Path]:
    return segments_of(node_directory(root, "b1"))


def eventually(done: Callable[[], bool]) -> None:
    """Wait for the thread; a writer that never gets there runs into the timeout of the test."""
    while not done():
        threading.Event().wait(0.01)


def test_all_that_is_appended_is_written(tmp_path: Path) -> None:
    with TraceWriter(tmp_path, "b1") as writer:
        for at in range(0, 1000, 10):
            writer.append(seen(10, start=at))
    assert read_trace(tmp_path) == seen(1000)
    assert (writer.written, writer.dropped, writer.error) == (1000, 0, "")


def test_a_passage_counts_as_the_records_that_it_stands_for(tmp_path: Path) -> None:
    events = [Event("t", source="b1", seq=at) for at in range(1, 5)]
    passage = Passage(1.0, "b1", "c", events, [("d",)] * 4, settled=True)
    with TraceWriter(tmp_path, "b1", segment_records_max=5, pending_records_max=12) as writer:
        writer.append([passage])
    assert read_trace(tmp_path) == expand([passage])
    assert [pq.read_metadata(path).num_rows for path in files(tmp_path)] == [5, 5, 2]
    assert (writer.written, writer.dropped) == (12, 0)
    with TraceWriter(tmp_path, "b1", segment_records_max=5, pending_records_max=11) as writer:
        writer.append([passage])
        assert writer.dropped == 12


def test_a_segment_has_at_most_its_bound(tmp_path: Path) -> None:
    with TraceWriter(tmp_path, "b1", segment_records_max=300) as writer:
        writer.append(seen(1000))
    rows = [pq.read_metadata(path).num_rows for path in files(tmp_path)]
    assert sum(rows) == 1000
    assert max(rows) == 300


def test_a_full_segment_is_written_before_the_flush_is_due(tmp_path: Path) -> None:
    with TraceWriter(tmp_path, "b1", segment_records_max=100, flush_s_max=3600.0) as writer:
        writer.append(seen(150))
        eventually(lambda: writer.written == 100)
        assert read_trace(tmp_path) == seen(100)


def test_a_part_of_a_segment_is_written_when_the_flush_is_due(tmp_path: Path) -> None:
    with TraceWriter(tmp_path, "b1", flush_s_max=0.01) as writer:
        writer.append(seen(3))
        eventually(lambda: writer.written == 3)
        assert read_trace(tmp_path) == seen(3)


def test_a_restarted_node_continues(tmp_path: Path) -> None:
    for life in range(3):
        with TraceWriter(tmp_path, "b1") as writer:
            writer.append(seen(5, start=5 * life))
    assert [path.name for path in files(tmp_path)] == [f"segment-0000000{number}.parquet" for number in (1, 2, 3)]
    assert read_trace(tmp_path) == seen(15)


def test_nothing_seen_writes_nothing(tmp_path: Path) -> None:
    TraceWriter(tmp_path, "b1").close()
    assert files(tmp_path) == []
    assert read_trace(tmp_path) == []


def test_close_twice_and_append_afterwards(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path, "b1")
    writer.close()
    writer.close()
    writer.append(seen(2))
    assert writer.dropped == 2


def test_what_does_not_fit_is_dropped_and_the_trace_says_so(tmp_path: Path) -> None:
    with TraceWriter(tmp_path, "b1", segment_records_max=10, pending_records_max=10, flush_s_max=3600.0) as writer:
        writer.append(seen(8))
        writer.append(seen(5, start=8))
        assert writer.dropped == 5
    *wrote, note = read_trace(tmp_path)
    assert wrote == seen(8)
    assert (note.kind, note.node, note.size, note.time) == (Kind.UNTRACED, "b1", 5, 7.0)
    assert "full" in note.detail


def test_a_scribe_that_dies_is_replaced_and_the_loss_is_told(tmp_path: Path) -> None:
    with TraceWriter(tmp_path, "b1", flush_s_max=0.01) as writer:
        writer.append(seen(2))
        eventually(lambda: writer.written == 2)
        scribe = writer._scribe
        assert scribe is not None
        os.kill(scribe._process.pid, signal.SIGSTOP)
        writer.append(seen(3, start=2))
        eventually(lambda: scribe.taken == 5)
        os.kill(scribe._process.pid, signal.SIGKILL)
        eventually(lambda: writer.dropped == 3)
        writer.append(seen(1, start=5))
    trace = read_trace(tmp_path)
    assert [record for record in trace if record.kind is Kind.PUBLISHED] == [*seen(2), *seen(1, start=5)]
    (note,) = (record for record in trace if record.kind is Kind.UNTRACED)
    assert note.size == 3
    assert "exit code -9" in note.detail


def test_a_failed_write_is_counted(tmp_path: Path) -> None:
    with TraceWriter(tmp_path, "b1", flush_s_max=0.01) as writer:
        node_directory(tmp_path, "b1").rmdir()
        node_directory(tmp_path, "b1").touch()
        writer.append(seen(3))
        eventually(lambda: writer.dropped == 3)
        assert writer.error
        node_directory(tmp_path, "b1").unlink()
        writer.append(seen(2, start=3))
    trace = read_trace(tmp_path)
    assert [record for record in trace if record.kind is Kind.PUBLISHED] == seen(2, start=3)
    assert [(record.size, record.node) for record in trace if record.kind is Kind.UNTRACED] == [(3, "b1")]


def test_a_value_that_no_column_can_hold_does_not_end_the_trace(tmp_path: Path) -> None:
    with TraceWriter(tmp_path, "b1", flush_s_max=0.01) as writer:
        writer.append([Record(0.0, "b1", Kind.REFUSED, detail="\ud800")])
        eventually(lambda: bool(writer.error))
        writer.append(seen(2))
    assert [record for record in read_trace(tmp_path) if record.kind is Kind.PUBLISHED] == seen(2)


@pytest.mark.parametrize(
    "bounds", [{"segment_records_max": 0}, {"pending_records_max": 1}, {"flush_s_max": 0.0}, {"flush_s_max": -1.0}]
)
def test_bounds_that_cannot_be(tmp_path: Path, bounds: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="segment_records_max <= pending_records_max"):
        TraceWriter(tmp_path, "b1", **bounds)


KILLED = """
import sys, time
from reknit.trace.records import Kind, Record
from reknit.trace.store import TraceWriter
writer = TraceWriter(sys.argv[1], "b1", segment_records_max=100, flush_s_max=3600.0)
for at in range(10**9):
    writer.append([Record(float(at), "b1", Kind.CALM)])
    if writer.written >= 1000:
        print("now", flush=True)
    time.sleep(0.0001)
"""


def test_a_killed_process_leaves_whole_segments(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGKILL)
    times = [record.time for record in read_trace(tmp_path)]
    assert len(times) >= 1000
    assert times == [float(at) for at in range(len(times))]
