"""Files are looked at before they are read: what is broken is set aside, what is missing is named."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from reknit.pipeline.flow import BadFlow, columns
from reknit.pipeline.read import footer, look, read_table
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
    assert footer(f"file:{path}", whole=True) == (5000, None)
    damage(path, 2000)
    assert footer(f"file:{path}", whole=False) == (5000, None)
    rows, problem = footer(f"file:{path}", whole=True)
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
