"""What no plan can be made of is said."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from reknit.model.event import Event
from reknit.pipeline.flow import BadFlow
from reknit.pipeline.flows.plan import FLOW
from reknit.pipeline.plan import FLOWS, LINKS, WANTED, Planned, gains, links, plan_of
from reknit.pipeline.report import StepReport
from reknit.pipeline.run import Order, run_flow
from reknit.pipeline.trace import TRACE
from reknit.planning.plan import Rules
from reknit.trace.columns import to_table
from reknit.trace.records import Kind, Record
from reknit.trace.segments import write_segment


def test_without_a_tree_or_events_there_is_no_plan(spark: SparkSession) -> None:
    none = spark.createDataFrame([], FLOWS)
    apart = spark.createDataFrame([("a", "b"), ("c", "d")], LINKS)
    with pytest.raises(BadFlow, match="the trace does not show one whole tree at its end"):
        gains(Planned(), none, apart)
    with pytest.raises(BadFlow, match="the trace has no event"):
        plan_of(none, apart, spark.createDataFrame([], WANTED), Rules())


def test_a_plan_is_for_one_network(spark: SparkSession) -> None:
    rows = [{"run": run, "time": 1.0, "order": 1, "node": "a", "kind": "link_added", "peer": "b"} for run in ("x", "y")]
    with pytest.raises(BadFlow, match="a plan is for one network"):
        links(Planned(), spark.createDataFrame(rows, TRACE.schema))


def test_what_is_in_no_flow_is_said(spark: SparkSession, tmp_path: Path) -> None:
    """Of four events one is in time; of one it is not known where it began."""
    seen = [(1.0, 1, Kind.PUBLISHED), (2.0, 1, Kind.DELIVERED), (5.0, 2, Kind.PUBLISHED), (9.0, 3, Kind.PUBLISHED)]
    seen += [(9.5, 3, Kind.DELIVERED), (5.5, 4, Kind.DELIVERED), (5.6, 4, Kind.DELIVERED)]
    events = [Record(time, "a", kind, event=Event("t", source="a.1", seq=seq)) for time, seq, kind in seen]
    write_segment(to_table([*events, Record(1.0, "a", Kind.CALM)]), tmp_path / "run" / "node-a", 1)
    told = Planned(since=3.0, until=9.0)
    report = run_flow(
        spark, Order(FLOW, told, {"trace": str(tmp_path / "run")}, str(tmp_path / "out"), only=("flows",))
    )
    assert report.steps == [
        StepReport(
            "flows",
            1,
            1,
            "publications and deliveries",
            {
                "deliveries of events whose publication the trace does not have": 2,
                "records of events published too early": 2,
                "records of events published too late": 2,
            },
        )
    ]
