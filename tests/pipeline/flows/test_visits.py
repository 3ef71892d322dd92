"""Over the real check-ins: exactly the values that were computed independently."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from reknit.pipeline.checkins import CHECKINS, Window
from reknit.pipeline.flows.visits import FLOW
from reknit.pipeline.quarantine import clean_rows, mark
from reknit.pipeline.read import look, read_table
from reknit.pipeline.run import Order, run_flow
from reknit.pipeline.visits import cells, lingers, pairs, repeats, statistics, visits
from tests.pipeline.places import DATA, needs_data
from tests.pipeline.tables import write_checkins

CASES = range(5)
WHOLE = 2
"""The case with the fewest check-ins: as a flow, with all that belongs to it."""
BRIEF = (4,)
"""The one that is looked at every time, beside the whole flow on another; the others take long."""

Found = dict[str, float]


def reference(case: int) -> dict[str, Any]:
    values: list[dict[str, Any]] = json.loads((DATA / "reference_values.json").read_text())
    assert len(values) == len(CASES)
    return values[case]


def check(wanted: dict[str, Any], found: Found, repeated: Found, lingered: Found) -> None:
    shares = [name for name in wanted if name.startswith("share")]
    assert {name: round(found[name], 6) for name in shares} == {name: wanted[name] for name in shares}
    counts = [name for name in found if name not in shares]
    assert {name: found[name] for name in counts} == {name: wanted[name] for name in counts}
    assert len(counts) == 8
    assert repeated == wanted["pairs_by_repeats"]
    assert lingered == wanted["closed_visits_by_linger"]


def window(wanted: dict[str, Any]) -> Window:
    return Window(wanted["grid"], wanted["from"] or "", wanted["to"] or "")


@needs_data
@pytest.mark.parametrize("case", BRIEF)
def test_the_tables_have_the_reference_values(spark: SparkSession, case: int) -> None:
    same_tables(spark, case)


@needs_data
@pytest.mark.long
@pytest.mark.parametrize("case", [case for case in CASES if case not in (WHOLE, *BRIEF)])
def test_the_tables_have_the_reference_values_in_every_window(spark: SparkSession, case: int) -> None:
    same_tables(spark, case)


def same_tables(spark: SparkSession, case: int) -> None:
    wanted = reference(case)
    told = window(wanted)
    rows = read_table(spark, look(spark, str(DATA / wanted["file"])), CHECKINS.schema, "checkins")
    stays = visits(told, clean_rows(mark(rows, CHECKINS.rules(told)))).cache()
    both = pairs(told, stays).cache()
    tables = {
        "statistics": statistics(told, stays, both, cells(told, both)),
        "repeats": repeats(told, both).select("repeats", F.col("pairs").cast("double")),
        "lingers": lingers(told, stays).select("linger", F.col("visits").cast("double")),
    }
    named = [table.toDF("name", "value").withColumn("table", F.lit(name)) for name, table in tables.items()]
    found: dict[str, Found] = {name: {} for name in tables}
    for row in named[0].union(named[1]).union(named[2]).collect():
        found[row["table"]][row["name"]] = row["value"]
    check(wanted, found["statistics"], found["repeats"], found["lingers"])
    stays.unpersist()
    both.unpersist()


@needs_data
def test_the_flow_has_exactly_the_reference_values(spark: SparkSession, tmp_path: Path) -> None:
    wanted = reference(WHOLE)
    report = run_flow(spark, Order(FLOW, window(wanted), {"checkins": str(DATA / wanted["file"])}, str(tmp_path)))
    found = {row["statistic"]: row["value"] for row in pq.read_table(tmp_path / "statistics").to_pylist()}
    repeated = {row["repeats"]: row["pairs"] for row in pq.read_table(tmp_path / "repeats").to_pylist()}
    lingered = {row["linger"]: row["visits"] for row in pq.read_table(tmp_path / "lingers").to_pylist()}
    check(wanted, found, repeated, lingered)
    stays = pq.read_table(tmp_path / "visits")
    assert str(min(stays["start"].to_pylist())) == wanted["first_ts"]
    assert str(max(stays["last"].to_pylist())) == wanted["last_ts"]
    assert report.inputs[0].clean == wanted["checkins"]
    assert all((tmp_path / chart.name).stat().st_size > 0 for chart in FLOW.charts)


def test_figure_5b_stands_for_the_closed_visits(spark: SparkSession, tmp_path: Path) -> None:
    given = {"checkins": str(write_checkins(tmp_path / "checkins.parquet"))}
    report = run_flow(spark, Order(FLOW, Window(), given, str(tmp_path / "out"), only=("lingers",)))
    assert [(step.name, step.carried, step.part) for step in report.steps] == [
        ("visits", 5, ""),
        ("lingers", 1, "closed visits"),
    ]
