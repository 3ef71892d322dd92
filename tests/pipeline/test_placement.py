"""Placement on Spark is Algorithm 1, cluster by cluster, and does not depend on how the input lies."""

from __future__ import annotations

import random
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from reknit.core.placement.interests import cluster_of
from reknit.core.placement.options import PlacementOptions as LiveOptions
from reknit.pipeline.flow import BadFlow
from reknit.pipeline.placement import (
    HOMES,
    INTERESTS,
    NETWORK,
    Placing,
    brokers,
    compared,
    moves,
    named,
    placed,
    placement_plan_of,
    rules,
    users,
)
from reknit.planning.placement import Placement, PlacementOptions
from reknit.planning.placement_plan import PlacementEvidence, PlacementRules

MODES = 4
TOPICS_OF_A_MODE = 6


def people(count: int = 120) -> list[tuple[int, str]]:
    """Each wants three topics of one of four kinds."""
    rng = random.Random(8)
    modes = [[f"{mode}/{topic}" for topic in range(TOPICS_OF_A_MODE)] for mode in range(MODES)]
    return [(user, topic) for user in range(count) for topic in rng.sample(rng.choice(modes), 3)]


TOLD = Placing(brokers=7, cluster=4, load_weight=1.0, update=5, seed=3)


def made(spark: SparkSession, told: Placing, parts: int = 1) -> tuple[DataFrame, DataFrame]:
    rows = spark.createDataFrame(people(), INTERESTS.schema).repartition(parts)
    numbers = named(told, None)
    everybody = users(told, rows, numbers, None).cache()
    return everybody, placed(told, everybody, numbers, None).cache()


def rows_of(frame: DataFrame, *order: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in frame.orderBy(*order).collect()]


def test_each_cluster_is_placed_as_by_the_algorithm(spark: SparkSession) -> None:
    everybody, found = made(spark, TOLD)
    at = {row[0]: row[1] for row in rows_of(found, "user_id")}
    known = everybody.collect()
    for cluster, first, size in ((0, 0, 4), (1, 4, 3)):
        own = sorted(
            (row for row in known if row["cluster"] == cluster), key=lambda row: (row["place"], row["user_id"])
        )
        assert all(first <= row["entry"] < first + size for row in own)
        names = sorted({name for row in own for name in row["topics"]})
        plain = Placement(size, len(names), options=PlacementOptions(TOLD.load_weight))
        for number, row in enumerate(own):
            if number % TOLD.update == 0:
                plain.exchange()
            topics = [names.index(name) for name in row["topics"]]
            assert first + plain.join(row["user_id"], topics, row["entry"] - first) == at[row["user_id"]]
    assert len(at) == 120


def test_partitions_change_nothing_and_the_seed_does(spark: SparkSession) -> None:
    tables = [rows_of(made(spark, told, parts)[1], "user_id") for told, parts in ((TOLD, 1), (TOLD, 5))]
    assert tables[0] == tables[1]
    other = rows_of(made(spark, Placing(brokers=7, cluster=4, load_weight=1.0, seed=4))[1], "user_id")
    assert other != tables[0]


def test_by_interest_brokers_subscribe_to_less_than_if_users_stay(spark: SparkSession) -> None:
    told = Placing(brokers=4, cluster=4, load_weight=0.5, update=1, rounds=2)
    everybody, found = made(spark, told)
    own = brokers(told, found, everybody).cache()
    assert sum(row["users"] for row in own.collect()) == 120
    by = {row["policy"]: row for row in compared(told, own, found, everybody, named(told, None)).collect()}
    assert by["interest"]["topics"] < by["static"]["topics"]
    assert by["interest"]["load_mean"] == by["static"]["load_mean"] == 90.0
    assert by["interest"]["topics"] == sum(row["topics"] for row in own.collect())


def test_what_is_no_similarity_is_refused() -> None:
    with pytest.raises(BadFlow, match="it is one of overlap"):
        rules(Placing(similarity="taste"))


AT_HOME = Placing(clusters=1, load_weight=0.5, update=1, rounds=3, gain_min=0.05, own_topics=False)
NETWORK_OF = ["east", "north", "south", "west"]


def test_clients_with_names_and_homes_become_a_plan(spark: SparkSession) -> None:
    """Whoever stays is no move; brokers that have nobody yet are there, too; the plan says what the tables say."""
    interests = spark.createDataFrame(people(), INTERESTS.schema)
    at = [(user, f"c{user}", NETWORK_OF[user % 3]) for user in range(120)]
    homes = spark.createDataFrame(at, HOMES.schema)
    numbers = named(AT_HOME, spark.createDataFrame([(name,) for name in NETWORK_OF], NETWORK.schema))
    everybody = users(AT_HOME, interests, numbers, homes).cache()
    found = placed(AT_HOME, everybody, numbers, homes).cache()
    away = moves(AT_HOME, found, numbers, homes)
    rows = {row["client"]: (row["start"], row["goal"]) for row in away.collect()}
    assert 0 < len(rows) < 120
    assert all(start == NETWORK_OF[int(client[1:]) % 3] != goal for client, (start, goal) in rows.items())
    plan = placement_plan_of(found, everybody, numbers, away, PlacementRules(load_weight=0.5, rounds=3))
    assert {move.client: (move.start, move.goal) for move in plan.steps} == rows
    assert [each.broker for each in plan.at] == NETWORK_OF
    assert [each.clients_before for each in plan.at] == [40, 40, 40, 0]
    assert (sum(each.clients_after for each in plan.at), plan.moves) == (120, len(rows))
    by = {row["policy"]: row["topics"] for row in _compared(found, everybody, numbers)}
    assert (plan.cost_before, plan.cost_after) == (by["static"], by["interest"])
    assert plan.cost_after < plan.cost_before
    assert plan.evidence == PlacementEvidence(120, 360)


def _compared(found: DataFrame, everybody: DataFrame, numbers: DataFrame) -> list[Any]:
    own = brokers(AT_HOME, found, everybody)
    return compared(AT_HOME, own, found, everybody, numbers).collect()


def test_clusters_of_a_network_are_those_of_live_brokers(spark: SparkSession) -> None:
    network = spark.createDataFrame([(name,) for name in NETWORK_OF], NETWORK.schema)
    rows = named(Placing(clusters=2), network).collect()
    options = LiveOptions(clusters=2)
    assert {row["broker"]: str(row["cluster"]) for row in rows} == {
        name: cluster_of(name, options) for name in NETWORK_OF
    }
    in_order = sorted(rows, key=lambda row: row["number"])
    assert [row["cluster"] for row in in_order] == sorted(row["cluster"] for row in rows)
    with pytest.raises(BadFlow, match="a network has at least one"):
        named(TOLD, network.limit(0))
