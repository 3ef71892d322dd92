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
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import LongType, StructField, StructType

from reknit.pipeline.changes import CHANGE_ROWS, change_rows
from reknit.pipeline.flow import columns
from reknit.pipeline.journeys import DELIVERIES, EVENT, JOURNEYS, RECORDS, deliveries
from reknit.pipeline.quarantine import mark
from reknit.pipeline.read import no_rows
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
    ranked,
    rates,
    summed,
    window_of,
)
from reknit.trace.records import Kind

__all__ = ["LATE_S", "aside", "missing", "start", "tables"]

LATE_S = 60.0
"""How much later than the latest record one may come and still be counted."""
SEGMENTS_MAX = 1_000
"""In one batch: when there is much to catch up with, that is in memory at once."""
STATES_KEPT = 3
"""Of the last batches: the one before is needed to do a batch again."""

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
_CHANGED = columns(run="string", window="long", node="string", routes="long")
_SAID = columns(**dict.fromkeys(_WISH, "string"), order="long", kind="string")
_BEGUN = columns(run="string", node="string", begun="long")
_STEPS = columns(
    run="string", latest="double", order="long", node="string", time="double", peer="string", detail="string"
)
_MOMENTS = columns(run="string", window="long", node="string", time="double", routes="long", crossed="long")
_ASIDE = columns(reason="string", rows="long")
_GAPS = columns(node="string", records="long")
_CLOCKS = columns(what="string", run="string", node="string", latest="double")


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
    marked = mark(rows.withColumn("run", run), TRACE.rules(told)).drop(*_UNREAD)
    marked = marked.withColumn("window", F.when(F.col(_REASON).isNull(), window_of(told)))  # others may have none
    writer = marked.writeStream.queryName("traffic").option("checkpointLocation", f"{out}/checkpoints/traffic")
    when = {"availableNow": True} if every_s is None else {"processingTime": f"{every_s} seconds"}
    return writer.foreachBatch(_each(told, out, late_s)).trigger(**when).start()


def _each(told: Watched, out: str, late_s: float) -> Callable[[DataFrame, int], None]:
    def work(rows: DataFrame, batch: int) -> None:
        kept = Kept(rows.sparkSession, out)
        before = kept.state("clocks", batch - 1, _CLOCKS).agg(F.max("latest")).collect()[0][0]
        # A moment becomes a part of the code that Java compiles, so it is used once, and what it says is kept.
        late = F.when(F.col("time") < _less(before, late_s), F.lit(TOO_LATE))
        held = rows.withColumn(_REASON, F.coalesce(F.col(_REASON), late)).persist()
        try:
            _Batch(held, kept, batch, told, before, late_s).work()
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
            rows = self.spark.read.schema(schema).parquet(path)
            _ = rows.columns  # through Spark Connect nothing is looked at before that
            return rows
        except AnalysisException as error:
            if error.getCondition() != "PATH_NOT_FOUND":
                raise
            return no_rows(self.spark, schema)

    def forget(self, batch: int) -> None:
        """The state that no batch will ask for again. At another place than this machine it is left."""
        if not is_remote(self.out) and batch >= 0:
            for name in ("clocks", "came", "waiting", "moments", "done"):
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
    before: float | None
    """The latest time that the batches before have seen."""
    late_s: float

    def work(self) -> None:
        clocks = self.kept.state("clocks", self.batch - 1, _CLOCKS).cache()
        found = self._look()
        rows = self.held.where(F.col(_REASON).isNull()).drop(_REASON)
        latest = max((time for time in (self.before, found.latest) if time is not None), default=None)
        passed = _less(latest, self.late_s)
        if found.kinds & {Kind.CHANGE}:
            self._steps(rows, clocks)  # which moments have to be kept depends on it
        _at_once(
            lambda: self._delays(self._placed(rows.where(is_kind(*JOURNEYS)), clocks, "events"), passed),
            lambda: self._moments(rows, passed),
            lambda: self._clocks(rows, clocks),
            *self._sums(rows, found),
        )
        clocks.unpersist()
        self.kept.done(self.batch)
        self.kept.forget(self.batch - STATES_KEPT)

    def _look(self) -> _Found:
        """What there is in the batch; most have no subscriptions, and hardly one has changes."""
        counted = self.held.groupBy(_REASON, "kind").agg(F.max("time").alias("latest")).collect()
        sound = [row for row in counted if row[_REASON] is None]
        latest = max((row["latest"] for row in sound), default=None)
        return _Found(frozenset(row["kind"] for row in sound), latest, len(sound) < len(counted))

    def _sums(self, rows: DataFrame, found: _Found) -> Iterator[Callable[[], None]]:
        """What is to be added up of what there is."""
        if found.aside:
            yield self._put_aside
        if found.kinds:
            yield lambda: self._topics(rows)
        if found.kinds & {Kind.FORWARDED}:
            yield lambda: self._links(rows)
        if found.kinds & {*_ROUTES}:
            yield lambda: self._routes(rows)
        if found.kinds & {Kind.UNTRACED}:
            yield lambda: self._gaps(rows)
        if found.kinds & {*_WISHES}:
            yield lambda: self._said_last(rows)
        if found.kinds & {*_LIVES}:
            yield lambda: self._lives(rows)

    def _put_aside(self) -> None:
        reasons = self.held.where(F.col(_REASON).isNotNull()).groupBy(F.col(_REASON).alias("reason"))
        self.kept.write(reasons.agg(F.count(F.lit(1)).alias("rows")), "aside", self.batch, _ASIDE)

    def _gaps(self, rows: DataFrame) -> None:
        many = F.sum(F.greatest(F.coalesce("size", F.lit(1)), F.lit(1))).alias("records")
        self.kept.write(rows.where(is_kind(Kind.UNTRACED)).groupBy("node").agg(many), "gaps", self.batch, _GAPS)

    def _topics(self, rows: DataFrame) -> None:
        sent, crossed = is_kind(Kind.PUBLISHED), is_kind(Kind.FORWARDED)
        topics = rows.where(is_kind(*JOURNEYS) | F.col("topic").isNotNull()).groupBy("run", "window", "topic")
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

    def _routes(self, rows: DataFrame) -> None:
        changed = rows.where(is_kind(*_ROUTES)).groupBy("run", "window", "node").agg(F.count(F.lit(1)).alias("routes"))
        self.kept.write(changed, "routes", self.batch, _CHANGED)

    def _said_last(self, rows: DataFrame) -> None:
        """Of one broker: its records are numbered in the order in which they were written."""
        said = rows.where(is_kind(*_WISHES)).groupBy(*_WISH)
        last = said.agg(F.max_by("kind", "order").alias("kind"), F.max("order").alias("order"))
        self.kept.write(last, "said", self.batch, _SAID)

    def _lives(self, rows: DataFrame) -> None:
        begun = rows.where(is_kind(*_LIVES)).groupBy("run", "node").agg(F.max("order").alias("begun"))
        self.kept.write(begun, "begun", self.batch, _BEGUN)

    def _steps(self, rows: DataFrame, clocks: DataFrame) -> None:
        steps = self._placed(rows.where(is_kind(Kind.CHANGE)), clocks, "changes")
        self.kept.write(steps, "steps", self.batch, _STEPS)

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
        kinds = {"all": F.lit(True), "events": is_kind(*JOURNEYS), "changes": is_kind(Kind.CHANGE)}
        latest = [F.max(F.when(kind, F.col("time"))).alias(what) for what, kind in kinds.items()]
        wide = rows.groupBy("run", "node").agg(*latest)
        seen = wide.unpivot(["run", "node"], list(kinds), "what", "latest").where(F.col("latest").isNotNull())
        every = clocks.unionByName(seen).groupBy("what", "run", "node").agg(F.max("latest").alias("latest"))
        self.kept.write(every.coalesce(1), "clocks", self.batch, _CLOCKS, "state")

    # --- what has to wait

    def _delays(self, events: DataFrame, passed: float) -> None:
        """Of events that the watermark has passed; records of the others wait, as they are."""
        self.kept.write(events, "came", self.batch, RECORDS, "state")
        came = self.kept.state("came", self.batch, RECORDS)
        both = self.kept.state("waiting", self.batch - 1, RECORDS).unionByName(came)
        newest = both.groupBy(*EVENT).agg(F.max("time").alias("newest"))
        over = newest.where(F.col("newest") < passed).select(*EVENT).persist()
        over.count()
        _at_once(
            lambda: self._wait(both.join(F.broadcast(over), [*EVENT], "leftanti")),
            lambda: self._settle(both.join(F.broadcast(over), [*EVENT], "leftsemi")),
        )
        over.unpersist()

    def _wait(self, records: DataFrame) -> None:
        self.kept.write(records, "waiting", self.batch, RECORDS, "state")

    def _settle(self, records: DataFrame) -> None:
        self.kept.write(deliveries(records), "delays", self.batch, DELIVERIES)

    def _moments(self, rows: DataFrame, passed: float) -> None:
        recent = self.kept.state("moments", self.batch - 1, _MOMENTS)
        seen = rows.where(is_kind(*_ROUTES, Kind.FORWARDED)).groupBy("run", "window", "node", "time")
        both = recent.unionByName(seen.agg(*_meanwhile()).select(*_MOMENTS.fieldNames()))
        open_ = (F.col("window") + 1) * F.lit(self.told.window_s) > passed
        self.kept.write(both.where(open_), "moments", self.batch, _MOMENTS, "state")
        stepped = _stepped(self.told, self.kept.all("steps", _STEPS, self.batch))
        if stepped.where(~open_).limit(1).count():
            shut = both.where(~open_).join(F.broadcast(stepped), ["run", "window"], "leftsemi")
            self.kept.write(shut, "moments", self.batch, _MOMENTS)


@dataclass(frozen=True, slots=True)
class _Found:
    """What there is in a batch."""

    kinds: frozenset[str]
    latest: float | None
    aside: bool


def _less(time: float | None, late_s: float) -> float:
    """The watermark."""
    return float("-inf") if time is None else time - late_s


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
    waiting = deliveries(kept.state("waiting", batch, RECORDS))
    return {
        "published": published,
        "rates": rates(told, published),
        "loads": links.agg(F.sum("events").alias("events"), F.sum("bytes").alias("bytes")).select(*LOADS.fieldNames()),
        "subscriptions": _subscriptions(kept, batch),
        "hot_topics": ranked(told, by_topic.agg(*(F.sum(name).alias(name) for name in TOPIC_SUMS))),
        "delays": summed(kept.all("delays", DELIVERIES, batch).unionByName(waiting)),
        "changes": _changes(told, kept, batch),
    }


def aside(spark: SparkSession, out: str) -> dict[str, int]:
    """By reason, how many records are in no table."""
    kept = Kept(spark, out)
    counted = kept.all("aside", _ASIDE, kept.last()).groupBy("reason").agg(F.sum("rows").alias("rows"))
    return {row["reason"]: row["rows"] for row in counted.orderBy("reason").collect()}


def missing(spark: SparkSession, out: str) -> dict[str, int]:
    """By node, how many records were never written, as the trace itself says."""
    kept = Kept(spark, out)
    counted = kept.all("gaps", _GAPS, kept.last()).groupBy("node").agg(F.sum("records").alias("records"))
    return {row["node"]: row["records"] for row in counted.orderBy("node").collect()}


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
    crossed = kept.all("loads", LOADS, batch).withColumn("crossed", F.col("events"))
    by_window = kept.all("routes", _CHANGED, batch).unionByName(crossed, allowMissingColumns=True)
    counts = by_window.select("run", "window", "node", "routes", "crossed")
    whole = counts.join(F.broadcast(stepped), ["run", "window"], "leftanti")
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
