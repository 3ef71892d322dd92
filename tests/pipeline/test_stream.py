"""A stream ends with the rows of the batch, over restarts too; and what comes too late is counted."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from reknit.cli import main
from reknit.model.event import Event
from reknit.pipeline.flows.traffic import FLOW
from reknit.pipeline.read import look, read_table
from reknit.pipeline.stream import TOO_LATE, aside, start, tables
from reknit.pipeline.trace import TRACE
from reknit.pipeline.traffic import Watched
from reknit.sim.schedule import run_seed
from reknit.trace.columns import to_table
from reknit.trace.records import Kind, Record
from reknit.trace.segments import write_segment

TOLD = Watched(window_s=0.5, top=5)


def catch_up(spark: SparkSession, trace: Path, out: Path, late_s: float = 60.0) -> None:
    """Read what is there."""
    start(spark, TOLD, str(trace), str(out), late_s=late_s).awaitTermination()


def rows(frame: DataFrame) -> list[str]:
    return sorted(map(str, frame.collect()))


def batch_tables(spark: SparkSession, trace: Path) -> dict[str, list[str]]:
    found = {"trace": read_table(spark, look(spark, str(trace)), TRACE.schema, "trace").cache()}
    for step in FLOW.steps:
        found[step.name] = step.transform(TOLD, *(found[name] for name in step.needs))
    made = {step.name: rows(found[step.name]) for step in FLOW.steps}
    found["trace"].unpersist()
    return made


def parts(records: list[Record], count: int) -> list[list[Record]]:
    size = -(-len(records) // count)
    return [records[at : at + size] for at in range(0, len(records), size)]


def write_parts(trace: Path, count: int) -> Iterator[int]:
    """A run with changes, in so many goes; their numbers."""
    records, order = run_seed(0, "changes").records, 0
    for number, part in enumerate(parts(records, count), 1):
        write_segment(to_table(part, range(order, order + len(part))), trace / "node-all", number)
        order += len(part)
        yield number


@pytest.mark.long
@pytest.mark.parametrize("late_s", [60.0, 2.0])
def test_stream_and_batch_agree_to_the_row(spark: SparkSession, tmp_path: Path, late_s: float) -> None:
    """In several goes, as if the stream had been stopped between them: nothing is read twice, and none forgotten.

    With little time to wait, delays and changes are written while the stream goes on; with much, at its end.
    """
    trace, out = tmp_path / "run", tmp_path / "out"
    for _ in write_parts(trace, 4):
        catch_up(spark, trace, out, late_s)
    streamed = tables(spark, TOLD, str(out))
    wanted = batch_tables(spark, trace)
    assert list(streamed) == list(wanted) == [step.name for step in FLOW.steps]
    for step in FLOW.steps:
        assert streamed[step.name].schema.simpleString() == step.schema.simpleString()
        assert wanted[step.name], step.name
        assert rows(streamed[step.name]) == wanted[step.name], step.name
    assert aside(spark, str(out)) == {}
    settled = spark.read.parquet(str(out / "updates" / "delays")).count()
    assert (settled > 0) == (late_s == 2.0)


@pytest.mark.long
def test_what_comes_too_late_is_counted_and_a_batch_done_twice_counts_once(spark: SparkSession, tmp_path: Path) -> None:
    trace, out = tmp_path / "run", tmp_path / "out"
    for number, time in enumerate((100.0, 101.0, 2.0), 1):
        event = Event("t", source="b1.1", seq=number)
        record = Record(time, "b1", Kind.PUBLISHED, event=event)
        write_segment(to_table([record], [number]), trace / "node-b1", number)
        catch_up(spark, trace, out, late_s=5.0)
    assert aside(spark, str(out)) == {TOO_LATE: 1}
    # As if the stream had died when it had written everything, and not yet that it is done with the batch.
    for log in (out / "checkpoints" / "traffic" / "commits").glob("*2*"):
        log.unlink()
    shutil.rmtree(out / "state" / "done" / "batch=2")
    assert aside(spark, str(out)) == {}
    catch_up(spark, trace, out, late_s=5.0)
    assert aside(spark, str(out)) == {TOO_LATE: 1}
    made = tables(spark, TOLD, str(out))["published"].orderBy("window").collect()
    assert [(row["window"], row["events"]) for row in made] == [(200, 1), (202, 1)]


@pytest.mark.long
def test_a_trace_with_gaps_makes_no_tables_unless_that_is_allowed(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Started again it has them, whatever was said before; and a record of no possible time is set aside."""
    event = Event("t", source="b1.1", seq=1)
    records = [Record(1.0, "b1", Kind.PUBLISHED, event=event), Record(float("inf"), "b1", Kind.CALM)]
    records += [Record(2.0, "b1", Kind.UNTRACED, size=7), Record(2.0, "b2", Kind.UNTRACED)]
    write_segment(to_table(records), tmp_path / "run" / "node-b1", 1)
    words = ["pipeline", "stream", "--from", str(tmp_path / "run"), "--out", str(tmp_path / "out"), "--once", "--json"]
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 1
    assert "records are missing in it (b1: 7, b2: 1)" in capsys.readouterr().err
    assert not (tmp_path / "out" / "published").exists()
    with pytest.raises(SystemExit) as ended:
        main([*words, "--allow-gaps"])
    assert ended.value.code == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["missing"], said["aside"]) == ({"b1": 7, "b2": 1}, {"impossible time": 1})
    assert said["tables"]["published"] == 1
