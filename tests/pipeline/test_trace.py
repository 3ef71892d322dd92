"""Places are those of the reader of traces; records that have none are bad."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from reknit.model.event import Event
from reknit.pipeline.flow import Parameters
from reknit.pipeline.quarantine import count_reasons, mark
from reknit.pipeline.read import look, read_table
from reknit.pipeline.trace import PLACE, TRACE, placed, rules
from reknit.trace.columns import schema, to_table
from reknit.trace.records import Kind, Record
from reknit.trace.segments import write_segment
from reknit.trace.store import read_trace


def test_the_columns_are_those_of_a_trace() -> None:
    assert TRACE.schema.fieldNames() == ["run", *schema().names]


def test_records_are_in_the_order_in_which_a_trace_is_read(spark: SparkSession, tmp_path: Path) -> None:
    """A clock that steps back does not put what a node wrote out of order."""
    b1 = [Record(time, "b1", Kind.CALM, detail=str(time)) for time in (1.0, 5.0, 2.0, 6.0)]
    b2 = [Record(time, "b2", Kind.CALM, detail=str(time)) for time in (1.0, 4.0, 5.0)]
    for records in (b1, b2):
        write_segment(to_table(records), tmp_path / "run" / f"node-{records[0].node}", 1)
    rows = placed(read_table(spark, look(spark, str(tmp_path)), TRACE.schema, "trace")).orderBy(*PLACE).collect()
    wanted = [(each.node, each.detail) for each in read_trace(tmp_path / "run")]
    assert [(row["node"], row["detail"]) for row in rows] == wanted
    assert {row["run"] for row in rows} == {"run"}


def test_bad_records_are_known(spark: SparkSession, tmp_path: Path) -> None:
    event = Event("t", source="b1.1", seq=1)
    good = [Record(1.0, "b1", Kind.CALM), Record(1.0, "b1", Kind.DELIVERED, client="c", event=event)]
    table = to_table([*good, Record(1.0, "b1", Kind.DELIVERED, client="c"), Record(float("nan"), "b1", Kind.CALM)])
    worlds_end = [Record(time, "b1", Kind.CALM) for time in (float("inf"), float("-inf"), 1e300)]
    write_segment(to_table(worlds_end, range(10, 13)), tmp_path / "run" / "node-b1", 2)
    write_segment(table, tmp_path / "run" / "node-b1", 1)
    rows = read_table(spark, look(spark, str(tmp_path)), TRACE.schema, "trace")
    assert count_reasons(mark(rows, rules(Parameters()))) == {
        "": 2,
        "no event": 1,
        "no time": 1,
        "impossible time": 3,
    }
