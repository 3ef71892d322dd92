"""``ring`` as a flow, with rates and without."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from reknit.pipeline.flows.ring import FLOW
from reknit.pipeline.mapping import Mapped
from reknit.pipeline.run import Order, run_flow


@pytest.mark.parametrize("rated", [False, True])
def test_the_tables_are_there(spark: SparkSession, tmp_path: Path, rated: bool) -> None:
    wants = [{"broker": f"b{number}", "topic": f"t{(number * step) % 4}"} for number in range(6) for step in (1, 2)]
    pq.write_table(pa.Table.from_pylist(wants), tmp_path / "wants.parquet")
    inputs = {"wants": str(tmp_path / "wants.parquet")}
    if rated:
        rates = [{"topic": f"t{number}", "events": 500.0 * number} for number in range(4)]
        rates += [{"topic": "nobody's", "events": 9.0}] * 2
        pq.write_table(pa.Table.from_pylist(rates), tmp_path / "rates.parquet")
        inputs["rates"] = str(tmp_path / "rates.parquet")
    report = run_flow(spark, Order(FLOW, Mapped(trials=50), inputs, str(tmp_path / "out")))
    places = pq.read_table(tmp_path / "out" / "places").to_pylist()
    assert sorted(row["broker"] for row in places) == [f"b{number}" for number in range(6)]
    costs = {row["quantity"]: row["value"] for row in pq.read_table(tmp_path / "out" / "costs").to_pylist()}
    assert costs["cost after"] <= costs["cost before"]
    assert report.steps[0].left_out == ({"rates of topics that nobody wants": 2} if rated else {})
