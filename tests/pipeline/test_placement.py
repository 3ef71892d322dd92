"""Placement on Spark is Algorithm 1, cluster by cluster, and does not depend on how the input lies."""

from __future__ import annotations

import random
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from reknit.pipeline.flow import BadFlow
from reknit.pipeline.placement import INTERESTS, Placing, brokers, compared, placed, rules, users
from reknit.planning.placement import Placement, PlacementOptions

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
    everybody = users(told, rows).cache()
    return everybody, placed(told, everybody).cache()


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
    by = {row["policy"]: row for row in compared(told, own, found, everybody).collect()}
    assert by["interest"]["topics"] < by["static"]["topics"]
    assert by["interest"]["load_mean"] == by["static"]["load_mean"] == 90.0
    assert by["interest"]["topics"] == sum(row["topics"] for row in own.collect())


def test_what_is_no_similarity_is_refused() -> None:
    with pytest.raises(BadFlow, match="it is one of overlap"):
        rules(Placing(similarity="taste"))
