"""What a trace says of brokers, of their clients' wishes, and of topics, when it ends."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from reknit.pipeline.flow import BadFlow
from reknit.pipeline.trace import TRACE
from reknit.pipeline.wishes import Wished, homes, interests, network, not_rated, not_wanted, rates, wants
from reknit.trace.records import DRAINED

TOLD = Wished()


def seen(kind: str, node: str, **more: Any) -> dict[str, Any]:
    return {"kind": kind, "node": node, **more}


def trace(spark: SparkSession, *records: dict[str, Any]) -> DataFrame:
    rows = [{"run": "run", "time": float(order), "order": order, **each} for order, each in enumerate(records)]
    return spark.createDataFrame(rows, TRACE.schema)


def wish(kind: str, node: str, client: str, topic: str, **more: Any) -> dict[str, Any]:
    return seen(kind, node, client=client, pattern_topic=topic, **more)


def rows_of(frame: DataFrame, *names: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row[name] for name in names) for row in frame.collect())


def test_who_is_there_and_where_on_the_ring(spark: SparkSession) -> None:
    """One that has left, or is dead, is not; one that has come back is, where it is now. The simulator is no broker."""
    made = trace(
        spark,
        *(seen("started", name) for name in ("a", "b", "c", "d")),
        *(
            seen("placed", name, detail=str(number))
            for number, name in enumerate(("a", "b", "c", "d"), 18446744073709551610)
        ),
        seen("calm", ""),
        seen("placed", "a", detail="7"),
        seen("crashed", "b"),
        seen("crashed", "c"),
        seen("started", "c"),
        seen("placed", "c", detail="5"),
        seen("change", "a", detail="places: over at the manager"),
        seen("change", "d", detail=DRAINED),
    )
    assert rows_of(network(TOLD, made), "broker", "id") == [("a", "7"), ("c", "5")]
    tree = trace(spark, seen("started", "a"))
    assert rows_of(network(TOLD, tree), "broker", "id") == [("a", None)]
    two = made.unionByName(made.selectExpr("'other' AS run", *made.columns[1:]))
    with pytest.raises(BadFlow, match="a plan is for one network"):
        network(TOLD, two)


def test_who_wants_what(spark: SparkSession) -> None:
    """Members of groups want it for their broker, and stay where they are; all others may be placed."""
    made = trace(
        spark,
        wish("subscribed", "a", "one", "t/1"),
        wish("subscribed", "a", "one", "t/2", selector="x > 1"),
        wish("subscribed", "a", "two", "t/1"),
        wish("unsubscribed", "a", "two", "t/1"),
        wish("subscribed", "b", "two", "t/3"),
        wish("joined", "b", "member", "t/4", detail="g"),
        wish("subscribed", "b", "member", "t/5"),
        wish("joined", "a", "guest", "t/6", detail="g"),
        wish("parted", "a", "guest", "t/6", detail="g"),
        wish("subscribed", "a", "guest", "t/1"),
    )
    expected = [("a", "t/1"), ("a", "t/2"), ("b", "t/3"), ("b", "t/4"), ("b", "t/5")]
    assert rows_of(wants(TOLD, made), "broker", "topic") == expected
    said = {row["reason"]: row["rows"] for row in not_wanted(TOLD, made).collect()}
    assert said == {"wishes that were taken back": 2, "words about wishes after which there was another": 2}
    assert sum(row["wishes"] for row in wants(TOLD, made).collect()) + sum(said.values()) == made.count()
    at = homes(TOLD, made)
    assert rows_of(at, "client", "broker") == [("guest", "a"), ("one", "a"), ("two", "b")]
    named = {row["user_id"]: row["client"] for row in at.collect()}
    wanted = {(named[row["user_id"]], row["topic"]) for row in interests(TOLD, made, at).collect()}
    assert wanted == {("guest", "t/1"), ("one", "t/1"), ("one", "t/2"), ("two", "t/3")}


def test_how_much_is_published(spark: SparkSession) -> None:
    made = trace(
        spark, *(seen("published", "a", source="a.1", seq=number, topic=f"t/{number % 2}") for number in range(6))
    )
    assert rows_of(rates(TOLD, made), "topic", "events", "first", "last") == [
        ("t/0", 3.0, 0.0, 4.0),
        ("t/1", 3.0, 1.0, 5.0),
    ]
    told = Wished(since=2.0, until=5.0)
    assert rows_of(rates(told, made), "topic", "events") == [("t/0", 2.0), ("t/1", 1.0)]
    others = [("events published too early", 2), ("events published too late", 1)]
    assert rows_of(not_rated(told, made), "reason", "rows") == others
