"""The flow over the real check-ins: exactly the values that were computed independently."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from reknit.pipeline.checkins import Window
from reknit.pipeline.flows.visits import FLOW
from reknit.pipeline.run import Order, run_flow
from tests.pipeline.places import DATA, needs_data

CASES = range(5)


def reference(case: int) -> dict[str, Any]:
    values: list[dict[str, Any]] = json.loads((DATA / "reference_values.json").read_text())
    assert len(values) == len(CASES)
    return values[case]


@needs_data
@pytest.mark.parametrize("case", CASES)
def test_it_has_exactly_the_reference_values(spark: SparkSession, tmp_path: Path, case: int) -> None:
    wanted = reference(case)
    window = Window(wanted["grid"], wanted["from"] or "", wanted["to"] or "")
    order = Order(FLOW, window, {"checkins": str(DATA / wanted["file"])}, str(tmp_path))
    report = run_flow(spark, order)
    found = {row["statistic"]: row["value"] for row in pq.read_table(tmp_path / "statistics").to_pylist()}
    shares = [name for name in wanted if name.startswith("share")]
    assert {name: round(found[name], 6) for name in shares} == {name: wanted[name] for name in shares}
    counts = [name for name in found if name not in shares]
    assert {name: found[name] for name in counts} == {name: wanted[name] for name in counts}
    assert len(counts) == 8
    repeats = {row["repeats"]: row["pairs"] for row in pq.read_table(tmp_path / "repeats").to_pylist()}
    assert repeats == wanted["pairs_by_repeats"]
    lingers = {row["linger"]: row["visits"] for row in pq.read_table(tmp_path / "lingers").to_pylist()}
    assert lingers == wanted["closed_visits_by_linger"]
    stays = pq.read_table(tmp_path / "visits")
    assert str(min(stays["start"].to_pylist())) == wanted["first_ts"]
    assert str(max(stays["last"].to_pylist())) == wanted["last_ts"]
    assert report.inputs[0].clean == wanted["checkins"]
    assert all((tmp_path / chart.name).stat().st_size > 0 for chart in FLOW.charts)
