"""``traffic`` while it happens: all tables of the batch, kept up as segments of a trace are written.

Owns: the streaming query, its checkpoint, what it keeps from one batch to the next, and the tables that are made of it.
Must not know: what is made of the tables.

The query reads each segment once, wherever it is started again: its checkpoint knows which. What it makes of a batch is
written under the number of the batch, so a batch that is done twice replaces itself, and it reads nothing but its
records and what the batch before has left. There are three kinds of results:

- *sums* by window (topics, links, brokers), and what was said last (subscriptions, lives): each batch adds its part;
- *delays*, which need all records of an event: those wait for each other, until the watermark has passed the event;
- *changes* of the tree, which need what happened between two moments that are known only later: windows are enough
  but for those in which a step was taken, so single moments are kept of these, and of windows that may still get one.

The watermark is the latest time that the batches before have seen, less what is allowed to be late. What comes later
than that is in no table; it is counted, and said. Otherwise a stream's tables are, to the row, those that the batch
makes of the same segments.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import ArrayType, LongType, StructField, StructType

from reknit.pipeline.changes import CHANGE_ROWS, change_rows
from reknit.pipeline.flow import columns
from reknit.pipeline.quarantine import mark
from reknit.pipeline.run import is_remote
from reknit.pipeline.trace import TRACE
from reknit.pipeline.traffic import (
    CHANGES,
    LOADS,
    PUBLISHED,
    SUBSCRIPTIONS,
    TOPIC_SUMS,
    Watched,
    is_kind,
    joined,
    journeys,
    measured,
    ranked,
    rates,
    summed,
    window_of,
)
from reknit.trace.records import Kind

__all__ = ["LATE_S", "aside", "start", "tables"]

LATE_S = 60.0
"""How much later than the latest record one may come and still be counted."""
SEGMENTS_MAX = 1_000
"""In one batch: when there is much to catch up with, that is in memory at once."""
STATES_KEPT = 3
"""Of the last batches: the one before is needed to do a batch again."""

_EVENTS = (Kind.PUBLISHED, Kind.FORWARDED, Kind.DELIVERED)
_ROUTES = (Kind.ROUTE_ADDED, Kind.ROUTE_REMOVED)
_LIVES = (Kind.STARTED, Kind.CRASHED)
_WISHES = (Kind.SUBSCRIBED, Kind.UNSUBSCRIBED)
_WISH = ("run", "node", "client", "pattern_topic", "selector")
_UNREAD = ("qos", "attributes", "properties", "derived", "content_type")
"""Columns that no table needs: they are not held in memory."""
_REASON = "__reason"
TOO_LATE = "too late"

_TOPICS = columns(
    run="string", window="long", topic="string", payload_bytes="long", **dict.fromkeys(TOPIC_SUMS, "long")
)
_BROKERS = columns(run="string", window="long", node="string", routes="long", crossed="long")
_SAID = columns(**dict.fromkeys(_WISH, "string"), order="long", kind="string")
_BEGUN = columns(run="string", node="string", begun="long")
_STEPS = columns(
    run="string", latest="double", order="long", node="string", time="double", peer="string", detail="string"
)
_MOMENTS = columns(run="string", window="long", node="string", time="double", routes="long", crossed="long")
_DELAYS = columns(run="string", hops="int", delay="double")
_ASIDE = columns(reason="string", rows="long")
_CLOCKS = columns(what="string", run="string", node="string", latest="double")
_BEGUN_AT = columns(time="double", node="string")
_HOP = columns(latest="double", order="long", node="string", peer="string")
_TAKEN = columns(node="string", time="double")
_WAITING = StructType(
    [
        *columns(run="string", source="string", seq="long").fields,
        StructField("begun", _BEGUN_AT),
        StructField("way", ArrayType(_HOP)),
        StructField("taken", ArrayType(_TAKEN)),
        *columns(newest="double").fields,
    ]
)
"""Journeys of events that may not be over, a row each."""


def start(
    spark: SparkSession,
    told: Watched,
    trace: str,
    out: str,
    every_s: float | None = None,
    late_s: float = LATE_S,
    segments_max: int = SEGMENTS_MAX,
) -> StreamingQuery:
    """``every_s``: how often to look for segments; None: until all that is there now is read."""
    schema = StructType([field for field in TRACE.schema.fields if field.name != "run"])
    reader = spark.readStream.schema(schema).option("pathGlobFilter", "segment-*.parquet")
    rows = reader.option("maxFilesPerTrigger", segments_max).parquet(f"{trace}/node-*")
    run = F.regexp_extract(F.col("_metadata.file_path"), r"([^/]*)/node-[^/]*/[^/]*$", 1)
    marked = mark(rows.withColumns({"run": run, "window": window_of(told)}), TRACE.rules(told)).drop(*_UNREAD)
    writer = marked.writeStream.queryName("traffic").option("checkpointLocation", f"{out}/checkpoints/traffic")
    when = {"availableNow": True} if every_s is None else {"processingTime": f"{every_s} seconds"}
    return writer.foreachBatch(_each(told, out, late_s)).trigger(**when).start()


def _each(told: Watched, out: str, late_s: float) -> Callable[[DataFrame, int], None]:
    def work(rows: DataFrame, batch: int) -> None:
        held = rows.persist()
        try:
            _Batch(held, Kept(held.sparkSession, out), batch, told, late_s).work()
        finally:
            held.unpersist()

    return work


# --- files


@dataclass(frozen=True, slots=True)
class Kept:
    """What batches have written: ``updates`` for good, ``state`` for the next one."""

    spark: SparkSession
    out: str

    def write(self, rows: DataFrame, name: str, batch: int, schema: StructType, where: str = "updates") -> None:
        path = f"{self.out}/{where}/{name}/batch={batch}"
        rows.select(*schema.fieldNames()).write.mode("overwrite").parquet(path)

    def all(self, name: str, schema: StructType, batch: int) -> DataFrame:
        """What all batches have written, up to this one: one that has not come to its end will be done again."""
        numbered = StructType([*schema.fields, StructField("batch", LongType())])
        rows = self._read(f"{self.out}/updates/{name}", numbered)
        return rows.where(F.col("batch") <= batch).drop("batch")

    def done(self, batch: int) -> None:
        self.spark.range(1).write.mode("overwrite").parquet(f"{self.out}/state/done/batch={batch}")

    def last(self) -> int:
        """The last batch that has come to its end; -1 if there is none."""
        number = StructType([StructField("batch", LongType())])
        found = self._read(f"{self.out}/state/done", number).agg(F.max("batch")).collect()[0][0]
        return -1 if found is None else int(found)

    def state(self, name: str, batch: int, schema: StructType) -> DataFrame:
        return self._read(f"{self.out}/state/{name}/batch={batch}", schema)

    def _read(self, path: str, schema: StructType) -> DataFrame:
        try:
            return self.spark.read.schema(schema).parquet(path)
        except AnalysisException as error:
            if error.getCondition() != "PATH_NOT_FOUND":
                raise
            return self.spark.createDataFrame([], schema)

    def forget(self, batch: int) -> None:
        """The state that no batch will ask for again. At another place than this machine it is left."""
        if not is_remote(self.out) and batch >= 0:
            for name in ("clocks", "waiting", "moments", "done"):
                shutil.rmtree(f"{self.out}/state/{name}/batch={batch}", ignore_errors=True)


# --- one batch


def _at_once(*deeds: Callable[[], None]) -> None:
    """Each is a few small jobs; one after the other they would leave a core idle most of the time."""
    with ThreadPoolExecutor(len(deeds)) as pool:
        for done in [pool.submit(deed) for deed in deeds]:
            done.result()


@dataclass(frozen=True, slots=True)
class _Batch:
    held: DataFrame
    kept: Kept
    batch: int
    told: Watched
    late_s: float

    def work(self) -> None:
        clocks = self.kept.state("clocks", self.batch - 1, _CLOCKS).cache()
        before = clocks.agg(F.max("latest")).collect()[0][0]
        mark = float("-inf") if before is None else before - self.late_s
        rows = self.held.where(F.col(_REASON).isNull() & (F.col("time") >= mark)).drop(_REASON)
        events = self._placed(rows.where(is_kind(*_EVENTS)), clocks, "events")
        steps = self._placed(rows.where(is_kind(Kind.CHANGE)), clocks, "changes")
        _at_once(
            lambda: self._put_aside(mark),
            lambda: self._topics(rows),
            lambda: self._links(rows),
            lambda: self._said_last(rows),
            lambda: self._clocks(rows, clocks),
            lambda: self.kept.write(steps, "steps", self.batch, _STEPS),
        )
        now = self.kept.state("clocks", self.batch, _CLOCKS).agg(F.max("latest")).collect()[0][0]
        passed = float("-inf") if now is None else now - self.late_s
        _at_once(lambda: self._delays(events, passed), lambda: self._moments(rows, passed))
        clocks.unpersist()
        self.kept.done(self.batch)
        self.kept.forget(self.batch - STATES_KEPT)

    def _put_aside(self, mark: float) -> None:
        late = F.when(F.col("time") < mark, F.lit(TOO_LATE))
        reasons = self.held.select(F.coalesce(F.col(_REASON), late).alias("reason"))
        counted = reasons.where(F.col("reason").isNotNull()).groupBy("reason").agg(F.count(F.lit(1)).alias("rows"))
        self.kept.write(counted, "aside", self.batch, _ASIDE)

    def _topics(self, rows: DataFrame) -> None:
        sent, crossed = is_kind(Kind.PUBLISHED), is_kind(Kind.FORWARDED)
        topics = rows.where(is_kind(*_EVENTS) | F.col("topic").isNotNull()).groupBy("run", "window", "topic")
        summed = topics.agg(
            F.sum(F.when(sent, F.col("payload_size"))).alias("payload_bytes"),
            F.count_if(sent).alias("published"),
            F.count_if(is_kind(Kind.DELIVERED)).alias("delivered"),
            F.count_if(crossed).alias("crossed"),
            F.sum(F.when(crossed, F.col("size")).otherwise(0)).alias("crossed_bytes"),
        )
        self.kept.write(summed, "topics", self.batch, _TOPICS)

    def _links(self, rows: DataFrame) -> None:
        crossed = is_kind(Kind.FORWARDED)
        links = rows.where(crossed).groupBy("run", "window", "node", "peer")
        loads = links.agg(F.count(F.lit(1)).alias("events"), F.sum("size").alias("bytes"))
        self.kept.write(loads, "loads", self.batch, LOADS)
        brokers = rows.where(is_kind(*_ROUTES, Kind.FORWARDED)).groupBy("run", "window", "node").agg(*_meanwhile())
        self.kept.write(brokers, "brokers", self.batch, _BROKERS)

    def _said_last(self, rows: DataFrame) -> None:
        """Of one broker: its records are numbered in the order in which they were written."""
        said = rows.where(is_kind(*_WISHES)).groupBy(*_WISH)
        last = said.agg(F.max_by("kind", "order").alias("kind"), F.max("order").alias("order"))
        self.kept.write(last, "said", self.batch, _SAID)
        begun = rows.where(is_kind(*_LIVES)).groupBy("run", "node").agg(F.max("order").alias("begun"))
        self.kept.write(begun, "begun", self.batch, _BEGUN)

    # --- places in the history

    def _placed(self, rows: DataFrame, clocks: DataFrame, what: str) -> DataFrame:
        """As ``trace.placed`` has it, over all batches."""
        written = Window.partitionBy("run", "node").orderBy("order")
        upto = written.rowsBetween(Window.unboundedPreceding, Window.currentRow)
        known = clocks.where(F.col("what") == what).select("run", "node", F.col("latest").alias("known"))
        joined = rows.join(F.broadcast(known), ["run", "node"], "left")
        return joined.withColumn("latest", F.greatest(F.max("time").over(upto), F.col("known"))).drop("known")

    def _clocks(self, rows: DataFrame, clocks: DataFrame) -> None:
        """The latest time of each node: of all records, and of those whose places count by themselves."""
        kinds = {"all": F.lit(True), "events": is_kind(*_EVENTS), "changes": is_kind(Kind.CHANGE)}
        latest = [F.max(F.when(kind, F.col("time"))).alias(what) for what, kind in kinds.items()]
        wide = rows.groupBy("run", "node").agg(*latest)
        seen = wide.unpivot(["run", "node"], list(kinds), "what", "latest").where(F.col("latest").isNotNull())
        every = clocks.unionByName(seen).groupBy("what", "run", "node").agg(F.max("latest").alias("latest"))
        self.kept.write(every.coalesce(1), "clocks", self.batch, _CLOCKS, "state")

    # --- what has to wait

    def _delays(self, events: DataFrame, passed: float) -> None:
        waiting = self.kept.state("waiting", self.batch - 1, _WAITING)
        seen = journeys(events).select(*_WAITING.fieldNames())
        both = joined(waiting.unionByName(seen)).persist()
        self.kept.write(both.where(F.col("newest") >= passed), "waiting", self.batch, _WAITING, "state")
        self.kept.write(measured(both.where(F.col("newest") < passed)), "delays", self.batch, _DELAYS)
        both.unpersist()

    def _moments(self, rows: DataFrame, passed: float) -> None:
        recent = self.kept.state("moments", self.batch - 1, _MOMENTS)
        seen = rows.where(is_kind(*_ROUTES, Kind.FORWARDED)).groupBy("run", "window", "node", "time")
        both = recent.unionByName(seen.agg(*_meanwhile()).select(*_MOMENTS.fieldNames())).persist()
        open_ = (F.col("window") + 1) * F.lit(self.told.window_s) > passed
        self.kept.write(both.where(open_), "moments", self.batch, _MOMENTS, "state")
        stepped = _stepped(self.told, self.kept.all("steps", _STEPS, self.batch))
        shut = both.where(~open_).join(F.broadcast(stepped), ["run", "window"], "leftsemi")
        self.kept.write(shut, "moments", self.batch, _MOMENTS)
        both.unpersist()


def _meanwhile() -> tuple[Column, ...]:
    return (
        F.count_if(is_kind(*_ROUTES)).alias("routes"),
        F.count_if(is_kind(Kind.FORWARDED)).alias("crossed"),
    )


def _stepped(told: Watched, steps: DataFrame) -> DataFrame:
    """Windows in which a step of a change was taken."""
    return steps.select("run", window_of(told).alias("window")).distinct()


# --- the tables


def tables(spark: SparkSession, told: Watched, out: str) -> dict[str, DataFrame]:
    """All of ``traffic``, by name, of what has been read until now; what still waits counts as if all had come."""
    kept = Kept(spark, out)
    batch = kept.last()
    topics = kept.all("topics", _TOPICS, batch)
    by_window = topics.groupBy("run", "window", "topic").agg(
        F.sum("published").alias("events"), F.sum("payload_bytes").alias("payload_bytes")
    )
    published = by_window.where(F.col("events") > 0).select(*PUBLISHED.fieldNames())
    by_topic = topics.where(F.col("topic").isNotNull()).groupBy("run", "topic")
    links = kept.all("loads", LOADS, batch).groupBy("run", "window", "node", "peer")
    waiting = measured(kept.state("waiting", batch, _WAITING))
    return {
        "published": published,
        "rates": rates(told, published),
        "loads": links.agg(F.sum("events").alias("events"), F.sum("bytes").alias("bytes")).select(*LOADS.fieldNames()),
        "subscriptions": _subscriptions(kept, batch),
        "hot_topics": ranked(told, by_topic.agg(*(F.sum(name).alias(name) for name in TOPIC_SUMS))),
        "delays": summed(kept.all("delays", _DELAYS, batch).unionByName(waiting)),
        "changes": _changes(told, kept, batch),
    }


def aside(spark: SparkSession, out: str) -> dict[str, int]:
    """By reason, how many records are in no table."""
    kept = Kept(spark, out)
    counted = kept.all("aside", _ASIDE, kept.last()).groupBy("reason").agg(F.sum("rows").alias("rows"))
    return {row["reason"]: row["rows"] for row in counted.orderBy("reason").collect()}


def _subscriptions(kept: Kept, batch: int) -> DataFrame:
    said = kept.all("said", _SAID, batch).groupBy(*_WISH)
    last = said.agg(F.max_by("kind", "order").alias("kind"), F.max("order").alias("at"))
    lives = kept.all("begun", _BEGUN, batch).groupBy("run", "node").agg(F.max("begun").alias("begun"))
    held = last.join(F.broadcast(lives), ["run", "node"], "left").where(
        (F.col("kind") == Kind.SUBSCRIBED.value) & (F.col("begun").isNull() | (F.col("at") > F.col("begun")))
    )
    counted = held.groupBy("run", "node", "pattern_topic", "selector").agg(F.count(F.lit(1)).alias("clients"))
    return counted.select(*SUBSCRIPTIONS.fieldNames())


def _changes(told: Watched, kept: Kept, batch: int) -> DataFrame:
    steps = kept.all("steps", _STEPS, batch)
    found = kept.spark.createDataFrame(change_rows(steps.collect()), CHANGE_ROWS)
    stepped = _stepped(told, steps)
    moments = kept.all("moments", _MOMENTS, batch).unionByName(kept.state("moments", batch, _MOMENTS))
    single = moments.join(F.broadcast(stepped), ["run", "window"], "leftsemi")
    whole = kept.all("brokers", _BROKERS, batch).join(F.broadcast(stepped), ["run", "window"], "leftanti")
    others = single.unionByName(whole, allowMissingColumns=True)  # a whole window has no time
    within = (others["time"] >= found["begun"]) & (others["time"] <= found["ended"])
    between = (others["window"] > window_of(told, found["begun"])) & (
        others["window"] < window_of(told, found["ended"])
    )
    inside = (
        (found["run"] == others["run"])
        & F.array_contains(found["brokers"], others["node"])
        & F.when(others["time"].isNull(), between).otherwise(within)
    )
    joined = found.join(others, inside, "left").select(
        *(found[name] for name in found.columns), others["routes"], others["crossed"]
    )
    counted = joined.groupBy(*found.columns).agg(
        F.coalesce(F.sum("routes"), F.lit(0)).cast("long").alias("routes"),
        F.coalesce(F.sum("crossed"), F.lit(0)).cast("long").alias("crossed"),
    )
    return counted.orderBy("run", "change").select(*CHANGES.fieldNames())
