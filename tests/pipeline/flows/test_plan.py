"""From a run of the simulator to a plan, and back: what is predicted is what is then measured."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from reknit.cli import main
from reknit.core.broker import BrokerOptions
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.pipeline.flows.plan import FLOW
from reknit.pipeline.plan import Planned, plan_of
from reknit.pipeline.run import Order, run_flow
from reknit.planning.files import write_plan
from reknit.planning.plan import Plan, Rules
from reknit.sim.cluster import Cluster
from reknit.sim.network import NetworkOptions
from reknit.trace.columns import to_table
from reknit.trace.records import Kind, Record
from reknit.trace.segments import write_segment

LINE = [(f"b{number}", f"b{number + 1}") for number in range(1, 8)]
TALK = {"b1": ("b8", "b5"), "b2": ("b7",), "b3": ("b8",)}
"""Who publishes for whom: friends that live far from each other."""
EVENTS = 60
REST_S_MAX = 60.0


def cluster(edges: list[tuple[str, str]]) -> Cluster:
    made = Cluster(edges, BrokerOptions(observe=True), NetworkOptions(), "plan")
    made.start_all()
    for publisher, readers in TALK.items():
        made.attach(publisher, f"{publisher}-p", ())
        for reader in readers:
            made.attach(reader, f"{reader}-of-{publisher}", [Pattern.parse(f"from/{publisher}")])
    assert made.settle(REST_S_MAX)
    return made


def talk(network: Cluster) -> int:
    """The same events, whatever the tree; how often they cross links."""
    rng = random.Random(3)
    before = sum(1 for each in network.records if each.kind is Kind.FORWARDED)
    for _ in range(EVENTS):
        publisher = rng.choice(list(TALK))
        network.publish(publisher, f"{publisher}-p", Event(f"from/{publisher}"))
    assert network.settle(REST_S_MAX)
    return sum(1 for each in network.records if each.kind is Kind.FORWARDED) - before


def plan(spark: SparkSession, records: list[Record], directory: Path) -> Plan:
    write_segment(to_table(records), directory / "runs" / "run" / "node-all", 1)
    run_flow(spark, Order(FLOW, Planned(), {"trace": str(directory / "runs")}, str(directory / "out")))
    tables = {name: spark.read.parquet(str(directory / "out" / name)) for name in ("flows", "links", "wanted")}
    return plan_of(tables["flows"], tables["links"], tables["wanted"], Rules())


def by_the_verb(records: list[Record], directory: Path, capsys: pytest.CaptureFixture[str]) -> bytes:
    """In the session that is there, from a directory of another name, in which one more segment cannot be read."""
    write_segment(to_table(records), directory / "elsewhere" / "node-all", 1)
    broken = directory / "elsewhere" / "node-all" / "segment-00000002.parquet"
    broken.write_text("cut off")
    words = ["plan", "--from", str(directory / "elsewhere"), "--tables", str(directory / "tables")]
    with pytest.raises(SystemExit) as ended:
        main([*words, "--out", str(directory / "plan.json"), "--json"])
    assert ended.value.code == 0
    said = capsys.readouterr()
    assert said.out.encode() == (directory / "plan.json").read_bytes()
    assert f"broken: file:{broken}: " in said.err
    return (directory / "plan.json").read_bytes()


def test_the_prediction_is_what_is_then_measured(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    network = cluster(LINE)
    measured = talk(network)
    made = plan(spark, network.records, tmp_path / "one")
    assert made.before == sorted(LINE)
    assert (made.cost_before, made.evidence.events) == (measured, EVENTS)
    assert made.cost_after < 0.75 * made.cost_before
    gains = pq.read_table(tmp_path / "one" / "out" / "gains").to_pylist()
    assert len(gains) == 2 * (len(LINE) - 1)
    assert max(row["gain"] for row in gains) == made.steps[0].gain
    assert (made.evidence.subscriptions, made.evidence.event_bytes > 0) == (4, True)
    assert all(step.messages == 14 and step.bytes > 0 for step in made.steps)

    for step in made.steps:
        network.swap(step.mover, step.middle, step.goal)
        assert network.settle(REST_S_MAX)
    assert talk(network) == made.cost_after

    other = cluster(LINE)
    talk(other)
    assert by_the_verb(other.records, tmp_path / "two", capsys) == write_plan(made)
