"""What is appended is written, or counted as missing; what many nodes wrote is one history."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reknit.model.event import Event
from reknit.trace import store
from reknit.trace.columns import BadTrace
from reknit.trace.records import Kind, Record
from reknit.trace.segments import node_directory, segments_of
from reknit.trace.store import TraceWriter, read_trace, write_trace


def seen(count: int, node: str = "b1", start: int = 0) -> list[Record]:
    return [
        Record(float(at), node, Kind.PUBLISHED, client="c", event=Event("t", attributes={"n": at}, source=node, seq=at))
        for at in range(start, start + count)
    ]


def files(root: Path) -> list[Path]:
    return segments_of(node_directory(root, "b1"))


def eventually(done: Callable[[], bool]) -> None:
    """Wait for the thread; a writer that never gets there runs into the timeout of the test."""
    while not done():
        threading.Event().wait(0.01)


# --- the writer


def test_all_that_is_appended_is_written(tmp_path: Path) -> None:
    with TraceWriter(tmp_path, "b1") as writer:
        for at in range(0, 1000, 10):
            writer.append(seen(10, start=at))
    assert read_trace(tmp_path) == seen(1000)
    assert (writer.written, writer.dropped, writer.error) == (1000, 0, "")


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


def test_order_rises_over_all_segments(tmp_path: Path) -> None:
    with TraceWriter(tmp_path, "b1", segment_records_max=7) as writer:
        writer.append(seen(30))
    orders = [order for path in files(tmp_path) for order in pq.ParquetFile(path).read()["order"].to_pylist()]
    assert orders == sorted(set(orders))


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


def test_a_failed_write_is_counted_and_told_when_writing_works_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, works = store.write_segment, threading.Event()

    def flaky(*args: object) -> int:
        if not works.is_set():
            raise OSError("no space left")
        return write(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(store, "write_segment", flaky)
    with TraceWriter(tmp_path, "b1", flush_s_max=0.01) as writer:
        writer.append(seen(3))
        eventually(lambda: bool(writer.error))
        works.set()
        writer.append(seen(2, start=3))
    trace = read_trace(tmp_path)
    assert [record for record in trace if record.kind is not Kind.UNTRACED] == seen(2, start=3)
    (note,) = (record for record in trace if record.kind is Kind.UNTRACED)
    assert note.size == 3
    assert "no space left" in note.detail


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


# --- a whole run


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["b1", "b2", "../b 3"])), max_size=20))
def test_a_run_is_read_back_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, run: list[tuple[int, str]]
) -> None:
    root, moment, records = tmp_path_factory.mktemp("run"), 0, []
    for step, node in run:
        moment += step
        records.append(Record(float(moment), node, Kind.CALM, detail=str(len(records))))
    write_trace(records, root)
    assert (read_trace(root) if records else []) == records


def test_a_long_run_has_several_segments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "SEGMENT_RECORDS_MAX", 8)
    write_trace(seen(20), tmp_path)
    assert len(files(tmp_path)) == 3
    assert read_trace(tmp_path) == seen(20)


def test_a_second_run_in_one_directory_is_refused(tmp_path: Path) -> None:
    write_trace(seen(1), tmp_path)
    with pytest.raises(BadTrace, match="there is a trace already"):
        write_trace(seen(1), tmp_path)


WRITE = """
import sys
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.trace.records import Kind, Record
from reknit.trace.store import write_trace
event = Event("t", b"x", {"b": 1, "a": 0.5}, (("k", "v"),), {"z": True, "y": "s"}, source="b1", seq=1)
write_trace([
    Record(at / 7, node, kind, event=event, pattern=Pattern("t/#", "a > 1"), detail=str(at))
    for at, kind in enumerate(Kind) for node in ("b2", "b1", "b3")
], sys.argv[1])
"""


def test_the_same_records_give_the_same_bytes(tmp_path: Path) -> None:
    digests = []
    for seed in ("1", "2"):
        root = tmp_path / seed
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, "-c", WRITE, str(root)], env=environment, check=True, timeout=60)
        paths = sorted(path for path in root.rglob("*") if path.is_file())
        digests.append([(path.relative_to(root), hashlib.sha256(path.read_bytes()).hexdigest()) for path in paths])
    assert len(digests[0]) == 3
    assert digests[0] == digests[1]


# --- reading


def test_many_nodes_are_merged_by_time(tmp_path: Path) -> None:
    for node, times in {"b1": (1.0, 4.0, 5.0), "b2": (2.0, 3.0, 6.0)}.items():
        with TraceWriter(tmp_path, node) as writer:
            writer.append([Record(time, node, Kind.CALM) for time in times])
    assert [record.time for record in read_trace(tmp_path)] == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


def test_a_clock_that_steps_back_does_not_reorder_what_a_node_saw(tmp_path: Path) -> None:
    steps = [Record(time, "b1", Kind.CALM) for time in (5.0, 2.0, 6.0)]
    other = Record(3.0, "b2", Kind.CALM)
    write_trace([*steps, other], tmp_path)
    assert read_trace(tmp_path) == [other, *steps]


def test_where_there_is_no_trace(tmp_path: Path) -> None:
    for root in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(BadTrace, match="there is no trace"):
            read_trace(root)


def test_a_broken_segment_is_named_or_skipped_with_a_note(tmp_path: Path) -> None:
    for life in range(3):
        with TraceWriter(tmp_path, "b1") as writer:
            writer.append(seen(2, start=2 * life))
    broken = files(tmp_path)[1]
    broken.write_bytes(broken.read_bytes()[:-10])
    with pytest.raises(BadTrace, match=r"segment-00000002\.parquet"):
        read_trace(tmp_path)
    trace = read_trace(tmp_path, strict=False)
    note = trace.pop(2)
    assert trace == [*seen(2), *seen(2, start=4)]
    assert (note.kind, note.node, note.time) == (Kind.UNTRACED, "b1", 1.0)
    assert broken.name in note.detail


def test_other_readers_open_the_whole_directory_as_one_table(tmp_path: Path) -> None:
    write_trace([*seen(2), *seen(1, "b 2")], tmp_path)
    table = pq.read_table(tmp_path)
    assert sorted(table["node"].to_pylist()) == ["b 2", "b1", "b1"]
    assert table["topic"].to_pylist() == ["t"] * 3
