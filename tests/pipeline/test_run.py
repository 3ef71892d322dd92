"""A flow, run: what is written, what is set aside, and that no row gets lost unseen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from reknit.pipeline.flow import BadFlow, Flow, Gaps, Input, Parameters, Part, Rule, Step, columns
from reknit.pipeline.report import Report, RowsLost, StepReport
from reknit.pipeline.run import REPORT, Order, chosen, is_remote, run_flow
from tests.pipeline.tables import write_checkins

USERS = columns(user_id="long", rows="long")


class Least(Parameters, frozen=True):
    least: int = 0
    keep: int = 100


def by_user(told: Least, rows: DataFrame) -> DataFrame:
    counted = rows.groupBy("user_id").agg(F.count(F.lit(1)).alias("rows"))
    return counted.where(F.col("user_id") < told.keep).select(*USERS.fieldNames())


def misnamed(told: Least, rows: DataFrame) -> DataFrame:
    return rows.select("user_id")


IN = Input(
    "checkins",
    "some",
    columns(user_id="long", lat="double"),
    lambda told: (Rule("no user", F.col("user_id").isNull()), Rule("too low", F.col("user_id") < told.least)),
)
FLOW = Flow("f", "by user", Least, (IN,), (Step("users", "by user", ("checkins",), by_user, USERS, carries="rows"),))
ROWS = [(1, None, 1.0, 1.0), (1, None, 2.0, 2.0), (5, None, 3.0, 3.0), (None, None, 3.0, 3.0)]


def order(tmp_path: Path, told: Least, flow: Flow = FLOW) -> Order:
    return Order(flow, told, {"checkins": str(tmp_path / "in")}, str(tmp_path / "out"))


@pytest.fixture
def given(tmp_path: Path) -> Path:
    write_checkins(tmp_path / "in" / "a.parquet", ROWS)
    broken = write_checkins(tmp_path / "in" / "b.parquet", ROWS)
    broken.write_bytes(broken.read_bytes()[:-8])
    return tmp_path


def test_what_is_written_and_what_is_set_aside(spark: SparkSession, given: Path) -> None:
    said: list[str] = []
    report = run_flow(spark, order(given, Least(least=2)), said.append)
    assert said == ["reading checkins", "making users"]
    assert [(each.rows, each.clean, each.quarantined) for each in report.inputs] == [
        (4, 1, {"no user": 1, "too low": 2})
    ]
    assert [path.rpartition("/")[2] for path in report.inputs[0].broken_files] == ["b.parquet"]
    assert pq.read_table(given / "out" / "users").to_pylist() == [{"user_id": 5, "rows": 1}]
    assert pq.read_table(given / "out" / "quarantine" / "checkins").num_rows == 3
    assert msgspec.json.decode((given / "out" / REPORT).read_bytes(), type=Report) == report


def test_a_run_that_loses_rows_fails_and_leaves_no_report(spark: SparkSession, given: Path) -> None:
    run_flow(spark, order(given, Least()))
    assert pq.read_table(given / "out" / "quarantine" / "checkins").num_rows == 1
    with pytest.raises(RowsLost, match="users: checkins has 3 rows, and its own stand for 2"):
        run_flow(spark, order(given, Least(keep=3)))
    assert not (given / "out" / REPORT).exists()


def below(told: Least, rows: DataFrame) -> DataFrame:
    left = rows.where(F.col("user_id") >= told.keep).agg(F.count(F.lit(1)).alias("rows"))
    return left.select(F.lit("checkins").alias("table"), F.lit("users above").alias("reason"), "rows")


def test_what_a_step_leaves_out_is_counted_and_belongs_to_the_balance(spark: SparkSession, given: Path) -> None:
    part = Part("rows of the north", lambda told: F.col("lat") > 0)
    step = Step("users", "", ("checkins",), by_user, USERS, carries="rows", takes=part, leaves=below)
    after = Step(
        "again", "", ("users",), again, USERS, carries="rows", takes=Part("a one", lambda told: F.col("rows") < 2)
    )
    flow = Flow("f", "", Least, (IN,), (step,))
    report = run_flow(spark, order(given, Least(keep=3), flow))
    assert report.steps == [StepReport("users", 1, 2, "rows of the north", {"users above": 1})]
    report = run_flow(spark, order(given, Least(), Flow("f", "", Least, (IN,), (step, after))))
    assert report.steps[1] == StepReport("again", 1, 1, "a one")
    south = Step(
        "users", "", ("checkins",), by_user, USERS, carries="rows", takes=Part("a", lambda told: F.col("lat") > 1)
    )
    with pytest.raises(RowsLost, match="users: checkins has 2 a, and its own stand for 3"):
        run_flow(spark, order(given, Least(), Flow("f", "", Least, (IN,), (south,))))


def again(told: Least, users: DataFrame) -> DataFrame:
    return users.where("rows < 2").select(*USERS.fieldNames())


def test_rows_that_the_source_says_are_missing_make_the_run_fail(spark: SparkSession, given: Path) -> None:
    gaps = Gaps(rows=lambda: F.col("lat") > 1.5, who="user_id", many="lat")
    flow = Flow("f", "", Least, (replace(IN, gaps=gaps),), FLOW.steps)
    with pytest.raises(RowsLost, match=r"checkins: it says itself that records are missing .* with --allow-gaps"):
        run_flow(spark, order(given, Least(), flow))
    assert not (given / "out" / REPORT).exists()
    report = run_flow(spark, replace(order(given, Least(), flow), allow_gaps=True))
    assert report.inputs[0].missing == {"": 3, "1": 2, "5": 3}


def test_a_step_with_other_columns_than_it_says_is_refused(spark: SparkSession, given: Path) -> None:
    flow = Flow("f", "", Least, (IN,), (Step("users", "", ("checkins",), misnamed, USERS),))
    with pytest.raises(BadFlow, match=r"users is struct<user_id:bigint>, not struct<user_id:bigint,rows:bigint>"):
        run_flow(spark, order(given, Least(), flow))


def test_inputs_that_are_missing_or_unknown_are_named(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(BadFlow, match="f needs an input: --input checkins=PATH"):
        run_flow(spark, Order(FLOW, Least(), {}, str(tmp_path)))
    with pytest.raises(BadFlow, match="f has no input x; it has: checkins"):
        run_flow(spark, Order(FLOW, Least(), {"x": "/"}, str(tmp_path)))


def test_one_table_is_made_with_what_it_needs_and_no_more() -> None:
    steps = [("a", ("checkins",)), ("b", ("checkins",)), ("c", ("a",)), ("d", ("b", "c"))]
    flow = Flow("f", "", Least, (IN,), tuple(Step(name, "", needs, by_user, USERS) for name, needs in steps))
    found = {only: [step.name for step in chosen(Order(flow, Least(), {}, "", only=only))] for only in _ONLY}
    assert found == {(): ["a", "b", "c", "d"], ("c",): ["a", "c"], ("b", "a"): ["a", "b"], ("d",): [*"abcd"]}
    with pytest.raises(BadFlow, match="f has no table e; it has: a, b, c, d"):
        chosen(Order(flow, Least(), {}, "", only=("e",)))


_ONLY: tuple[tuple[str, ...], ...] = ((), ("c",), ("b", "a"), ("d",))


def test_places_of_other_file_systems_are_known_by_their_scheme() -> None:
    assert [is_remote(path) for path in ("/x/y", "x", "hdfs://host/x", "s3a://b/x", "file:/x")] == [
        False,
        False,
        True,
        True,
        True,
    ]
