"""What no plan can be made of is said."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from reknit.pipeline.flow import BadFlow
from reknit.pipeline.plan import FLOWS, LINKS, Planned, gains, links, plan_of
from reknit.pipeline.trace import TRACE
from reknit.planning.plan import Rules


def test_without_a_tree_or_events_there_is_no_plan(spark: SparkSession) -> None:
    none = spark.createDataFrame([], FLOWS)
    apart = spark.createDataFrame([("a", "b"), ("c", "d")], LINKS)
    with pytest.raises(BadFlow, match="the trace does not show one whole tree at its end"):
        gains(Planned(), none, apart)
    with pytest.raises(BadFlow, match="the trace has no event"):
        plan_of(none, apart, Rules(), [])


def test_a_plan_is_for_one_network(spark: SparkSession) -> None:
    rows = [{"run": run, "time": 1.0, "order": 1, "node": "a", "kind": "link_added", "peer": "b"} for run in ("x", "y")]
    with pytest.raises(BadFlow, match="a plan is for one network"):
        links(Planned(), spark.createDataFrame(rows, TRACE.schema))
