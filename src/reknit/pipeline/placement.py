"""Users to brokers by interest, for millions of them: Algorithm 1 of DYNATOPS, each cluster of brokers by itself.

Brokers of different clusters know nothing of each other, so clusters are placed side by side, and no worker holds more
than the users of one. In which order users ask, and whom they ask first, is drawn from the seed and the user alone:
the same input gives the same tables however it is partitioned.

Owns: the transforms behind ``placement``. Must not know: the utility of a broker (``reknit.planning.placement``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import msgspec
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from reknit.model.ring import ring_id
from reknit.pipeline.flow import BadFlow, Input, Parameters, Rule, columns, told
from reknit.planning.placement import SIMILARITIES, Placement, PlacementOptions
from reknit.planning.placement_plan import (
    MOVES_MAX,
    AtBroker,
    ClientMove,
    PlacementEvidence,
    PlacementPlan,
    PlacementRules,
    make_placement_plan,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["BROKERS", "COMPARED", "HOMES", "INTERESTS", "MOVES", "NAMED", "NETWORK", "PLACED", "USERS", "Placing"]
__all__ += ["brokers", "compared", "moves", "named", "placed", "placement_plan_of", "users"]


class Placing(Parameters, frozen=True):
    brokers: Annotated[int, msgspec.Meta(ge=1), told("how many brokers there are")] = 100
    cluster: Annotated[int, msgspec.Meta(ge=1), told("how many of them know of each other")] = 10
    load_weight: Annotated[float, msgspec.Meta(ge=0), told("what a broker's part of all load counts: w_l")] = 5.0
    similarity: Annotated[str, told(f"one of {', '.join(SIMILARITIES)}")] = "overlap"
    update: Annotated[int, msgspec.Meta(ge=1), told("users between two exchanges of a cluster: T_update")] = 500
    rounds: Annotated[int, msgspec.Meta(ge=1), told("how often each user asks")] = 1
    clusters: Annotated[int, msgspec.Meta(ge=0), told("of a network: clusters by brokers' names, as live ones are")] = 0
    gain_min: Annotated[float, msgspec.Meta(ge=0), told("who has a home leaves it only for more than this")] = 0.0
    own_topics: Annotated[bool, told("whether topics count for a broker that this user alone has brought")] = True
    seed: Annotated[int, told("from which the order of users is drawn, and whom each asks first")] = 0


def rules(told: Placing) -> tuple[Rule, ...]:
    if told.similarity not in SIMILARITIES:
        raise BadFlow(f"similarity {told.similarity!r}: it is one of {', '.join(SIMILARITIES)}")
    return (Rule("no user", F.col("user_id").isNull()), Rule("no topic", F.col("topic").isNull()))


INTERESTS = Input(
    name="interests",
    about="who wants which topic",
    schema=columns(user_id="long", topic="string"),
    rules=rules,
)

HOMES = Input(
    name="homes",
    about="the names of users, and the brokers that they are at; drawn by chance where it is left out",
    schema=columns(user_id="long", client="string", broker="string"),
    rules=lambda told: tuple(Rule(f"no {name}", F.col(name).isNull()) for name in ("user_id", "client", "broker")),
    optional=True,
)
NETWORK = Input(
    name="network",
    about="the names of brokers; as many as `brokers` says, with numbers for names, where it is left out",
    schema=columns(broker="string"),
    rules=lambda told: (Rule("no broker", F.col("broker").isNull()),),
    optional=True,
)

BROKERS_MAX = 100_000

NAMED = columns(number="int", broker="string", cluster="int")
"""Brokers by number; those of one cluster have numbers in a row."""


def named(told: Placing, network: DataFrame | None) -> DataFrame:
    if network is None:
        numbers = F.col("id").cast("int")
        made = _numbers(told).select(numbers.alias("number"), numbers.cast("string").alias("broker"))
        return made.withColumn("cluster", F.floor(F.col("number") / told.cluster).cast("int")).select(
            *NAMED.fieldNames()
        )
    names = sorted({row["broker"] for row in network.limit(BROKERS_MAX + 1).collect()})
    if not 0 < len(names) <= BROKERS_MAX:
        raise BadFlow(f"{len(names):,} brokers: a network has at least one, and {BROKERS_MAX:,} at most")
    groups = {
        name: ring_id(name) % told.clusters if told.clusters else number // told.cluster
        for number, name in enumerate(names)
    }
    rows = [
        (number, name, groups[name]) for number, name in enumerate(sorted(names, key=lambda name: (groups[name], name)))
    ]
    return network.sparkSession.createDataFrame(rows, NAMED).select(*NAMED.fieldNames())


def _numbers(told: Placing) -> DataFrame:
    return SparkSession.active().range(told.brokers)


USERS = columns(user_id="long", cluster="int", entry="int", place="long", topics="strings", rows="long")
"""Each user with its topics, the cluster it belongs to, the broker it asks first, and its place in the order."""


def users(told: Placing, interests: DataFrame, named: DataFrame, homes: DataFrame | None) -> DataFrame:
    drawn = interests.groupBy("user_id").agg(
        F.array_sort(F.collect_set("topic")).alias("topics"), F.count(F.lit(1)).alias("rows")
    )
    chance = F.pmod(_chance(told, "entry"), F.lit(named.count())).cast("int")
    if homes is None:
        asked = drawn.withColumn("entry", chance)
    else:
        numbers = named.select(F.col("number").alias("home"), "broker")
        at = homes.join(F.broadcast(numbers), "broker").select("user_id", "home")
        asked = drawn.join(at, "user_id", "left").withColumn("entry", F.coalesce("home", chance))
    clusters = named.select(F.col("number").alias("entry"), "cluster")
    return (
        asked.join(F.broadcast(clusters), "entry")
        .withColumn("place", _chance(told, "place"))
        .select(*USERS.fieldNames())
    )


def _chance(told: Placing, what: str) -> Column:
    return F.xxhash64(F.lit(told.seed), F.lit(what), F.col("user_id"))


PLACED = columns(user_id="long", broker="int", entry="int", subscriptions="int", users="long")
"""Where each user is, and where it would be if it had stayed with the broker it asked."""


def placed(told: Placing, users: DataFrame, named: DataFrame, homes: DataFrame | None) -> DataFrame:
    each = users.select("cluster", "user_id", "entry", "place", "topics")
    spans = named.groupBy("cluster").agg(F.min("number").alias("first"), F.count(F.lit(1)).alias("size")).collect()
    where = {row["cluster"]: (row["first"], row["size"]) for row in spans}
    found = each.groupBy("cluster").applyInPandas(_place_cluster(told, where, homes is not None), PLACED)
    return found.select(*PLACED.fieldNames())


def _place_cluster(
    told: Placing, spans: dict[int, tuple[int, int]], settled: bool
) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """``spans``: by cluster, the number of its first broker, and how many it has."""

    def place(rows: pd.DataFrame) -> pd.DataFrame:
        import pandas as pd

        in_order = rows.sort_values(["place", "user_id"])
        first, size = spans[int(in_order["cluster"].iloc[0])]
        numbers = {name: number for number, name in enumerate(sorted({t for each in in_order["topics"] for t in each}))}
        wanted = [[numbers[name] for name in each] for each in in_order["topics"]]
        entries = [int(entry) - first for entry in in_order["entry"]]
        homes = _ask_all(told, Placement(size, len(numbers), options=_options(told)), wanted, entries, settled)
        return pd.DataFrame(
            {
                "user_id": in_order["user_id"].to_numpy(),
                "broker": [first + home for home in homes],
                "entry": in_order["entry"].to_numpy(),
                "subscriptions": [len(each) for each in wanted],
                "users": 1,
            }
        )

    return place


def _options(told: Placing) -> PlacementOptions:
    return PlacementOptions(told.load_weight, told.similarity, told.own_topics, told.gain_min)


def _ask_all(
    told: Placing, placement: Placement, wanted: list[list[int]], entries: list[int], settled: bool
) -> list[int]:
    """By user, in their order: the broker of the cluster that it ends at. ``settled``: they are where they ask."""
    for user, (topics_of, entry) in enumerate(zip(wanted, entries, strict=True)):
        if settled:
            placement.place(user, topics_of, entry)
    for turn in range(told.rounds):
        for user, (topics_of, entry) in enumerate(zip(wanted, entries, strict=True)):
            if user % told.update == 0:
                placement.exchange()
            placement.join(user, topics_of, placement.home[user] if turn else entry)
    return [placement.home[user] for user in range(len(wanted))]


MOVES = columns(user_id="long", client="string", start="string", goal="string")
"""Who goes where, by name: users that end at another broker than the one they asked."""


def moves(told: Placing, placed: DataFrame, named: DataFrame, homes: DataFrame | None) -> DataFrame:
    names = (named.select(F.col("number").alias(at), F.col("broker").alias(name)) for at, name in _ENDS)
    away = placed.where(F.col("broker") != F.col("entry")).select("user_id", "broker", "entry")
    for table, (at, _) in zip(names, _ENDS, strict=True):
        away = away.join(F.broadcast(table), at)
    if homes is None:
        away = away.withColumn("client", F.col("user_id").cast("string"))
    else:
        away = away.join(homes.select("user_id", "client"), "user_id")
    return away.select(*MOVES.fieldNames())


_ENDS = (("entry", "start"), ("broker", "goal"))


BROKERS = columns(broker="int", users="long", subscriptions="long", topics="long")
"""By broker: its users, their subscriptions, and the different topics that it has to subscribe to itself."""


def brokers(told: Placing, placed: DataFrame, users: DataFrame) -> DataFrame:
    return _by_broker(placed, users, "broker").select(*BROKERS.fieldNames())


def _by_broker(placed: DataFrame, users: DataFrame, where: str) -> DataFrame:
    at = placed.select("user_id", F.col(where).alias("broker"))
    own = users.select("user_id", "topics").join(at, "user_id")
    counted = own.groupBy("broker").agg(
        F.count(F.lit(1)).alias("users"), F.sum(F.size("topics")).cast("long").alias("subscriptions")
    )
    different = own.select("broker", F.explode("topics").alias("topic")).distinct().groupBy("broker")
    return counted.join(different.agg(F.count(F.lit(1)).alias("topics")), "broker")


COMPARED = columns(policy="string", topics="long", load_mean="double", load_deviation="double", users_max="long")
"""What brokers have to subscribe to in all, and how evenly load lies, if users go where their interests are or stay."""


def compared(told: Placing, brokers: DataFrame, placed: DataFrame, users: DataFrame, named: DataFrame) -> DataFrame:
    policies = {"interest": brokers, "static": _by_broker(placed, users, "entry")}
    rows = [_summed(named.count(), policy, table) for policy, table in policies.items()]
    return rows[0].unionByName(rows[1]).orderBy("policy").select(*COMPARED.fieldNames())


def _summed(brokers: int, policy: str, table: DataFrame) -> DataFrame:
    """Brokers without a user count, too, with nothing."""
    total, squares = F.sum("subscriptions"), F.sum(F.col("subscriptions").cast("double") ** 2)
    mean = total / brokers
    return table.agg(
        F.lit(policy).alias("policy"),
        F.sum("topics").alias("topics"),
        mean.cast("double").alias("load_mean"),
        F.sqrt(F.greatest(squares / brokers - mean * mean, F.lit(0.0))).alias("load_deviation"),
        F.max("users").alias("users_max"),
    )


def placement_plan_of(
    placed: DataFrame, users: DataFrame, named: DataFrame, moves: DataFrame, rules: PlacementRules
) -> PlacementPlan:
    """The plan that the tables support."""
    before, after = (_by_broker(placed, users, where) for where in ("entry", "broker"))
    counts = {when: {row["broker"]: row for row in table.collect()} for when, table in (("b", before), ("a", after))}
    at = [
        AtBroker(
            row["broker"],
            *(counts[when].get(row["number"], _NOTHING)[what] for what in ("users", "topics") for when in "ba"),
        )
        for row in named.collect()
    ]
    count = moves.count()
    listed = moves.collect() if count <= MOVES_MAX else []
    ends = moves.select(F.explode(F.array("start", "goal")).alias("broker")).distinct().collect()
    (seen,) = users.agg(F.count(F.lit(1)).alias("clients"), F.sum(F.size("topics")).alias("topics")).collect()
    return make_placement_plan(
        at,
        [ClientMove(row["client"], row["start"], row["goal"]) for row in listed],
        count,
        [row["broker"] for row in ends],
        rules,
        PlacementEvidence(seen["clients"], seen["topics"] or 0),
    )


_NOTHING = {"users": 0, "topics": 0}
