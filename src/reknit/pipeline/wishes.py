"""From a trace to what plans of the ring and of placement rest on: who is there, who wants what, how much is published.

Owns: the transforms behind ``wishes``, whose tables are the inputs of ``ring`` and ``placement``. Must not know: how
places are found, or brokers for clients.

A client's number is a hash of its name, so that it is the same wherever it is made; two clients with one number would
be taken for one, so that is refused.
"""

from __future__ import annotations

from typing import Annotated

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from reknit.pipeline.flow import BadFlow, Parameters, columns, told
from reknit.pipeline.trace import place, placed
from reknit.pipeline.traffic import held, is_kind
from reknit.trace.records import DRAINED, Kind

__all__ = ["HOMES", "INTERESTS", "NETWORK", "RATES", "WANTS", "Wished", "homes", "interests", "network", "rates"]
__all__ += ["wants"]


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


WANTS = columns(broker="string", topic="string")
"""Which broker has clients that want which topic, at the end; members of groups count."""


def wants(told: Wished, trace: DataFrame) -> DataFrame:
    rows = held(trace).unionByName(held(trace, Kind.JOINED, Kind.PARTED))
    named = rows.select(F.col("node").alias("broker"), F.col("pattern_topic").alias("topic"))
    return named.distinct().select(*WANTS.fieldNames())


RATES = columns(topic="string", events="double", first="double", last="double")
"""How many events there were of each topic, in the time that was watched."""


def rates(told: Wished, trace: DataFrame) -> DataFrame:
    rows = trace.where(is_kind(Kind.PUBLISHED) & (F.col("time") >= told.since))
    if told.until:
        rows = rows.where(F.col("time") < told.until)
    counted = rows.groupBy("topic").agg(
        F.count(F.lit(1)).cast("double").alias("events"), F.min("time").alias("first"), F.max("time").alias("last")
    )
    return counted.select(*RATES.fieldNames())


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
