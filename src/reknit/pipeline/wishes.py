"""From a trace to what plans of the ring and of placement rest on: who is there, who wants what, how much is published.

Owns: the transforms behind ``wishes``, whose tables are the inputs of ``ring`` and ``placement``. Must not know: how
places are found, or brokers for clients.

A client's number is a hash of its name, so that it is the same wherever it is made; two clients with one number would
be taken for one, so that is refused.
"""

from __future__ import annotations

from typing import Annotated

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from reknit.pipeline.flow import BadFlow, Parameters, columns, told
from reknit.pipeline.trace import place, placed
from reknit.pipeline.traffic import held, is_kind, not_held, part
from reknit.trace.records import DRAINED, Kind

__all__ = ["HOMES", "INTERESTS", "NETWORK", "RATES", "WANTS", "Wished", "homes", "interests", "network", "rates"]
__all__ += ["PUBLICATIONS", "WORDS", "not_rated", "not_wanted", "wants"]


class Wished(Parameters, frozen=True):
    since: Annotated[
        float, told("events published before this time do not count, in seconds as the trace has them")
    ] = 0.0
    until: Annotated[float, told("nor those published from this time on; 0 for none")] = 0.0


NETWORK = columns(broker="string", id="string")
"""The brokers that are there at the end, and where each is on the ring; of a tree's there is no id."""


def network(told: Wished, trace: DataFrame) -> DataFrame:
    left = is_kind(Kind.CRASHED) | (is_kind(Kind.CHANGE) & (F.col("detail") == DRAINED))
    rows = placed(trace.where((F.col("node") != "") & (is_kind(Kind.STARTED, Kind.PLACED) | left)))
    if rows.select("run").distinct().count() > 1:
        raise BadFlow("a plan is for one network: give the trace of one run")
    last = rows.groupBy("node").agg(
        F.max(F.when(~left, place())).alias("here"),
        F.max(F.when(left, place())).alias("gone"),
        F.max_by("detail", F.when(is_kind(Kind.PLACED), place())).alias("id"),
    )
    there = last.where(F.col("gone").isNull() | (F.col("here") > F.col("gone")))
    return there.withColumn("broker", F.col("node")).select(*NETWORK.fieldNames())


WANTS = columns(broker="string", topic="string", wishes="long")
"""Which broker has clients that want which topic, at the end, and by how many wishes; members of groups count."""

WORDS = part("words about wishes", Kind.SUBSCRIBED, Kind.UNSUBSCRIBED, Kind.JOINED, Kind.PARTED)


def wants(told: Wished, trace: DataFrame) -> DataFrame:
    rows = held(trace).unionByName(held(trace, Kind.JOINED, Kind.PARTED))
    named = rows.select(F.col("node").alias("broker"), F.col("pattern_topic").alias("topic"))
    counted = named.groupBy("broker", "topic").agg(F.count(F.lit(1)).alias("wishes"))
    return counted.select(*WANTS.fieldNames())


def not_wanted(told: Wished, trace: DataFrame) -> DataFrame:
    """What was said of wishes, and of groups, and does not hold at the end."""
    both = not_held(told, trace).unionByName(not_held(told, trace, Kind.JOINED, Kind.PARTED))
    return both.groupBy("table", "reason").agg(F.sum("rows").alias("rows"))


RATES = columns(topic="string", events="double", first="double", last="double")
"""How many events there were of each topic, in the time that was watched."""

PUBLICATIONS = part("publications", Kind.PUBLISHED)


def rates(told: Wished, trace: DataFrame) -> DataFrame:
    rows = trace.where(PUBLICATIONS.rows(told) & _outside(told).isNull())
    counted = rows.groupBy("topic").agg(
        F.count(F.lit(1)).cast("double").alias("events"), F.min("time").alias("first"), F.max("time").alias("last")
    )
    return counted.select(*RATES.fieldNames())


def not_rated(told: Wished, trace: DataFrame) -> DataFrame:
    """The publications at other times."""
    others = trace.where(PUBLICATIONS.rows(told)).withColumn("reason", _outside(told)).where("reason IS NOT NULL")
    counted = others.groupBy("reason").agg(F.count(F.lit(1)).alias("rows"))
    return counted.select(F.lit("trace").alias("table"), "reason", "rows")


def _outside(told: Wished) -> Column:
    """Why a publication does not count; null if it does."""
    late = F.col("time") >= told.until if told.until else F.lit(False)
    return F.when(F.col("time") < told.since, F.lit("events published too early")).when(
        late, F.lit("events published too late")
    )


HOMES = columns(user_id="long", client="string", broker="string")
"""Each client that may be moved, by number: its name, and the broker that it is at. Members of groups stay."""


def homes(told: Wished, trace: DataFrame) -> DataFrame:
    bound = held(trace, Kind.JOINED, Kind.PARTED).select("client").distinct()
    free = held(trace).join(bound, "client", "left_anti")
    found = free.groupBy("client").agg(F.max_by("node", "at").alias("broker"))
    numbered = found.withColumn("user_id", F.xxhash64("client")).select(*HOMES.fieldNames())
    twice = numbered.groupBy("user_id").agg(F.count(F.lit(1)).alias("clients")).where("clients > 1")
    if twice.limit(1).count():
        raise BadFlow("two clients have the same number, which is a hash of their names: rename one of them")
    return numbered


INTERESTS = columns(user_id="long", topic="string")
"""What each of these clients wants."""


def interests(told: Wished, trace: DataFrame, homes: DataFrame) -> DataFrame:
    rows = held(trace).withColumns({"topic": F.col("pattern_topic"), "broker": F.col("node")})
    own = rows.join(homes, ["client", "broker"])
    return own.select(*INTERESTS.fieldNames()).distinct()
