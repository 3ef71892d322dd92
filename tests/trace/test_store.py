"""A run is read back as it was written; what many nodes wrote is one history."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow.dataset import dataset

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


@pytest.mark.parametrize("partitioning", [None, "hive"])
def test_other_readers_group_sort_and_pick(tmp_path: Path, partitioning: str | None) -> None:
    write_trace([*seen(2), *seen(1, "b2"), Record(9.0, "", Kind.CALM)], tmp_path)
    table = dataset(tmp_path, partitioning=partitioning).to_table()
    assert table.equals(pq.read_table(tmp_path))
    assert table.sort_by([("node", "descending"), ("time", "ascending")])["node"].to_pylist() == ["b2", "b1", "b1", ""]
    counted = table.group_by(["node", "kind"]).aggregate([([], "count_all")]).to_pylist()
    assert {(row["node"], row["kind"]): row["count_all"] for row in counted} == {
        ("", "calm"): 1,
        ("b1", "published"): 2,
        ("b2", "published"): 1,
    }
    assert pq.read_table(tmp_path, filters=[("node", "==", "b2")])["time"].to_pylist() == [0.0]
