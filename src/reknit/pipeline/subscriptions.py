"""From visits to subscriptions that come and go: people want the cells where they and their friends are.

Owns: who follows whom, and what each wants from when to when. Must not know: how a stream of it is played.

That is the model of DYNATOPS, section 6.1.1: a cell is a topic, a user is always subscribed to the cell that he is in,
and to the current cells of his friends. A *stay* is one reason to want a cell: a visit of one's own, or of somebody
one follows. An *interest* is a longest time with a reason: stays that overlap or touch are one, so nobody lets go of a
topic that he wants to keep. A visit that is open is wanted to the end.

A client stays with the broker of the cell that its user was seen in first.
"""

from __future__ import annotations

import itertools
from typing import Annotated

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from reknit.pipeline.flow import BadFlow, Input, Parameters, Rule, columns, told
from reknit.trace.wishes import ORDER, SUBSCRIBE, UNSUBSCRIBE

__all__ = ["BY_BROKER", "BY_DAY", "BY_TOPIC", "EDGES", "FRIENDS", "INTERESTS", "STAYS", "STREAM", "VISITED"]
__all__ += ["Following", "by_broker", "by_day", "by_topic", "friends", "interests", "stays", "stream"]

FRIENDS_MAX = 1_000
LINGER_S_MAX = 1e10
"""Three hundred years; a visit without an end has none."""
SHELVES = 256
"""That users are numbered in. The draw depends on it: another number is another draw."""


class Following(Parameters, frozen=True):
    friends: Annotated[int, told("how many friends are drawn for each user, where none are given")] = 4
    seed: Annotated[int, told("of that draw")] = 0
    topic: Annotated[str, told("what stands before the number of a cell in its topic")] = "cell/"
    brokers: Annotated[str, told("names of brokers, as b1,b2,b3, among which cells are dealt out; else one a cell")] = (
        ""
    )


def _visit_rules(parameters: Parameters) -> tuple[Rule, ...]:
    return (
        Rule("no user", F.col("user_id").isNull()),
        Rule("no cell", F.col("cell").isNull()),
        Rule("no start", F.col("start").isNull()),
        Rule("ends before it starts", F.col("linger_s") < 0),
        Rule("impossible linger time", F.isnan("linger_s") | (F.col("linger_s") > LINGER_S_MAX)),
    )


def _edge_rules(parameters: Parameters) -> tuple[Rule, ...]:
    return (
        Rule("no user", F.col("u").isNull() | F.col("v").isNull()),
        Rule("a friend of himself", F.col("u") == F.col("v")),
    )


VISITED = Input(
    name="visits",
    about="who was in which cell from when on, and for how long: the table of the flow visits",
    schema=columns(user_id="long", cell="long", start="timestamp", linger_s="double"),
    rules=_visit_rules,
)
EDGES = Input(
    name="edges",
    about="who is whose friend; each follows the other",
    schema=columns(u="long", v="long"),
    rules=_edge_rules,
    optional=True,
)

# --- who follows whom

FRIENDS = columns(user_id="long", friend_id="long")


def friends(told: Following, visits: DataFrame, edges: DataFrame | None) -> DataFrame:
    if edges is None:
        return _drawn(told, visits).select(*FRIENDS.fieldNames())
    there, back = edges.select("u", "v"), edges.select(F.col("v").alias("u"), F.col("u").alias("v"))
    return there.union(back).distinct().toDF("user_id", "friend_id").select(*FRIENDS.fieldNames())


def _drawn(told: Following, visits: DataFrame) -> DataFrame:
    """Friends for each, all different and none oneself: each from a part of the others of his own.

    Users have numbers; the others are the numbers ahead, in a circle, cut into equal parts. By a hash users are in
    shelves, and their numbers go on from shelf to shelf, so that no worker has to see all of them, and they do not
    depend on who has which rows.
    """
    if not 0 <= told.friends <= FRIENDS_MAX:
        raise BadFlow(f"friends is {told.friends}: it has to be from 0 to {FRIENDS_MAX}")
    shelf = F.pmod(F.xxhash64("user_id"), F.lit(SHELVES)).cast("int")
    users = visits.select("user_id").distinct().withColumn("shelf", shelf)
    counted = {row["shelf"]: row["count"] for row in users.groupBy("shelf").count().collect()}
    *firsts, total = itertools.accumulate((counted.get(nth, 0) for nth in range(SHELVES)), initial=0)
    drawn = min(told.friends, max(total - 1, 0))
    if not drawn:
        return users.select("user_id", F.col("user_id").alias("friend_id")).limit(0)
    first = F.element_at(F.array(*(F.lit(each).cast("long") for each in firsts)), F.col("shelf") + 1)
    number = first + F.row_number().over(Window.partitionBy("shelf").orderBy("user_id")) - 1
    numbered = users.select("user_id", number.alias("number"))
    parts = [(total - 1) * nth // drawn for nth in range(drawn + 1)]
    ahead = [
        F.lit(low + 1) + F.pmod(F.xxhash64(F.lit(told.seed), F.col("user_id"), F.lit(nth)), F.lit(high - low))
        for nth, (low, high) in enumerate(itertools.pairwise(parts))
    ]
    chosen = numbered.select("user_id", "number", F.explode(F.array(*ahead)).alias("ahead"))
    place = F.pmod(F.col("number") + F.col("ahead"), F.lit(total)).alias("number")
    return chosen.select("user_id", place).join(
        numbered.select("number", F.col("user_id").alias("friend_id")), "number"
    )


# --- what is wanted when

STAYS = columns(user_id="long", cell="long", since="timestamp", until="timestamp", own="long")
"""A reason to want a cell. ``own``: 1 for a visit of one's own; 0 for one of somebody that one follows."""


def stays(told: Following, visits: DataFrame, friends: DataFrame) -> DataFrame:
    linger_us = F.round(F.col("linger_s") * 1e6).cast("long")
    until = F.timestamp_micros(F.unix_micros("start") + linger_us)
    own = visits.select("user_id", "cell", F.col("start").alias("since"), until.alias("until"))
    followed = own.withColumnRenamed("user_id", "friend_id").join(friends, "friend_id")
    both = own.withColumn("own", F.lit(1).cast("long")).unionByName(
        followed.drop("friend_id").withColumn("own", F.lit(0).cast("long"))
    )
    return both.select(*STAYS.fieldNames())


INTERESTS = columns(user_id="long", cell="long", since="timestamp", until="timestamp", stays="long")
"""From when to when a user wants a cell; no ``until`` where that is to the end."""

_NEVER_US = 253_402_300_799_000_000
"""The last second of the year 9999."""


def interests(told: Following, stays: DataFrame) -> DataFrame:
    ends = F.coalesce(F.unix_micros("until"), F.lit(_NEVER_US))
    rows = stays.select("user_id", "cell", F.unix_micros("since").alias("from_us"), ends.alias("to_us"))
    inorder = Window.partitionBy("user_id", "cell").orderBy("from_us", "to_us")
    reached = F.max("to_us").over(inorder.rowsBetween(Window.unboundedPreceding, -1))
    anew = F.when(reached.isNull() | (F.col("from_us") > reached), 1).otherwise(0)
    upto = inorder.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    numbered = rows.withColumn("anew", anew).withColumn("nth", F.sum("anew").over(upto))
    merged = numbered.groupBy("user_id", "cell", "nth").agg(
        F.timestamp_micros(F.min("from_us")).alias("since"),
        F.max("to_us").alias("to_us"),
        F.count(F.lit(1)).alias("stays"),
    )
    until = F.when(F.col("to_us") < _NEVER_US, F.timestamp_micros("to_us"))
    return merged.withColumn("until", until).select(*INTERESTS.fieldNames())


# --- the stream

STREAM = columns(
    at="timestamp", action="string", broker="string", client="string", topic="string", opens="long", day="string"
)
"""``opens``: 1 where an interest begins."""


def stream(told: Following, interests: DataFrame, visits: DataFrame) -> DataFrame:
    """Both ends of every interest, with a directory for each day, and the rows of a file in the order of time."""
    homes = visits.groupBy("user_id").agg(F.min_by("cell", F.struct("start", "cell")).alias("home"))
    begun = interests.select("user_id", "cell", F.col("since").alias("at"), F.lit(1).cast("long").alias("opens"))
    ended = interests.where(F.col("until").isNotNull()).select(
        "user_id", "cell", F.col("until").alias("at"), F.lit(0).cast("long").alias("opens")
    )
    rows = (
        begun.union(ended)
        .join(homes, "user_id", "left")
        .select(
            "at",
            F.when(F.col("opens") == 1, SUBSCRIBE).otherwise(UNSUBSCRIBE).alias("action"),
            _broker(told, F.coalesce("home", "cell")).alias("broker"),
            F.concat(F.lit("u"), F.col("user_id")).alias("client"),
            F.concat(F.lit(told.topic), F.col("cell")).alias("topic"),
            "opens",
            F.date_format("at", "yyyy-MM-dd").alias("day"),
        )
    )
    return rows.repartition("day").sortWithinPartitions("day", *ORDER).select(*STREAM.fieldNames())


def _broker(told: Following, cell: Column) -> Column:
    """Whose cell it is."""
    names = [name.strip() for name in told.brokers.split(",") if name.strip()]
    if not names:
        return F.concat(F.lit("cell-"), cell)
    known = F.array(*(F.lit(name) for name in names))
    return F.element_at(known, (F.pmod(cell, F.lit(len(names))) + 1).cast("int"))


_COUNTS = {"subscribes": "long", "unsubscribes": "long", "changes": "long"}
BY_BROKER = columns(day="string", broker="string", **_COUNTS)
BY_TOPIC = columns(day="string", topic="string", **_COUNTS)
BY_DAY = columns(day="string", **_COUNTS)


def by_broker(told: Following, stream: DataFrame) -> DataFrame:
    return _counted(stream, "broker").select(*BY_BROKER.fieldNames())


def by_topic(told: Following, stream: DataFrame) -> DataFrame:
    return _counted(stream, "topic").select(*BY_TOPIC.fieldNames())


def by_day(told: Following, stream: DataFrame) -> DataFrame:
    """How dynamic subscriptions are (Figure 5c)."""
    return _counted(stream).select(*BY_DAY.fieldNames())


def _counted(stream: DataFrame, *what: str) -> DataFrame:
    counted = stream.groupBy("day", *what).agg(
        F.count_if(F.col("action") == SUBSCRIBE).alias("subscribes"),
        F.count_if(F.col("action") == UNSUBSCRIBE).alias("unsubscribes"),
        F.count(F.lit(1)).alias("changes"),
    )
    return counted.orderBy("day", *what)
