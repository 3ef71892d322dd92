"""The flow finds exactly what a broker's pattern matches, in a run of the simulator."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from reknit.pipeline.backtest import Tried
from reknit.pipeline.flows.backtest import FLOW
from reknit.pipeline.run import Order, run_flow
from reknit.sim.schedule import run_seed
from reknit.trace.records import Kind
from tests.pipeline.cases import case, write


def test_it_is_what_a_subscriber_would_have_received(spark: SparkSession, tmp_path: Path) -> None:
    outcome = run_seed(0)
    write(case("run", outcome, outcome.records), tmp_path / "runs")
    patterns = [each.pattern for each in outcome.records if each.pattern is not None and each.pattern.selector]
    pattern = Counter(patterns).most_common(1)[0][0]
    published = [each for each in outcome.records if each.kind is Kind.PUBLISHED and each.event is not None]
    wanted = [each for each in published if each.event is not None and pattern.matches(each.event)]
    assert 0 < len(wanted) < len(published)
    tried = Tried(pattern.topic, pattern.selector, 1.0)
    report = run_flow(spark, Order(FLOW, tried, {"trace": str(tmp_path / "runs")}, str(tmp_path / "out")))
    found = pq.read_table(tmp_path / "out" / "received").to_pylist()
    assert sorted((row["source"], row["seq"]) for row in found) == sorted(
        each.event.id for each in wanted if each.event
    )
    by_publisher = pq.read_table(tmp_path / "out" / "by_publisher").to_pylist()
    assert {(row["node"], row["client"]): row["events"] for row in by_publisher} == Counter(
        (each.node, each.client) for each in wanted
    )
    assert [each.carried for each in report.steps] == [None, *[len(wanted)] * 3]
