"""One batch of a stream: what it adds to the sums, and what it leaves for the next.

Owns: the order of things in a batch, and the sums. Must not know: how long what waits has to (see ``waiting``), or
where anything lies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import msgspec
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from reknit.pipeline._streaming.kept import Kept, Note
from reknit.pipeline._streaming.segments import read_segments, sift
from reknit.pipeline._streaming.updates import latest_wishes
from reknit.pipeline._streaming.waiting import DELAYED, PASSING, Waiting, less
from reknit.pipeline.flow import columns
from reknit.pipeline.journeys import JOURNEYS
from reknit.pipeline.quarantine import bad_rows, clean_rows, mark
from reknit.pipeline.read import Files, footers
from reknit.pipeline.report import RowsLost
from reknit.pipeline.run import QUARANTINE
from reknit.pipeline.trace import TRACE
from reknit.pipeline.traffic import Watched, is_kind, window_of
from reknit.trace.records import Kind

__all__ = ["TOO_LATE", "Terms", "work_on"]

TOO_LATE = "too late"

_ROUTES = (Kind.ROUTE_ADDED, Kind.ROUTE_REMOVED)
_LIVES = (Kind.STARTED, Kind.CRASHED)
_WISHES = (Kind.SUBSCRIBED, Kind.UNSUBSCRIBED)
_UNREAD = ("qos", "attributes", "properties", "derived", "content_type")
"""Columns that no table needs: they are not held in memory."""
_REASON = "__reason"
_CLOCKS = columns(what="string", run="string", node="string", latest="double")


@dataclass(frozen=True, slots=True)
class Terms:
    told: Watched
    out: str
    late_s: float
    compact_every: int


def work_on(listed: DataFrame, batch: int, terms: Terms) -> None:
    """All of a batch, whose files are given by their paths."""
    spark = listed.sparkSession
    kept = Kept(spark, terms.out)
    before = kept.before(batch)
    given = _take_up(spark, footers(spark, listed), terms, before)
    try:
        _Batch(given, kept, batch, terms, before).work()
    finally:
        given.held.unpersist()


# --- in


@dataclass(frozen=True, slots=True)
class _Given:
    """The records of a batch, and what there is among them."""

    files: Files
    marked: DataFrame
    """With all columns, and the reason why one is in no table."""
    held: DataFrame
    """The same, without what no table needs, in memory."""
    kinds: frozenset[str]
    latest: float | None
    aside: bool


def _take_up(spark: SparkSession, files: Files, terms: Terms, before: Note) -> _Given:
    """Read once. If that cannot be done, whose fault it is is found out, and they are left out."""
    try:
        return _read(spark, files, terms, before)
    except RowsLost:
        raise
    except Exception:
        sound = sift(spark, files)
        if len(sound.broken) == len(files.broken):
            raise
        return _read(spark, sound, terms, before)


def _read(spark: SparkSession, files: Files, terms: Terms, before: Note) -> _Given:
    rows = read_segments(spark, files.sound)
    # A moment becomes a part of the code that Java compiles, so it is used once, and what it says is kept.
    late = F.when(F.col("time") < less(before.latest, terms.late_s), F.lit(TOO_LATE))
    marked = mark(rows, TRACE.rules(terms.told)).withColumn(_REASON, F.coalesce(F.col(_REASON), late))
    window = F.when(F.col(_REASON).isNull(), window_of(terms.told))  # of others there may be none
    held = marked.drop(*_UNREAD).withColumn("window", window).persist()
    try:
        counts = F.count(F.lit(1)).alias("rows")
        counted = held.groupBy(_REASON, "kind").agg(F.max("time").alias("latest"), counts).collect()
        found = sum(row["rows"] for row in counted)
        if found != files.rows:
            raise RowsLost(f"trace: its segments have {files.rows:,} rows, and {found:,} were read")
    except BaseException:
        held.unpersist()
        raise
    sound = [row for row in counted if row[_REASON] is None]
    latest = max((row["latest"] for row in sound), default=None)
    kinds = frozenset(row["kind"] for row in sound)
    return _Given(files, marked, held, kinds, latest, len(sound) < len(counted))


# --- the work


def _at_once(*deeds: Callable[[], None]) -> None:
    """Each is a few small jobs; one after the other they would leave a core idle most of the time."""
    with ThreadPoolExecutor(len(deeds)) as pool:
        for done in [pool.submit(deed) for deed in deeds]:
            done.result()


@dataclass(frozen=True, slots=True)
class _Batch:
    given: _Given
    kept: Kept
    batch: int
    terms: Terms
    before: Note

    def work(self) -> None:
        clocks = self.kept.state("clocks", self.batch - 1, _CLOCKS).cache()
        rows = clean_rows(self.given.held)
        note = self._note()
        waiting = Waiting(self.kept, self.terms.told, self.before, note)
        if self._has(Kind.CHANGE):
            self._steps(rows, clocks)  # which moments have to be kept depends on it
        events = rows.where(is_kind(*JOURNEYS))
        _at_once(
            lambda: waiting.delays(self._placed(events, clocks, "events"), self._has(*JOURNEYS)),
            lambda: waiting.moments(rows.where(is_kind(*_ROUTES, Kind.FORWARDED))),
            lambda: self._clocks(rows, clocks),
            *self._sums(rows),
        )
        clocks.unpersist()
        if (self.batch + 1) % self.terms.compact_every == 0:
            note = self.kept.compact(note)
        self.kept.done(note)
        self.kept.forget(self.batch, {DELAYED: "bucket", PASSING: ""})

    def _note(self) -> Note:
        """As it will stand when the batch is done."""
        seen = [time for time in (self.before.latest, self.given.latest) if time is not None]
        latest = max(seen, default=None)
        passed = None if latest is None else latest - self.terms.late_s
        ends = self.before.ends if latest is None else (*self.before.ends, (self.batch, latest))
        over = [number for number, end in ends if passed is not None and end < passed]
        window_s = self.terms.told.window_s
        return msgspec.structs.replace(
            self.before,
            batch=self.batch,
            latest=latest,
            passed=passed,
            settled=max([self.before.settled, *over]),
            ends=tuple((number, end) for number, end in ends if passed is None or end + window_s >= passed),
            files=self.before.files + len(self.given.files.sound) + len(self.given.files.broken),
            rows=self.before.rows + self.given.files.rows,
        )

    def _has(self, *kinds: Kind) -> bool:
        return bool(self.given.kinds & {*kinds})

    # --- sums

    def _sums(self, rows: DataFrame) -> Iterator[Callable[[], None]]:
        """What is to be added up of what there is; most have no subscriptions, and hardly one has changes."""
        if self.given.files.broken:
            yield self._broken
        if self.given.aside:
            yield self._put_aside
        if self.given.kinds:
            yield lambda: self._topics(rows)
        if self._has(Kind.FORWARDED):
            yield lambda: self._links(rows)
        if self._has(*_ROUTES):
            yield lambda: self._routes(rows)
        if self._has(Kind.UNTRACED):
            yield lambda: self._gaps(rows)
        if self._has(*_WISHES):
            yield lambda: self.kept.write(latest_wishes(rows.where(is_kind(*_WISHES))), "said", self.batch)
        if self._has(*_LIVES):
            yield lambda: self._lives(rows)

    def _broken(self) -> None:
        broken = [(each.path, each.problem) for each in self.given.files.broken]
        found = self.kept.spark.createDataFrame(broken, "path string, problem string")
        self.kept.write(found.coalesce(1), "broken", self.batch)

    def _put_aside(self) -> None:
        """The rows with all their values, and how many there are."""
        path = f"{self.terms.out}/{QUARANTINE}/{TRACE.name}/batch={self.batch}"
        bad_rows(self.given.marked, TRACE.name).write.mode("overwrite").parquet(path)
        reasons = self.given.held.where(F.col(_REASON).isNotNull()).groupBy(F.col(_REASON).alias("reason"))
        self.kept.write(reasons.agg(F.count(F.lit(1)).alias("rows")), "aside", self.batch)

    def _gaps(self, rows: DataFrame) -> None:
        many = F.sum(F.greatest(F.coalesce("size", F.lit(1)), F.lit(1))).alias("records")
        self.kept.write(rows.where(is_kind(Kind.UNTRACED)).groupBy("node").agg(many), "gaps", self.batch)

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
        self.kept.write(summed, "topics", self.batch)

    def _links(self, rows: DataFrame) -> None:
        links = rows.where(is_kind(Kind.FORWARDED)).groupBy("run", "window", "node", "peer")
        loads = links.agg(F.count(F.lit(1)).alias("events"), F.sum("size").alias("bytes"))
        self.kept.write(loads, "loads", self.batch)

    def _routes(self, rows: DataFrame) -> None:
        changed = rows.where(is_kind(*_ROUTES)).groupBy("run", "window", "node").agg(F.count(F.lit(1)).alias("routes"))
        self.kept.write(changed, "routes", self.batch)

    def _lives(self, rows: DataFrame) -> None:
        begun = rows.where(is_kind(*_LIVES)).groupBy("run", "node").agg(F.max("order").alias("begun"))
        self.kept.write(begun, "begun", self.batch)

    def _steps(self, rows: DataFrame, clocks: DataFrame) -> None:
        steps = self._placed(rows.where(is_kind(Kind.CHANGE)), clocks, "changes")
        self.kept.write(steps, "steps", self.batch)

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
        self.kept.keep(every.coalesce(1), "clocks", self.batch, _CLOCKS)
