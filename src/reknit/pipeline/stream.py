"""``traffic`` while it happens: the counts of the batch, kept up as segments of a trace are written.

Owns: the streaming queries, their checkpoints, and what they have written. Must not know: what is made of the counts.

A query reads each segment once, wherever it is started again: its checkpoint knows which. It holds a window's counts
until the watermark has passed the window, and writes those that have changed, under the number of the batch, so that a
batch that is written twice replaces itself. What a key was last said to be counts; so when a stream ends, its tables
have exactly the rows that the batch makes of the same segments. What comes later than the watermark is dropped by
Spark; it is counted, and said.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from reknit.pipeline.flow import columns
from reknit.pipeline.traffic import LOADS, PUBLISHED, Watched, window_of
from reknit.trace.records import Kind

__all__ = ["COUNTS", "Count", "late_rows", "start", "table"]

LATE_S = 60.0
"""How much later than the latest record one may come and still be counted."""

_READ = columns(
    time="double", node="string", kind="string", peer="string", size="long", topic="string", payload_size="long"
)


@dataclass(frozen=True, slots=True)
class Count:
    """One table of ``traffic`` that can be kept up: which records, by what, and which sum."""

    name: str
    schema: StructType
    kind: Kind
    by: tuple[str, ...]
    summed: str
    """The column that is summed."""
    total: str
    """What the sum is called."""


COUNTS = (
    Count("published", PUBLISHED, Kind.PUBLISHED, ("topic",), "payload_size", "payload_bytes"),
    Count("loads", LOADS, Kind.FORWARDED, ("node", "peer"), "size", "bytes"),
)


def start(
    spark: SparkSession, told: Watched, trace: str, out: str, every_s: float | None = None, late_s: float = LATE_S
) -> list[StreamingQuery]:
    """One query for each count. ``every_s``: how often to look for segments; None: once, for what is there now."""
    records = _records(spark, told, trace)
    return [_query(each, records, out, every_s, late_s) for each in COUNTS]


def _records(spark: SparkSession, told: Watched, trace: str) -> DataFrame:
    rows = spark.readStream.schema(_READ).option("pathGlobFilter", "segment-*.parquet").parquet(f"{trace}/node-*")
    run = F.regexp_extract(F.col("_metadata.file_path"), r"([^/]*)/node-[^/]*/[^/]*$", 1)
    # The end, for Spark's watermark begins at zero, where the first window of a simulated run begins, too.
    end_us = ((F.col("window") + 1) * F.lit(told.window_s) * F.lit(1_000_000)).cast("long")
    placed = rows.withColumns({"run": run, "window": window_of(told)})
    return placed.withColumn("at", F.timestamp_micros(end_us))


def _query(count: Count, records: DataFrame, out: str, every_s: float | None, late_s: float) -> StreamingQuery:
    own = records.where(F.col("kind") == count.kind.value).withWatermark("at", f"{round(late_s * 1000)} milliseconds")
    counted = own.groupBy("run", "window", "at", *count.by).agg(
        F.count(F.lit(1)).alias("events"), F.sum(count.summed).alias(count.total)
    )
    writer = counted.select(*count.schema.fieldNames()).writeStream.outputMode("update").queryName(count.name)
    writer = writer.option("checkpointLocation", f"{out}/checkpoints/{count.name}").foreachBatch(
        _write(out, count.name)
    )
    when = {"availableNow": True} if every_s is None else {"processingTime": f"{every_s} seconds"}
    return writer.trigger(**when).start()


def _write(out: str, name: str) -> Callable[[DataFrame, int], None]:
    def write(rows: DataFrame, batch: int) -> None:
        rows.write.mode("overwrite").parquet(f"{out}/updates/{name}/batch={batch}")

    return write


def table(spark: SparkSession, out: str, count: Count) -> DataFrame:
    """What has been counted until now: of each key, what was said last."""
    updates = spark.read.parquet(f"{out}/updates/{count.name}")
    latest = Window.partitionBy("run", "window", *count.by).orderBy(F.desc("batch"))
    last = updates.withColumn("nth", F.row_number().over(latest)).where(F.col("nth") == 1)
    return last.select(*count.schema.fieldNames())


def late_rows(query: StreamingQuery) -> int:
    """Records that came too late to be counted, of the batches that the query remembers."""
    operators = [each for progress in query.recentProgress for each in progress["stateOperators"]]
    return sum(each["numRowsDroppedByWatermark"] for each in operators)
