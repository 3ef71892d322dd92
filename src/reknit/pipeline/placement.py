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
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from reknit.pipeline.flow import BadFlow, Input, Parameters, Rule, columns, told
from reknit.planning.placement import SIMILARITIES, Placement, PlacementOptions

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["BROKERS", "COMPARED", "INTERESTS", "PLACED", "USERS", "Placing", "brokers", "compared", "placed", "users"]


class Placing(Parameters, frozen=True):
    brokers: Annotated[int, msgspec.Meta(ge=1), told("how many brokers there are")] = 100
    cluster: Annotated[int, msgspec.Meta(ge=1), told("how many of them know of each other")] = 10
    load_weight: Annotated[float, msgspec.Meta(ge=0), told("what a broker's part of all load counts: w_l")] = 5.0
    similarity: Annotated[str, told(f"one of {', '.join(SIMILARITIES)}")] = "overlap"
    update: Annotated[int, msgspec.Meta(ge=1), told("users between two exchanges of a cluster: T_update")] = 500
    rounds: Annotated[int, msgspec.Meta(ge=1), told("how often each user asks")] = 1
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

USERS = columns(user_id="long", cluster="int", entry="int", place="long", topics="strings", rows="long")
"""Each user with its topics, the cluster it belongs to, the broker it asks first, and its place in the order."""


def users(told: Placing, interests: DataFrame) -> DataFrame:
    drawn = interests.groupBy("user_id").agg(
        F.array_sort(F.collect_set("topic")).alias("topics"), F.count(F.lit(1)).alias("rows")
    )
    entry = F.pmod(_chance(told, "entry"), F.lit(told.brokers)).cast("int")
    return drawn.withColumns(
        {
            "entry": entry,
            "cluster": F.floor(entry / told.cluster).cast("int"),
            "place": _chance(told, "place"),
        }
    ).select(*USERS.fieldNames())


def _chance(told: Placing, what: str) -> Column:
    return F.xxhash64(F.lit(told.seed), F.lit(what), F.col("user_id"))


PLACED = columns(user_id="long", broker="int", entry="int", subscriptions="int", users="long")
"""Where each user is, and where it would be if it had stayed with the broker it asked."""


def placed(told: Placing, users: DataFrame) -> DataFrame:
    each = users.select("cluster", "user_id", "entry", "place", "topics")
    found = each.groupBy("cluster").applyInPandas(_place_cluster(told), PLACED)
    return found.select(*PLACED.fieldNames())


def _place_cluster(told: Placing) -> Callable[[pd.DataFrame], pd.DataFrame]:
    def place(rows: pd.DataFrame) -> pd.DataFrame:
        import pandas as pd

        in_order = rows.sort_values(["place", "user_id"])
        first = int(in_order["cluster"].iloc[0]) * told.cluster
        size = min(told.cluster, told.brokers - first)
        numbers = {name: number for number, name in enumerate(sorted({t for each in in_order["topics"] for t in each}))}
        wanted = [[numbers[name] for name in each] for each in in_order["topics"]]
        entries = [int(entry) - first for entry in in_order["entry"]]
        homes = _ask_all(told, size, len(numbers), wanted, entries)
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


def _ask_all(told: Placing, brokers: int, topics: int, wanted: list[list[int]], entries: list[int]) -> list[int]:
    """By user, in their order: the broker of the cluster that it ends at."""
    options = PlacementOptions(told.load_weight, told.similarity)
    placement = Placement(brokers, topics, options=options)
    for turn in range(told.rounds):
        for user, (topics_of, entry) in enumerate(zip(wanted, entries, strict=True)):
            if user % told.update == 0:
                placement.exchange()
            placement.join(user, topics_of, placement.home[user] if turn else entry)
    return [placement.home[user] for user in range(len(wanted))]


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


def compared(told: Placing, brokers: DataFrame, placed: DataFrame, users: DataFrame) -> DataFrame:
    policies = {"interest": brokers, "static": _by_broker(placed, users, "entry")}
    rows = [_summed(told, policy, table) for policy, table in policies.items()]
    return rows[0].unionByName(rows[1]).orderBy("policy").select(*COMPARED.fieldNames())


def _summed(told: Placing, policy: str, table: DataFrame) -> DataFrame:
    """Brokers without a user count, too, with nothing."""
    total, squares = F.sum("subscriptions"), F.sum(F.col("subscriptions").cast("double") ** 2)
    mean = total / told.brokers
    return table.agg(
        F.lit(policy).alias("policy"),
        F.sum("topics").alias("topics"),
        mean.cast("double").alias("load_mean"),
        F.sqrt(F.greatest(squares / told.brokers - mean * mean, F.lit(0.0))).alias("load_deviation"),
        F.max("users").alias("users_max"),
    )
