"""The mapping that the flow finds is the planner's, and its costs are those of the plain equations."""

from __future__ import annotations

import random

import numpy as np
import pytest
from pyspark.sql import SparkSession

from reknit.model.ring import ring_id
from reknit.pipeline.flow import BadFlow
from reknit.pipeline.mapping import NEEDS, NETWORK, RATES, WANTS, Mapped, _signed, costs, needs, places, ring_plan_of
from reknit.planning.notification import Problem, cost
from reknit.planning.ring import Ring
from reknit.planning.ring_plan import RingRules

TOLD = Mapped(trials=200)
NAMES = [f"b{number}" for number in range(12)]


def wanted() -> list[tuple[str, str]]:
    rng = random.Random(5)
    return [(name, f"t{topic}") for topic in range(8) for name in rng.sample(NAMES, 4)]


def test_places_and_costs(spark: SparkSession) -> None:
    rates = [(f"t{topic}", 1000.0 * (topic + 1)) for topic in range(7)]
    gathered = needs(TOLD, spark.createDataFrame(wanted(), WANTS.schema), spark.createDataFrame(rates, RATES.schema))
    assert {row["topic"]: row["events"] for row in gathered.collect()}["t7"] == 0.0
    found = places(TOLD, gathered, None)
    rows = sorted(found.collect(), key=lambda row: row["broker"])
    said = {row["quantity"]: row["value"] for row in costs(TOLD, gathered, found, None).collect()}
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
    one, other = (places(TOLD, needs(TOLD, rows, None), None).collect() for rows in (table, table.repartition(3)))
    assert one == other
    greedy = places(Mapped(search="greedy"), needs(TOLD, table, None), None)
    assert sorted(row["broker"] for row in greedy.collect()) == sorted({name for name, _ in wanted()})


def test_bad_input(spark: SparkSession) -> None:
    with pytest.raises(BadFlow, match="one of better, greedy"):
        needs(Mapped(search="luck"), spark.createDataFrame([], WANTS.schema), None)
    with pytest.raises(BadFlow, match="nobody wants anything"):
        places(TOLD, spark.createDataFrame([], NEEDS), None)


def test_brokers_are_where_the_network_says(spark: SparkSession) -> None:
    """In another order than that of their names, with one that wants nothing."""
    gathered = needs(TOLD, spark.createDataFrame(wanted(), WANTS.schema), None)
    ids = {name: ring_id(other) for name, other in zip(NAMES, [*NAMES[1:], NAMES[0]], strict=True)}
    ids["idle"] = ring_id("idle")
    network = spark.createDataFrame([(name, str(number)) for name, number in ids.items()], NETWORK.schema)
    rows = places(TOLD, gathered, network).collect()
    assert {row["broker"]: row["before"] for row in rows} == {name: _signed(number) for name, number in ids.items()}
    assert {row["broker"] for row in places(TOLD, gathered, None).collect()} == set(NAMES)
    part = network.where("broker != 'b1'")
    with pytest.raises(BadFlow, match="b1 has clients that want something, and is not on the ring"):
        places(TOLD, gathered, part)
    with pytest.raises(BadFlow, match="no broker has an id on a ring"):
        places(TOLD, gathered, network.limit(0))


def test_a_plan_needs_events(spark: SparkSession) -> None:
    gathered = needs(TOLD, spark.createDataFrame(wanted(), WANTS.schema), None)
    network = spark.createDataFrame([(name, str(ring_id(name))) for name in NAMES], NETWORK.schema)
    columns = "topic string, events double, first double, last double"
    with pytest.raises(BadFlow, match="the trace has no event"):
        ring_plan_of(gathered, network, spark.createDataFrame([], columns), RingRules())
    with pytest.raises(BadFlow, match="one of better, greedy"):
        ring_plan_of(gathered, network, spark.createDataFrame([], columns), RingRules(search="luck"))
    plan = ring_plan_of(gathered, network, spark.createDataFrame([("t1", 9.0, 1.0, 3.0)], columns), RingRules(trials=9))
    assert (plan.evidence.events, plan.evidence.seconds, plan.evidence.since) == (9.0, 2.0, 1.0)
