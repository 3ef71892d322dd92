"""Errors of Spark, as it raises them, are one line and an exit code."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from reknit.cli import main
from reknit.pipeline.trouble import CHARACTERS_MAX, trouble


def raised(rows: DataFrame) -> str:
    with pytest.raises(PySparkException) as error:
        rows.collect()
    return trouble(error.value)


def test_the_condition_and_the_first_sentence_are_said(spark: SparkSession) -> None:
    said = raised(spark.sql("SELECT CAST('abc' AS BIGINT)"))
    assert said.startswith("Spark has failed: [CAST_INVALID_INPUT] The value 'abc'")
    assert "\n" not in said
    assert len(said) <= CHARACTERS_MAX


def _fail(batches):  # type: ignore[no-untyped-def]
    raise ValueError("no such thing")
    yield


def test_of_a_worker_its_own_error_is_said(spark: SparkSession) -> None:
    assert raised(spark.range(1).mapInPandas(_fail, "id bigint")).endswith("ValueError: no such thing")


def test_a_damaged_page_ends_the_verb_in_one_line(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "checkins.parquet"
    kinds = [("user_id", pa.int64()), ("ts", pa.timestamp("us", "UTC")), ("lat", pa.float64()), ("lon", pa.float64())]
    columns = [list(range(5000)), [None] * 5000, [1.0] * 5000, [1.0] * 5000]
    table = pa.table(columns, schema=pa.schema(kinds))
    pq.write_table(table, path, use_dictionary=False, compression="snappy")
    data = bytearray(path.read_bytes())
    data[100:400] = b"\xff" * 300
    path.write_bytes(bytes(data))
    words = ["pipeline", "run", "visits", "--input", f"checkins={path}", "--out", str(tmp_path / "out")]
    with pytest.raises(SystemExit) as ended:
        main(words)
    said = capsys.readouterr().err
    assert (ended.value.code, said.count("\n")) == (1, 1)
    assert said.startswith("reknit: pipeline: Spark has failed: [FAILED_READ_FILE")
    assert str(path) in said
