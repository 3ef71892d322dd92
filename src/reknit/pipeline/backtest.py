"""A subscription tried on what is past: what it would have received, how often, and from whom.

Owns: the transforms behind ``backtest``. Must not know: how a pattern is evaluated (see ``selector``).
"""

from __future__ import annotations

from typing import Annotated

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from reknit.model.errors import BadPattern
from reknit.model.pattern import Pattern
from reknit.pipeline.flow import BadFlow, Parameters, columns, told
from reknit.pipeline.selector import matching
from reknit.trace.records import Kind

__all__ = ["BY_PUBLISHER", "BY_TIME", "BY_TOPIC", "RECEIVED", "Tried"]
__all__ += ["by_publisher", "by_time", "by_topic", "pattern_of", "received"]


class Tried(Parameters, frozen=True):
    topic: Annotated[str, told("the topic filter")] = "#"
    selector: Annotated[str, told("the selector; none for all that the filter matches")] = ""
    window_s: Annotated[float, told("the seconds of one row of by_time")] = 3600.0


def pattern_of(tried: Tried) -> Pattern:
    """``BadFlow`` says what is wrong with the filter or the selector, or the window."""
    if not tried.window_s > 0:
        raise BadFlow(f"window_s is {tried.window_s}: it has to be larger than 0")
    try:
        return Pattern.parse(tried.topic, tried.selector)
    except BadPattern as error:
        raise BadFlow(str(error)) from error


RECEIVED = columns(
    run="string",
    time="double",
    node="string",
    client="string",
    source="string",
    seq="long",
    topic="string",
    payload_size="long",
)
"""``node`` and ``client``: where and by whom it was published."""


def received(tried: Tried, trace: DataFrame) -> DataFrame:
    published = trace.where(F.col("kind") == Kind.PUBLISHED.value)
    return matching(published, pattern_of(tried)).select(*RECEIVED.fieldNames())


_COUNTED = {"events": "long", "payload_bytes": "long", "first": "double", "last": "double"}


def _counted(rows: DataFrame, *by: str) -> DataFrame:
    return rows.groupBy(*by).agg(
        F.count(F.lit(1)).alias("events"),
        F.sum("payload_size").alias("payload_bytes"),
        F.min("time").alias("first"),
        F.max("time").alias("last"),
    )


BY_TOPIC = columns(run="string", topic="string", **_COUNTED)


def by_topic(tried: Tried, received: DataFrame) -> DataFrame:
    return _counted(received, "run", "topic").orderBy("run", F.desc("events"), "topic").select(*BY_TOPIC.fieldNames())


BY_PUBLISHER = columns(run="string", node="string", client="string", **_COUNTED)


def by_publisher(tried: Tried, received: DataFrame) -> DataFrame:
    counted = _counted(received, "run", "node", "client")
    return counted.orderBy("run", F.desc("events"), "node", "client").select(*BY_PUBLISHER.fieldNames())


BY_TIME = columns(run="string", since="double", events="long", payload_bytes="long")


def by_time(tried: Tried, received: DataFrame) -> DataFrame:
    since = F.floor(F.col("time") / tried.window_s) * F.lit(tried.window_s)
    counted = _counted(received.withColumn("since", since), "run", "since")
    return counted.orderBy("run", "since").select(*BY_TIME.fieldNames())
