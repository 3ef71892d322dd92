"""What has to wait: records of events that are not done with, and moments that may belong to a change of the tree.

Owns: how long they wait, and that a batch costs what it brings, however long that is. Must not know: how sums are made.

Records that wait are written once, when they come, and read once, when their time has come. So all records of an event
have to lie together, and together with such as are done with at the same time. A source numbers its events in the order
in which it publishes them: what is beyond its highest number until now is *first seen* in this batch. That batch is the
event's *bucket*, for its later records too, since the numbers at which batches ended are kept. A bucket is done with
when the watermark has passed the latest time that was known when it was opened, so buckets end in their order.

Moments lie by the batch that they came with. When the watermark has passed a window they are asked for if a step of a
change was taken in it, which is rare.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from reknit.pipeline._streaming.kept import Kept, Note
from reknit.pipeline._streaming.updates import MOMENTS
from reknit.pipeline.flow import columns
from reknit.pipeline.journeys import RECORDS, deliveries
from reknit.pipeline.traffic import Watched, is_kind, window_of
from reknit.trace.records import Kind

__all__ = ["DELAYED", "PASSING", "Waiting", "less", "moments_open", "steps_in", "waiting_records"]

DELAYED = "waiting"
PASSING = "moments"
"""Names of states that outlive the next batch."""

_MARKS = columns(run="string", source="string", bucket="long", upto="long")
"""The highest number of a source that was known at the end of a batch."""


def less(time: float | None, late_s: float) -> float:
    """The watermark."""
    return float("-inf") if time is None else time - late_s


@dataclass(frozen=True, slots=True)
class Waiting:
    kept: Kept
    told: Watched
    before: Note
    note: Note
    """As it will stand after the batch."""

    # --- delays

    def delays(self, events: DataFrame, any_: bool) -> None:
        """``events`` are records with their places; if there are none, some may be done with all the same."""
        marks = self._marks(events)
        if any_:
            bounds = F.sort_array(F.collect_list(F.struct("bucket", "upto"))).alias("bounds")
            by_source = marks.groupBy("run", "source").agg(bounds)
            placed = events.join(F.broadcast(by_source), ["run", "source"], "left")
            beyond = F.filter("bounds", lambda each: each["upto"] >= F.col("seq"))
            bucket = F.coalesce(F.get(beyond, F.lit(0))["bucket"], F.lit(self.note.batch).cast("long"))
            self.kept.keep(placed.withColumn("bucket", bucket), DELAYED, self.note.batch, RECORDS, ("bucket",))
        if self.note.settled > self.before.settled:
            over = waiting_records(self.kept, self.note, self.before.settled + 1, self.note.settled)
            self.kept.write(deliveries(over), "delays", self.note.batch)

    def _marks(self, events: DataFrame) -> DataFrame:
        """With those of this batch; without those of buckets that are done with."""
        known = self.kept.state("marks", self.note.batch - 1, _MARKS).where(F.col("bucket") > self.before.settled)
        highest = events.groupBy("run", "source").agg(F.max("seq").alias("upto"))
        new = highest.withColumn("bucket", F.lit(self.note.batch).cast("long"))
        self.kept.keep(known.unionByName(new).coalesce(1), "marks", self.note.batch, _MARKS)
        return self.kept.state("marks", self.note.batch, _MARKS)

    # --- moments

    def moments(self, rows: DataFrame) -> None:
        """``rows`` changed a route, or crossed a link."""
        crossed = F.when(is_kind(Kind.FORWARDED), 1).otherwise(0).cast("long").alias("crossed")
        routes = F.when(is_kind(Kind.FORWARDED), 0).otherwise(1).cast("long").alias("routes")
        seen = rows.select("run", "window", "node", "time", routes, crossed)
        self.kept.keep(seen, PASSING, self.note.batch, MOMENTS)
        stepped = steps_in(self.told, self.kept.all("steps", self.note))
        shut = stepped.where(self._open(self.before) & ~self._open(self.note))
        if shut.limit(1).count():
            passing = self.kept.states(PASSING, MOMENTS, self.note.batch)
            self.kept.write(passing.join(F.broadcast(shut), ["run", "window"], "leftsemi"), "moments", self.note.batch)

    def _open(self, note: Note) -> Column:
        return _open(self.told, note)


def _open(told: Watched, note: Note) -> Column:
    """Whether a window may still get a record."""
    passed = float("-inf") if note.passed is None else note.passed
    return (F.col("window") + 1) * F.lit(told.window_s) > F.lit(passed)


def steps_in(told: Watched, steps: DataFrame) -> DataFrame:
    """Windows in which a step of a change was taken."""
    return steps.select("run", window_of(told).alias("window")).distinct()


def moments_open(kept: Kept, told: Watched, note: Note) -> DataFrame:
    """Of windows that may still get one."""
    return kept.states(PASSING, MOMENTS, note.batch).where(_open(told, note)).drop("batch")


def waiting_records(kept: Kept, note: Note, first: int, last: int | None = None) -> DataFrame:
    """Of events in these buckets; to the newest, if no last one is named."""
    records = kept.states(DELAYED, RECORDS, note.batch, ("bucket",)).where(F.col("bucket") >= first)
    return (records if last is None else records.where(F.col("bucket") <= last)).drop("batch", "bucket")
