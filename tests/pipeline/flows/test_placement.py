"""``placement`` as a flow: every user is accounted for."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from reknit.pipeline.flows.placement import FLOW
from reknit.pipeline.placement import Placing
from reknit.pipeline.run import Order, run_flow


def test_every_row_is_accounted_for(spark: SparkSession, tmp_path: Path) -> None:
    rows = [{"user_id": user, "topic": f"t{(user + step) % 5}"} for user in range(40) for step in range(3)]
    bad = [{"user_id": None, "topic": "t1"}, {"user_id": 3, "topic": None}]
    pq.write_table(pa.Table.from_pylist([*rows, rows[0], *bad]), tmp_path / "interests.parquet")
    told = Placing(brokers=6, cluster=3)
    order = Order(FLOW, told, {"interests": str(tmp_path / "interests.parquet")}, str(tmp_path / "out"))
    report = run_flow(spark, order)
    steps = {step.name: step.rows for step in report.steps}
    assert (steps["users"], steps["placed"], steps["compared"]) == (40, 40, 2)
    placed = pq.read_table(tmp_path / "out" / "placed").to_pylist()
    assert sorted(row["user_id"] for row in placed) == list(range(40))
    assert all(row["broker"] // 3 == row["entry"] // 3 for row in placed)
    assert (tmp_path / "out" / "topics.png").exists()
