"""Bad rows are set aside with the first reason that holds; what is unknown is not bad."""

from __future__ import annotations

import json

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from reknit.pipeline.flow import Rule, columns, same_columns
from reknit.pipeline.quarantine import BAD_ROWS, bad_rows, clean_rows, count_reasons, mark


def test_each_row_is_clean_or_has_its_first_reason(spark: SparkSession) -> None:
    rows = spark.createDataFrame(
        [(1, "x"), (None, "x"), (-5, None), (200, "y"), (3, None)], columns(n="long", s="string")
    )
    rules = (Rule("no number", F.col("n").isNull()), Rule("below", F.col("n") < 0), Rule("odd", F.col("n") % 2 != 0))
    marked = mark(rows, rules)
    assert count_reasons(marked) == {"": 1, "no number": 1, "below": 1, "odd": 2}
    assert [tuple(row) for row in clean_rows(marked).collect()] == [(200, "y")]
    bad = bad_rows(marked, "in")
    assert same_columns(bad.schema, BAD_ROWS)
    kept = {(row["reason"], row["row"]) for row in bad.collect()}
    assert ("below", json.dumps({"n": -5}, separators=(",", ":"))) in kept
    assert len(kept) == 4


def test_without_rules_all_is_clean(spark: SparkSession) -> None:
    marked = mark(spark.range(3), ())
    assert count_reasons(marked) == {"": 3}
