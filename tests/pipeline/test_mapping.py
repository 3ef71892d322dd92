"""The mapping that the flow finds is the planner's, and its costs are those of the plain equations."""

from __future__ import annotations

import random

import numpy as np
import pytest
from pyspark.sql import SparkSession

from reknit.model.ring import ring_id
from reknit.pipeline.flow import BadFlow
from reknit.pipeline.mapping import NEEDS, RATES, WANTS, Mapped, _signed, costs, needs, places
from reknit.planning.notification import Problem, cost
from reknit.planning.ring import Ring

TOLD = Mapped(trials=200)
NAMES = [f"b{number}" for number in range(12)]


def wanted() -> list[tuple[str, str]]:
    rng = random.Random(5)
    return [(name, f"t{topic}") for topic in range(8) for name in rng.sample(NAMES, 4)]


def test_places_and_costs(spark: SparkSession) -> None:
    rates = [(f"t{topic}", 1000.0 * (topic + 1)) for topic in range(7)]
    gathered = needs(TOLD, spark.createDataFrame(wanted(), WANTS.schema), spark.createDataFrame(rates, RATES.schema))
    assert {row["topic"]: row["events"] for row in gathered.collect()}["t7"] == 0.0
    found = places(TOLD, gathered)
    rows = sorted(found.collect(), key=lambda row: row["broker"])
    said = {row["quantity"]: row["value"] for row in costs(TOLD, gathered, found).collect()}
    names = sorted({name for name, _ in wanted()})
    assert [row["broker"] for row in rows] == names
    assert [row["before"] for row in rows] == [_signed(ring_id(name)) for name in names]
    assert sorted(row["after"] for row in rows) == sorted(row["before"] for row in rows)
    problem = plainly(names, dict(rates))
    order = [_signed(each) for each in problem.ring.ids]
    for column, quantity in (("before", "cost before"), ("after", "cost after")):
        assert said[quantity] == pytest.approx(cost(problem, [order.index(row[column]) for row in rows]))
    assert said["cost after"] + said["messages of the change"] < said["cost before"]
    assert said["brokers that move"] == sum(row["moves"] for row in rows) > 0


def plainly(names: list[str], rates: dict[str, float]) -> Problem:
    topics = sorted({topic for _, topic in wanted()})
    wants = np.array([[(name, topic) in wanted() for name in names] for topic in topics])
    events = np.array([rates.get(topic, 0.0) for topic in topics])
    return Problem(Ring([ring_id(name) for name in names]), tuple(map(ring_id, topics)), wants, events)


def test_the_same_input_gives_the_same_mapping(spark: SparkSession) -> None:
    table = spark.createDataFrame(wanted(), WANTS.schema)
    one, other = (places(TOLD, needs(TOLD, rows, None)).collect() for rows in (table, table.repartition(3)))
    assert one == other
    greedy = places(Mapped(search="greedy"), needs(TOLD, table, None))
    assert sorted(row["broker"] for row in greedy.collect()) == sorted({name for name, _ in wanted()})


def test_bad_input(spark: SparkSession) -> None:
    with pytest.raises(BadFlow, match="one of better, greedy"):
        needs(Mapped(search="luck"), spark.createDataFrame([], WANTS.schema), None)
    with pytest.raises(BadFlow, match="nobody wants anything"):
        places(TOLD, spark.createDataFrame([], NEEDS))
