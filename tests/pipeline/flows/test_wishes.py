"""From a run on a ring to plans of the ring and of placement: by the verb, the same bytes wherever the trace lies."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from reknit.cli import main
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.model.ring import ring_id
from reknit.pipeline.flows.wishes import FLOW
from reknit.planning.files import AnyPlan, read_plan
from reknit.planning.placement_plan import PlacementPlan
from reknit.planning.ring_plan import RingPlan
from reknit.trace.columns import to_table
from reknit.trace.records import Kind, Record
from reknit.trace.segments import write_segment

NAMES = [f"b{number}" for number in range(1, 9)]
TOPICS = [f"t/{number}" for number in range(4)]
EVENTS = 400


def history() -> list[Record]:
    """Eight brokers on a ring; each topic is wanted at three of them, by one client that wants it and others."""
    rng, seen = random.Random(5), list[Record]()
    for name in NAMES:
        seen.append(Record(0.0, name, Kind.STARTED, detail=f"{name}.1"))
        seen.append(Record(0.0, name, Kind.PLACED, size=1, detail=str(ring_id(name))))
    for topic in TOPICS:
        for name in rng.sample(NAMES[:-1], 3):
            pattern = Pattern.parse(topic)
            seen.append(Record(1.0, name, Kind.SUBSCRIBED, client=f"{topic} at {name}", pattern=pattern))
    for number in range(EVENTS):
        event = Event(rng.choice(TOPICS), source="b1.1", seq=number)
        seen.append(Record(2.0 + number / 100, "b1", Kind.PUBLISHED, client="p", event=event))
    return seen


def by_the_verb(where: Path, *words: str) -> tuple[AnyPlan, bytes]:
    write_segment(to_table(history()), where / "node-all", 1)
    out = where.parent / f"{where.name}.json"
    command = ["plan", "--from", str(where), "--tables", str(where.parent / "tables"), "--out", str(out), *words]
    with pytest.raises(SystemExit) as ended:
        main(command)
    assert ended.value.code == 0
    return read_plan(out.read_bytes()), out.read_bytes()


def test_a_plan_of_the_ring(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan, data = by_the_verb(tmp_path / "one", "--kind", "ring", "--horizon", "10")
    assert isinstance(plan, RingPlan)
    assert plan.before == {name: ring_id(name) for name in NAMES}
    assert plan.steps
    assert plan.cost_after < plan.cost_before
    assert (plan.evidence.events, plan.evidence.topics, plan.evidence.wants) == (EVENTS, 4, 12)
    assert plan.evidence.seconds == pytest.approx((EVENTS - 1) / 100)
    report = json.loads((tmp_path / "tables" / "wishes" / "report.json").read_text())
    carried = {step["name"]: step["carried"] for step in report["steps"]}
    assert carried == {"network": None, "wants": 12, "rates": EVENTS}
    said = capsys.readouterr().out.splitlines()
    assert said[1].startswith(f"  places {' '.join(plan.steps[0].brokers)}  saves ")
    assert said[-1] == str(tmp_path / "one.json")
    assert by_the_verb(tmp_path / "another", "--kind", "ring", "--horizon", "10")[1] == data
    assert (tmp_path / "one.json.trace").read_text() == f"{tmp_path / 'one'}\n"


def test_a_plan_of_placement(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--kind", "placement", "--load-weight", "0.1")
    plan, data = by_the_verb(tmp_path / "one", *words)
    assert isinstance(plan, PlacementPlan)
    assert [each.broker for each in plan.at] == NAMES
    assert (plan.evidence.clients, plan.evidence.subscriptions) == (12, 12)
    assert plan.cost_before == 12
    assert plan.cost_after < 12
    assert plan.moves == len(plan.steps) == plan.reconnects
    assert all(move.client.endswith(f"at {move.start}") for move in plan.steps)
    assert by_the_verb(tmp_path / "another", *words)[1] == data
    said = capsys.readouterr().out
    assert f"  {plan.steps[0].client}  from {plan.steps[0].start} to {plan.steps[0].goal}" in said


def test_of_a_tree_there_is_no_plan_of_the_ring(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = [each for each in history() if each.kind is not Kind.PLACED]
    write_segment(to_table(seen), tmp_path / "trace" / "node-all", 1)
    words = ["plan", "--from", str(tmp_path / "trace"), "--tables", str(tmp_path / "tables"), "--kind"]
    for kind, why in (("ring", "no broker has an id on a ring"), ("forest", "one of tree, ring, placement")):
        with pytest.raises(SystemExit) as ended:
            main([*words, kind, "--out", str(tmp_path / "plan.json")])
        assert (ended.value.code, why in capsys.readouterr().err) == (2, True)


def test_its_tables_are_the_inputs_of_the_other_flows() -> None:
    from reknit.pipeline.flows import placement, ring

    made = {step.name: step.schema for step in FLOW.steps}
    for flow in (ring.FLOW, placement.FLOW):
        for each in flow.inputs:
            assert set(each.schema.fieldNames()) <= set(made[each.name].fieldNames())
