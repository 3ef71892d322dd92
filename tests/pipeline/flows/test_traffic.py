"""The tables of a run of the simulator, beside plain counts over its records."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.pipeline.flows.traffic import FLOW
from reknit.pipeline.report import RowsLost
from reknit.pipeline.run import Order, run_flow
from reknit.pipeline.traffic import Watched
from reknit.planning.rates import estimates
from reknit.sim.schedule import run_seed
from reknit.trace.columns import to_table
from reknit.trace.records import Kind, Record
from reknit.trace.segments import write_segment
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
    report = run_flow(spark, Order(FLOW, TOLD, {"trace": str(tmp_path / "runs")}, str(tmp_path / "out")))
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

    kinds = Counter(each.kind for each in records)
    carried = {step.name: step.carried for step in report.steps}
    assert carried["published"] == kinds[Kind.PUBLISHED]
    assert carried["loads"] == kinds[Kind.FORWARDED]
    assert carried["delays"] == kinds[Kind.DELIVERED]
    assert carried["rates"] == len(tables["published"])
    assert all(step.left_out for step in report.steps if step.name in ("subscriptions", "hot_topics"))


ALL = Pattern.parse("#")
WISHES = [
    Record(0.0, "b1", Kind.STARTED),
    *[Record(1.0, "b1", Kind.SUBSCRIBED, client=client, pattern=ALL) for client in ("c", "d", "d", "e")],
    Record(2.0, "b1", Kind.UNSUBSCRIBED, client="e", pattern=ALL),
    Record(1.0, "b2", Kind.SUBSCRIBED, client="f", pattern=ALL),
    Record(2.0, "b2", Kind.CRASHED),
]
EVENTS = [
    Record(3.0, "b1", Kind.PUBLISHED, client="p", event=Event("t", source="b1.1", seq=1)),
    Record(4.0, "b1", Kind.DELIVERED, client="c", event=Event("t", source="b1.1", seq=1)),
    Record(5.0, "b1", Kind.DELIVERED, client="c", event=Event("t", source="b9.1", seq=1)),
    Record(5.0, "b1", Kind.DELIVERED, client="c", event=Event("u", source="b9.1", seq=2)),
]
"""Nothing is known of where the last two began."""


def test_what_is_in_no_table_is_said(spark: SparkSession, tmp_path: Path) -> None:
    write_segment(to_table([*WISHES, *EVENTS, Record(float("inf"), "b1", Kind.CALM)]), tmp_path / "run" / "node-all", 1)
    told = Watched(window_s=0.5, top=1)
    report = run_flow(spark, Order(FLOW, told, {"trace": str(tmp_path / "run")}, str(tmp_path / "out")))
    assert report.inputs[0].quarantined == {"impossible time": 1}
    steps = {step.name: step for step in report.steps}
    assert (steps["subscriptions"].carried, steps["subscriptions"].left_out) == (
        2,
        {
            "wishes that ended with a life of their broker": 1,
            "wishes that were taken back": 1,
            "words about wishes after which there was another": 2,
        },
    )
    assert (steps["hot_topics"].carried, steps["hot_topics"].left_out) == (
        3,
        {"records of topics that are less hot": 1},
    )
    delays = pq.read_table(tmp_path / "out" / "delays").to_pylist()
    found = [(row["hops"], row["deliveries"], row["timed"], row["mean_s"]) for row in delays]
    assert found == [(None, 2, 0, None), (0, 1, 1, 1.0)]
    assert steps["delays"].carried == 3


def test_a_trace_with_gaps_makes_no_tables_unless_that_is_allowed(spark: SparkSession, tmp_path: Path) -> None:
    gaps = [Record(6.0, "b2", Kind.UNTRACED, size=7, detail="full"), Record(6.0, "b1", Kind.UNTRACED)]
    write_segment(to_table([*EVENTS, *gaps]), tmp_path / "run" / "node-all", 1)
    order = Order(FLOW, TOLD, {"trace": str(tmp_path / "run")}, str(tmp_path / "out"), only=("published",))
    with pytest.raises(RowsLost, match=r"trace: it says itself that records are missing in it \(b1: 1, b2: 7\)"):
        run_flow(spark, order)
    report = run_flow(spark, replace(order, allow_gaps=True))
    assert report.inputs[0].missing == {"b1": 1, "b2": 7}
