"""The tables of a run of the simulator, beside plain counts over its records."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from reknit.pipeline.flows.traffic import FLOW
from reknit.pipeline.run import Order, run_flow
from reknit.pipeline.traffic import Watched
from reknit.planning.rates import estimates
from reknit.sim.schedule import run_seed
from reknit.trace.records import Kind, Record
from tests.pipeline.cases import case, write

TOLD = Watched(window_s=0.5, top=3)


def held(records: list[Record]) -> Counter[tuple[str, str, str]]:
    """By broker and pattern, the clients that want it at the end."""
    wants: dict[tuple[str, str, Any], None] = {}
    for each in records:
        key = (each.node, each.client, each.pattern)
        if each.kind in (Kind.STARTED, Kind.CRASHED):
            wants = {key: None for key in wants if key[0] != each.node}
        elif each.kind is Kind.SUBSCRIBED:
            wants[key] = None
        elif each.kind is Kind.UNSUBSCRIBED:
            wants.pop(key, None)
    return Counter((node, pattern.topic, pattern.selector) for node, _, pattern in wants)


def delays(records: list[Record]) -> dict[int, list[float]]:
    """By hops, walking every event from broker to broker."""
    begun: dict[Any, float] = {}
    reached: dict[Any, dict[str, int]] = {}
    found: dict[int, list[float]] = {}
    for each in records:
        if each.event is None:
            continue
        if each.kind is Kind.PUBLISHED:
            begun[each.event.id], reached[each.event.id] = each.time, {each.node: 0}
        elif each.kind is Kind.FORWARDED:
            way = reached[each.event.id]
            way.setdefault(each.peer, way[each.node] + 1)
        elif each.kind is Kind.DELIVERED:
            found.setdefault(reached[each.event.id][each.node], []).append(each.time - begun[each.event.id])
    return found


def test_the_tables_are_what_plain_counting_finds(spark: SparkSession, tmp_path: Path) -> None:
    outcome = run_seed(0, "changes")
    records = outcome.records
    write(case("run", outcome, records), tmp_path / "runs")
    run_flow(spark, Order(FLOW, TOLD, {"trace": str(tmp_path / "runs")}, str(tmp_path / "out")))
    tables = {step.name: pq.read_table(tmp_path / "out" / step.name).to_pylist() for step in FLOW.steps}
    published = [each for each in records if each.kind is Kind.PUBLISHED and each.event is not None]
    forwarded = [each for each in records if each.kind is Kind.FORWARDED and each.event is not None]

    windows = Counter((int(each.time // 0.5), each.event.topic) for each in published if each.event)
    assert {(row["window"], row["topic"]): row["events"] for row in tables["published"]} == windows
    hot = windows.most_common(1)[0][0][1]
    mine = sorted((row["window"], row["rate"], row["estimate"]) for row in tables["rates"] if row["topic"] == hot)
    begin, end = min(windows)[0], max(windows)[0]
    wanted = [windows[window, hot] / 0.5 for window in range(begin, end + 1)]
    assert [each[0] for each in mine] == list(range(begin, end + 1))
    assert [each[1] for each in mine] == wanted
    assert [each[2] for each in mine] == estimates(wanted)

    crossings = Counter((int(each.time // 0.5), each.node, each.peer) for each in forwarded)
    assert {(row["window"], row["node"], row["peer"]): row["events"] for row in tables["loads"]} == crossings
    assert sum(row["bytes"] for row in tables["loads"]) == sum(each.size for each in forwarded)

    wishes = [
        (row["node"], row["pattern_topic"], row["selector"] or "", row["clients"]) for row in tables["subscriptions"]
    ]
    assert {tuple(wish[:3]): wish[3] for wish in wishes} == held(records)

    topics = Counter(each.event.topic for each in forwarded if each.event)
    assert [row["rank"] for row in tables["hot_topics"]] == [1, 2, 3]
    assert [row["crossed"] for row in tables["hot_topics"]] == [count for _, count in topics.most_common(3)]

    took = delays(records)
    measured = {row["hops"]: (row["deliveries"], row["longest_s"]) for row in tables["delays"]}
    assert measured == {hops: (len(some), max(some)) for hops, some in took.items()}

    assert sum(row["steps"] for row in tables["changes"]) == sum(1 for each in records if each.kind is Kind.CHANGE)
    swap = next(row for row in tables["changes"] if row["steps"] > 1)
    inside = [each for each in records if each.node in swap["brokers"] and swap["begun"] <= each.time <= swap["ended"]]
    routes = (Kind.ROUTE_ADDED, Kind.ROUTE_REMOVED)
    assert swap["routes"] == sum(1 for each in inside if each.kind in routes)
    assert swap["crossed"] == sum(1 for each in inside if each.kind is Kind.FORWARDED)
