"""Plans of what would be run: from files, for each table, and nothing is written."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from reknit.pipeline.checkins import Window
from reknit.pipeline.explain import explain
from reknit.pipeline.flow import BadFlow
from reknit.pipeline.flows.subscriptions import FLOW as SUBSCRIPTIONS
from reknit.pipeline.flows.synthesize import FLOW as SYNTHESIZE
from reknit.pipeline.flows.visits import FLOW as VISITS
from reknit.pipeline.run import Order
from reknit.pipeline.subscriptions import Following
from reknit.pipeline.synthesize import Crowd
from tests.pipeline.tables import write_checkins

FACTOR = "spark.sql.sources.fileCompressionFactor"


def test_each_table_has_its_plan_from_files_and_nothing_is_run(spark: SparkSession, tmp_path: Path) -> None:
    checkins = write_checkins(tmp_path / "in.parquet")
    before = spark.conf.get(FACTOR)
    found = dict(explain(spark, Order(VISITS, Window(), {"checkins": str(checkins)}, str(tmp_path / "out"))))
    assert list(found) == [step.name for step in VISITS.steps]
    assert f"Location: InMemoryFileIndex [file:{checkins}]" in found["visits"]
    assert "/visits]" in found["pairs"]  # as it is written and read back
    assert all("== Physical Plan ==" in plan and "CollectMetrics" in plan for plan in found.values())
    assert not (tmp_path / "out").exists()
    assert spark.conf.get(FACTOR) == before


def test_what_is_not_there_yet_is_taken_for_a_large_table(spark: SparkSession, tmp_path: Path) -> None:
    order = Order(
        SUBSCRIPTIONS, Following(), {"visits": str(tmp_path / "none"), "edges": str(tmp_path / "none")}, "out"
    )
    found = dict(explain(spark, order))
    assert found["visits"] == f"nothing at {tmp_path / 'none'} yet: laid out for a large table of its columns"
    assert "SortMergeJoin" in found["stays"]
    assert "BroadcastHashJoin" not in found["stays"]


def test_a_flow_without_inputs_and_one_that_lacks_its_input(spark: SparkSession) -> None:
    (made,) = explain(spark, Order(SYNTHESIZE, Crowd(scale=100), {}, "out", only=("checkins",)))
    assert "Range (1, 4000001, step=1, splits=Some(800))" in made[1]
    with pytest.raises(BadFlow, match="visits needs an input"):
        explain(spark, Order(VISITS, Window(), {}, "out"))
