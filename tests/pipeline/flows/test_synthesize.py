"""The numbers that the paper has published, from check-ins that are the same however the work is cut."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from reknit.pipeline.flow import read_parameters
from reknit.pipeline.flows.synthesize import FLOW
from reknit.pipeline.run import Order, run_flow
from reknit.pipeline.synthesize import PUBLISHED, Crowd, checkins

SMALL = 0.02
OFF_MAX = 0.1
"""At a fiftieth of the people the draws alone are off by a few percent; ``test_population`` is closer."""
FULL_OFF_MAX = 0.02


def fitted(spark: SparkSession, out: Path, scale: float) -> dict[str, float]:
    told = read_parameters(FLOW, {"scale": str(scale), "seed": "11"})
    run_flow(spark, Order(FLOW, told, {}, str(out)))
    rows = {row["statistic"]: row for row in pq.read_table(out / "fit").to_pylist()}
    assert list(rows) == sorted(PUBLISHED)
    for row in rows.values():
        assert row["measured"] == pytest.approx(row["published"] * (1 + row["off"]))
    return {name: row["off"] for name, row in rows.items()}


def test_visits_finds_the_published_numbers(spark: SparkSession, tmp_path: Path) -> None:
    off = fitted(spark, tmp_path, SMALL)
    assert [name for name, value in off.items() if abs(value) > OFF_MAX] in (
        [],
        ["cells_used"],
    )  # so few are not all over
    assert off["users"] == 0


@pytest.mark.long
def test_the_fit_at_the_scale_of_the_paper(spark: SparkSession, tmp_path: Path) -> None:
    off = fitted(spark, tmp_path, 1)
    assert {name: value for name, value in off.items() if abs(value) > FULL_OFF_MAX} == {}


def test_partitions_change_no_row(spark: SparkSession) -> None:
    one, many = (checkins(Crowd(scale=0.002, partitions=number)) for number in (1, 7))
    assert many.rdd.getNumPartitions() == 7
    whole = sorted(map(tuple, one.collect()))
    assert len(whole) > 3000
    assert sorted(map(tuple, many.collect())) == whole
    assert checkins(Crowd(scale=100)).rdd.getNumPartitions() == 800  # of 5,000 people each; nothing is made yet
    larger = checkins(Crowd(scale=0.004, partitions=3))
    assert sorted(map(tuple, larger.where("user_id <= 80").collect())) == whole
