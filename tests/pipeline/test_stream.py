"""A stream ends with the rows of the batch, over restarts too; and what comes too late is counted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from reknit.cli import main
from reknit.model.event import Event
from reknit.pipeline.read import look, read_table
from reknit.pipeline.stream import COUNTS, late_rows, start, table
from reknit.pipeline.trace import TRACE
from reknit.pipeline.traffic import Watched, loads, published
from reknit.sim.schedule import run_seed
from reknit.trace.columns import to_table
from reknit.trace.records import Kind, Record
from reknit.trace.segments import write_segment

TOLD = Watched(window_s=0.5)
BATCH = {"published": published, "loads": loads}


def catch_up(spark: SparkSession, trace: Path, out: Path, late_s: float = 60.0) -> int:
    """Read what is there; how many records came too late."""
    queries = start(spark, TOLD, str(trace), str(out), late_s=late_s)
    for query in queries:
        query.awaitTermination()
    return sum(map(late_rows, queries))


def rows(frame: DataFrame) -> list[tuple[object, ...]]:
    return sorted(map(tuple, frame.collect()))


@pytest.mark.long
def test_stream_and_batch_agree_to_the_row(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In two goes, as if the stream had been stopped in between: nothing is read twice."""
    records = run_seed(0).records
    trace, half = tmp_path / "run", len(records) // 2
    for number, part in enumerate((records[:half], records[half:]), 1):
        write_segment(to_table(part), trace / "node-all", number)
        assert catch_up(spark, trace, tmp_path / "out") == 0
    counted: dict[str, int] = {}
    whole = read_table(spark, look(spark, str(trace)), TRACE.schema, "trace")
    for count in COUNTS:
        streamed = table(spark, str(tmp_path / "out"), count)
        assert streamed.schema.simpleString() == count.schema.simpleString()
        wanted = rows(BATCH[count.name](TOLD, whole))
        assert wanted
        assert rows(streamed) == wanted
        counted[count.name] = len(wanted)
    words = ["pipeline", "stream", "--from", str(trace), "--out", str(tmp_path / "verb"), "--once", "--window-s", "0.5"]
    with pytest.raises(SystemExit) as ended:
        main([*words, "--json"])
    assert ended.value.code == 0
    assert json.loads(capsys.readouterr().out) == {"out": str(tmp_path / "verb"), "rows": counted, "late": 0}


@pytest.mark.long
def test_what_comes_too_late_is_counted(spark: SparkSession, tmp_path: Path) -> None:
    trace = tmp_path / "run"
    late = 0
    for number, time in enumerate((100.0, 101.0, 2.0), 1):
        event = Event("t", source="b1.1", seq=number)
        write_segment(to_table([Record(time, "b1", Kind.PUBLISHED, event=event)]), trace / "node-b1", number)
        late += catch_up(spark, trace, tmp_path / "out", late_s=5.0)
    assert late == 1
    (published_count, _) = COUNTS
    assert [row[1] for row in rows(table(spark, str(tmp_path / "out"), published_count))] == [200, 202]
