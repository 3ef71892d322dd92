"""The tables of ``traffic`` from what batches have kept.

Owns: how sums become tables. Must not know: how sums come about, or where tables go.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from reknit.pipeline._streaming.kept import Kept, Note
from reknit.pipeline._streaming.updates import latest_wishes
from reknit.pipeline._streaming.waiting import moments_open, steps_in, waiting_records
from reknit.pipeline.changes import CHANGE_ROWS, change_rows
from reknit.pipeline.journeys import deliveries
from reknit.pipeline.traffic import (
    CHANGES,
    LOADS,
    PUBLISHED,
    SUBSCRIPTIONS,
    TOPIC_SUMS,
    Watched,
    ranked,
    rates,
    summed,
    window_of,
)
from reknit.trace.records import Kind

__all__ = ["tables_of"]


def tables_of(kept: Kept, note: Note, told: Watched, whole: bool) -> dict[str, DataFrame]:
    """``whole``: events that still wait are among the delays, as if all of them had come."""
    topics = kept.all("topics", note)
    by_window = topics.groupBy("run", "window", "topic").agg(
        F.sum("published").alias("events"), F.sum("payload_bytes").alias("payload_bytes")
    )
    published = by_window.where(F.col("events") > 0).select(*PUBLISHED.fieldNames())
    by_topic = topics.where(F.col("topic").isNotNull()).groupBy("run", "topic")
    links = kept.all("loads", note).groupBy("run", "window", "node", "peer")
    return {
        "published": published,
        "rates": rates(told, published),
        "loads": links.agg(F.sum("events").alias("events"), F.sum("bytes").alias("bytes")).select(*LOADS.fieldNames()),
        "subscriptions": _subscriptions(kept, note),
        "hot_topics": ranked(told, by_topic.agg(*(F.sum(name).alias(name) for name in TOPIC_SUMS))),
        "delays": _delays(kept, note, whole),
        "changes": _changes(told, kept, note),
    }


def _delays(kept: Kept, note: Note, whole: bool) -> DataFrame:
    settled = kept.all("delays", note)
    if whole:
        settled = settled.unionByName(deliveries(waiting_records(kept, note, note.settled + 1)))
    return summed(settled)


def _subscriptions(kept: Kept, note: Note) -> DataFrame:
    last = latest_wishes(kept.all("said", note))
    lives = kept.all("begun", note).groupBy("run", "node").agg(F.max("begun").alias("begun"))
    held = last.join(F.broadcast(lives), ["run", "node"], "left").where(
        (F.col("kind") == Kind.SUBSCRIBED.value) & (F.col("begun").isNull() | (F.col("order") > F.col("begun")))
    )
    counted = held.groupBy("run", "node", "pattern_topic", "selector").agg(F.count(F.lit(1)).alias("clients"))
    return counted.select(*SUBSCRIPTIONS.fieldNames())


def _changes(told: Watched, kept: Kept, note: Note) -> DataFrame:
    """Windows are enough, but for those in which a step was taken: of these there are single moments."""
    steps = kept.all("steps", note)
    found = kept.spark.createDataFrame(change_rows(steps.collect()), CHANGE_ROWS)
    stepped = steps_in(told, steps)
    moments = kept.all("moments", note).unionByName(moments_open(kept, told, note))
    single = moments.join(F.broadcast(stepped), ["run", "window"], "leftsemi")
    crossed = kept.all("loads", note).withColumn("crossed", F.col("events"))
    by_window = kept.all("routes", note).unionByName(crossed, allowMissingColumns=True)
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
