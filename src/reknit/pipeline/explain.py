"""A flow laid out and not run: how Spark would do each of its tables, as text.

Owns: what stands for a table that is not there yet. Must not know: any flow.

A run writes each table and reads it back for those that need it, so the plan of a table begins with files. Where they
are not there yet, a file of the right columns without a row stands for them, and Spark is told to take it for a large
one: then it plans as for a table that does not fit into memory, and no join is done by sending one side to everybody,
unless a transform asks for that. A transform that has to know something of its input first (how many users there are)
asks what stands for it.
"""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql.types import StructType

from reknit.pipeline.flow import BadFlow
from reknit.pipeline.quarantine import clean_rows, mark
from reknit.pipeline.read import look, read_table
from reknit.pipeline.run import Order, check_inputs, chosen, counts_of

__all__ = ["LaidOut", "explain"]

LaidOut = tuple[str, str]
"""A table's name, and the physical plan of what makes it."""

_SIZE = "spark.sql.sources.fileCompressionFactor"
_LARGE = "1e9"
"""Times its size a file counts for."""


def explain(spark: SparkSession, order: Order) -> list[LaidOut]:
    """``BadFlow`` if the flow was given something it cannot use."""
    check_inputs(order)
    with tempfile.TemporaryDirectory(prefix="reknit-plan-") as directory, _large(spark):
        return list(_laid_out(spark, order, directory))


def _laid_out(spark: SparkSession, order: Order, directory: str) -> Iterator[LaidOut]:
    tables: dict[str, DataFrame | None] = {}
    for each in order.flow.inputs:
        if each.name not in order.inputs:
            tables[each.name] = None
            continue
        path = order.inputs[each.name]
        try:
            rows = read_table(spark, look(spark, path), each.schema, f"{each.name} at {path}")
        except BadFlow:
            yield each.name, f"nothing at {path} yet: laid out for a large table of its columns"
            rows = _stand_in(spark, each.schema, f"{directory}/{each.name}")
        tables[each.name] = clean_rows(mark(rows, each.rules(order.parameters)))
    for step in chosen(order):
        made = step.transform(order.parameters, *(tables[name] for name in step.needs))
        if step.kept:
            yield step.name, _plan(made.observe(Observation(), *counts_of(step)))
            made = _stand_in(spark, step.schema, f"{directory}/{step.name}")
        tables[step.name] = made


def _plan(made: DataFrame) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        made.explain("formatted")
    return printed.getvalue().strip()


def _stand_in(spark: SparkSession, schema: StructType, path: str) -> DataFrame:
    import pyarrow.parquet as pq
    from pyspark.sql.pandas.types import to_arrow_schema

    os.mkdir(path)
    pq.write_table(to_arrow_schema(schema, timezone="UTC").empty_table(), f"{path}/none.parquet")
    return spark.read.schema(schema).parquet(path)


@contextmanager
def _large(spark: SparkSession) -> Iterator[None]:
    before = spark.conf.get(_SIZE, "1.0")
    spark.conf.set(_SIZE, _LARGE)
    try:
        yield
    finally:
        spark.conf.set(_SIZE, before or "1.0")
