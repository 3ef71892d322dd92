"""Files are looked at before they are read: what is broken is set aside, what is missing is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from reknit.pipeline.flow import BadFlow, columns, same_columns
from reknit.pipeline.quarantine import bad_rows, clean_rows, count_reasons, mark
from reknit.pipeline.read import footer, look, not_of_type, read_files, read_table
from tests.pipeline.tables import write_checkins

WANTED = columns(user_id="long", lat="double")


def damage(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 0xFF
    path.write_bytes(bytes(data))


def test_sound_and_broken_files_are_told_apart(spark: SparkSession, tmp_path: Path) -> None:
    good = write_checkins(tmp_path / "a b%2F" / "good.parquet")
    cut = write_checkins(tmp_path / "cut.parquet")
    cut.write_bytes(cut.read_bytes()[:-20])
    (tmp_path / "notes.txt").write_text("no table")
    files = look(spark, str(tmp_path))
    assert ([path.endswith("good.parquet") for path in files.sound], files.rows) == ([True], 5)
    assert [each.path.rpartition("/")[2] for each in files.broken] == ["cut.parquet"]
    assert "magic" in files.broken[0].problem
    rows = read_table(spark, files, WANTED, "x")
    assert rows.count() == pq.read_metadata(good).num_rows
    assert rows.schema.simpleString() == WANTED.simpleString()


def test_a_damaged_page_is_found_by_reading_to_the_end(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"n": list(range(5000))}), path, compression="none", write_page_checksum=True)
    assert footer(f"file:{path}", whole=True) == (5000, None, "n INT64 None")
    damage(path, 2000)
    assert footer(f"file:{path}", whole=False) == (5000, None, "n INT64 None")
    rows, problem, _ = footer(f"file:{path}", whole=True)
    assert rows is None
    assert "CRC" in str(problem)


def test_nothing_to_read_and_missing_columns_are_named(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(BadFlow, match="there is nothing to read"):
        look(spark, str(tmp_path / "nowhere"))
    with pytest.raises(BadFlow, match="there is no Parquet file"):
        look(spark, str(tmp_path))
    files = look(spark, str(write_checkins(tmp_path / "c.parquet")))
    with pytest.raises(BadFlow, match=r"x: there is no column place; there are user_id, ts, lat, lon"):
        read_table(spark, files, columns(user_id="long", place="string"), "x")
    with pytest.raises(BadFlow, match="no trace; the files of one lie in directories node-NAME"):
        read_table(spark, files, columns(user_id="long", run="string"), "x")


def test_files_of_other_types_are_read_and_values_of_none_are_marked(spark: SparkSession, tmp_path: Path) -> None:
    """What is read of a value that cannot be cast is kept; a number with a fraction would be cut off."""
    kinds: list[tuple[pa.DataType, list[Any]]] = [
        (pa.int32(), [1]),
        (pa.int64(), [2**40]),
        (pa.string(), ["3", "abc", None]),
        (pa.float64(), [4.0, 4.5, float("nan"), 1e300]),
        (pa.uint64(), [2**63]),
    ]
    for kind, values in kinds:
        table = pa.table({"user_id": pa.array(values, kind), "lat": [1.0] * len(values)})
        pq.write_table(table, tmp_path / f"{kind}.parquet")
    rows, files = read_files(spark, look(spark, str(tmp_path)), WANTED, "x")
    assert (files.rows, files.broken) == (10, [])
    marked = mark(rows, not_of_type(rows, WANTED))
    assert count_reasons(marked) == {"": 5, "user_id is not a bigint": 5}
    assert sorted(row["user_id"] or 0 for row in clean_rows(marked).collect()) == [0, 1, 3, 4, 2**40]
    assert same_columns(clean_rows(marked).schema, WANTED)
    kept = sorted(json.loads(row["row"])["as_read"]["user_id"] for row in bad_rows(marked, "x").collect())
    assert kept == ["1.0E300", "4.5", str(2**63), "NaN", "abc"]


def test_files_that_cannot_fit_are_set_aside_with_the_reason(spark: SparkSession, tmp_path: Path) -> None:
    write_checkins(tmp_path / "good.parquet")
    pq.write_table(pa.table({"user_id": [1]}), tmp_path / "lacks.parquet")
    pq.write_table(pa.table({"user_id": [{"x": 1}], "lat": [1.0]}), tmp_path / "odd.parquet")
    rows, files = read_files(spark, look(spark, str(tmp_path)), WANTED, "x")
    assert (rows.count(), files.rows, [Path(each).name for each in files.sound]) == (5, 5, ["good.parquet"])
    assert {Path(each.path).name: each.problem for each in files.broken} == {
        "lacks.parquet": "there is no column lat; there are user_id",
        "odd.parquet": "the column user_id is struct<x:bigint>, which never is a bigint",
    }


def test_rows_of_a_trace_know_their_run(spark: SparkSession, tmp_path: Path) -> None:
    for run in ("one", "two"):
        write_checkins(tmp_path / run / "node-b1" / "segment-00000001.parquet")
    rows = read_table(spark, look(spark, str(tmp_path)), columns(run="string", user_id="long"), "x")
    assert {(row["run"], row["n"]) for row in rows.groupBy("run").agg({"*": "count"}).toDF("run", "n").collect()} == {
        ("one", 5),
        ("two", 5),
    }
    write_checkins(tmp_path / "again" / "one" / "node-b1" / "segment-00000001.parquet")
    with pytest.raises(BadFlow, match="two traces have the same name"):
        read_table(spark, look(spark, str(tmp_path)), columns(run="string", user_id="long"), "x")
