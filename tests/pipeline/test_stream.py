"""A stream ends with the rows of the batch, over restarts too; what is in no table is set aside."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from reknit.cli import main
from reknit.model.event import Event
from reknit.pipeline.flow import BadFlow
from reknit.pipeline.flows.traffic import FLOW
from reknit.pipeline.journeys import JOURNEYS
from reknit.pipeline.read import look, read_table
from reknit.pipeline.stream import TOO_LATE, start, tables, write_tables
from reknit.pipeline.trace import TRACE
from reknit.pipeline.traffic import Watched, is_kind
from reknit.sim.schedule import run_seed
from reknit.trace.columns import to_table
from reknit.trace.records import Kind, Record
from reknit.trace.segments import write_segment

TOLD = Watched(window_s=0.5, top=5)
LIMIT_S = 170


def catch_up(spark: SparkSession, trace: Path, out: Path, late_s: float = 60.0, **more: int) -> None:
    """Read what is there."""
    start(spark, TOLD, str(trace), str(out), late_s=late_s, **more).awaitTermination()


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


def write_one(trace: Path, number: int, time: float, **more: object) -> Path:
    """A segment with one event that was published."""
    event = Event("t", source="b1.1", seq=number, **more)
    write_segment(to_table([Record(time, "b1", Kind.PUBLISHED, event=event)], [number]), trace / "node-b1", number)
    return trace / "node-b1" / f"segment-{number:08}.parquet"


@pytest.mark.long
@pytest.mark.parametrize("late_s", [60.0, 2.0])
def test_stream_and_batch_agree_to_the_row(spark: SparkSession, tmp_path: Path, late_s: float) -> None:
    """In several goes, as if the stream had been stopped between them: nothing is read twice, and none forgotten.

    With little time to wait, delays and changes are written while the stream goes on; with much, at its end. After
    each second batch what there is becomes one piece, and what it is made of goes, as does what nobody waits for.
    """
    trace, out = tmp_path / "run", tmp_path / "out"
    for _ in write_parts(trace, 8):
        catch_up(spark, trace, out, late_s, compact_every=2)
    streamed = tables(spark, TOLD, str(out))
    wanted = batch_tables(spark, trace)
    assert list(streamed) == list(wanted) == [step.name for step in FLOW.steps]
    for step in FLOW.steps:
        assert streamed[step.name].schema.simpleString() == step.schema.simpleString()
        assert wanted[step.name], step.name
        assert rows(streamed[step.name]) == wanted[step.name], step.name
    assert (out / "pieces" / "delays").exists() == (late_s == 2.0)
    assert sorted(each.name for each in (out / "updates" / "topics").iterdir()) == [
        "batch=4",
        "batch=5",
        "batch=6",
        "batch=7",
    ]
    assert sorted(each.name for each in (out / "pieces" / "topics").iterdir()) == [f"upto={at}" for at in (1, 3, 5, 7)]
    waiting = sorted(each.name for each in (out / "state" / "waiting").iterdir())
    assert ("batch=0" in waiting) == (late_s == 60.0)
    if late_s == 60.0:  # however long they wait, they are written once
        records = read_table(spark, look(spark, str(trace)), TRACE.schema, "trace")
        each = records.where(is_kind(*JOURNEYS)).count()
        assert spark.read.parquet(str(out / "state" / "waiting")).count() == each


@pytest.mark.long
def test_what_comes_too_late_is_kept_aside_and_a_batch_done_twice_counts_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    trace, out = tmp_path / "run", tmp_path / "out"
    for number, moment in enumerate((100.0, 101.0, 2.0), 1):
        write_one(trace, number, moment, attributes={"x": number})
        catch_up(spark, trace, out, late_s=5.0)
    assert write_tables(spark, TOLD, str(out)).aside == {TOO_LATE: 1}
    # As if the stream had died when it had written everything, and not yet that it is done with the batch.
    for log in (out / "checkpoints" / "traffic" / "commits").glob("*2*"):
        log.unlink()
    shutil.rmtree(out / "state" / "done" / "batch=2")
    assert write_tables(spark, TOLD, str(out)).aside == {}
    catch_up(spark, trace, out, late_s=5.0)
    report = write_tables(spark, TOLD, str(out))
    assert (report.aside, report.rows, report.files) == ({TOO_LATE: 1}, 3, 3)
    (kept,) = spark.read.parquet(str(out / "quarantine" / "trace")).collect()
    assert (kept["input"], kept["reason"]) == ("trace", TOO_LATE)
    assert (json.loads(kept["row"])["time"], json.loads(kept["row"])["attributes"]) == (2.0, '{"x":3}')
    made = tables(spark, TOLD, str(out))["published"].orderBy("window").collect()
    assert [(row["window"], row["events"]) for row in made] == [(200, 1), (202, 1)]


def test_broken_segments_are_set_aside_and_the_others_counted(spark: SparkSession, tmp_path: Path) -> None:
    """One without a footer, one with a damaged page, and one whose columns are none of a trace."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    trace, out = tmp_path / "run", tmp_path / "out"
    paths = [write_one(trace, number, 100.0 + number) for number in range(1, 5)]
    paths[1].write_bytes(b"no Parquet")
    damaged = bytearray(paths[2].read_bytes())
    damaged[60] ^= 0xFF
    paths[2].write_bytes(damaged)
    pq.write_table(pa.table({"time": ["noon"], "order": [1]}), trace / "node-b1" / "segment-00000009.parquet")
    catch_up(spark, trace, out)
    report = write_tables(spark, TOLD, str(out))
    assert [path.rpartition("/")[2] for path in report.broken_files] == [
        "segment-00000002.parquet",
        "segment-00000003.parquet",
        "segment-00000009.parquet",
    ]
    assert all(report.broken_files.values())
    assert (report.files, report.rows, report.tables["published"]) == (5, 2, 2)
    # It goes on, and does not look at them again.
    write_one(trace, 10, 110.0)
    catch_up(spark, trace, out)
    report = write_tables(spark, TOLD, str(out))
    assert (report.files, report.rows, len(report.broken_files)) == (6, 3, 3)


def test_a_directory_is_used_on_the_terms_on_which_it_was_begun(spark: SparkSession, tmp_path: Path) -> None:
    trace, out = tmp_path / "run", str(tmp_path / "out")
    write_one(trace, 1, 100.0)
    catch_up(spark, trace, Path(out))
    with pytest.raises(BadFlow, match=r"was begun with window_s 0\.5, not 10\.0: give it the same, or another --out"):
        start(spark, Watched(), str(trace), out)
    with pytest.raises(BadFlow, match=r"late_s 60\.0, not 1\.0"):
        start(spark, TOLD, str(trace), out, late_s=1.0)
    with pytest.raises(BadFlow, match="begun with trace"):
        start(spark, TOLD, str(tmp_path / "other"), out)
    shutil.rmtree(f"{out}/state/begun")
    with pytest.raises(BadFlow, match="is from another version of reknit"):
        start(spark, TOLD, str(trace), out)


def test_tables_take_the_place_of_those_before_all_at_once(spark: SparkSession, tmp_path: Path) -> None:
    trace, out = tmp_path / "run", tmp_path / "out"
    write_one(trace, 1, 100.0)
    catch_up(spark, trace, out)
    write_tables(spark, TOLD, str(out))
    first = os.path.realpath(out / "published")
    write_one(trace, 2, 200.0)
    catch_up(spark, trace, out)
    write_tables(spark, TOLD, str(out))
    assert os.path.realpath(out / "published") != first
    homes = {Path(os.path.realpath(out / step.name)).parent for step in FLOW.steps}
    assert homes == {Path(os.path.realpath(out / "current"))}
    assert [spark.read.parquet(str(place)).count() for place in (first, out / "published")] == [1, 2]
    assert json.loads((out / "report.json").read_text())["rows"] == 2


@pytest.mark.long
@pytest.mark.timeout(2 * LIMIT_S)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_tables_are_there_while_it_runs_and_a_signal_ends_it_cleanly(tmp_path: Path, number: signal.Signals) -> None:
    trace, out = tmp_path / "run", tmp_path / "out"
    write_one(trace, 1, 100.0)
    words = ["pipeline", "stream", "--from", str(trace), "--out", str(out), "--every", "0.5", "--tables-s", "1"]
    command = [sys.executable, "-m", "reknit", *words, "--alpha", "0.5", "--memory", "1g", "--master", "local[2]"]
    environ = os.environ | {"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1"}
    limit = time.monotonic() + LIMIT_S
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        for there in (out / "report.json", out / "state" / "done" / "batch=1" / "told.txt"):
            while not there.exists():
                assert running.poll() is None, running.communicate()
                assert time.monotonic() < limit
                time.sleep(0.2)
            if there.name == "report.json":
                assert json.loads(there.read_text())["tables"]["published"] == 1
                write_one(trace, 2, 101.0)
        running.send_signal(number)
        said, wrong = running.communicate(timeout=LIMIT_S)
    assert (running.returncode, "Traceback" in wrong) == (0, False), wrong
    assert "in   trace: 2 rows in 2 files\n" in said
    assert "out  published: 1 rows\n" in said  # both lie in one window
    assert json.loads((out / "report.json").read_text())["rows"] == 2


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
