"""``reknit plan``: made from a trace, shown, carried out on a network that runs, and taken back."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reknit.model.event import Event
from reknit.planning.gains import Flow
from reknit.planning.plan import Evidence, Plan, Rules, make_plan, read_plan, write_plan
from reknit.trace.records import Kind, Record
from reknit.trace.store import write_trace

Reknit = Callable[..., Any]
LINE = [("b1", "b2"), ("b2", "b3")]
LIMIT_S = 170


def planned() -> Plan:
    """b1 and b3 talk over b2."""
    evidence = Evidence(events=120, flows=2, seconds=60.0, runs=["trace"])
    return make_plan(LINE, [Flow(("b1", "b3"), 100), Flow(("b2", "b3"), 20)], evidence, Rules())


def links(reknit: Reknit) -> list[tuple[str, str]]:
    return [(link["a"], link["b"]) for link in reknit("topology", "--json").json["links"]]


def test_a_plan_is_shown(reknit: Reknit, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_bytes(write_plan(planned()))
    said = reknit("plan", "show", str(file))
    assert said.out.splitlines() == [
        "120 events in 60.0 s; they crossed links 220 times",
        "  swap b1 b2 b3  saves 100, leaves 120",
        "1 swaps: 120 crossings, 45% less, for 12 messages",
        "touches b1, b2, b3",
        "before: b1 - b2, b2 - b3",
        "after: b1 - b3, b2 - b3",
    ]
    assert reknit("plan", "show", str(file), "--json").out.encode() == file.read_bytes()


def test_a_plan_is_carried_out_and_taken_back(reknit: Reknit, network: Any, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_bytes(write_plan(planned()))
    assert reknit("plan", "apply", str(file), "--dry-run").code == 0
    assert links(reknit) == LINE
    said = reknit("plan", "apply", str(file), "--verify")
    assert (said.code, said.out.startswith("1 links have moved in ")) == (0, True), said
    assert links(reknit) == [("b1", "b3"), ("b2", "b3")]
    surprised = reknit("plan", "apply", str(file))
    assert surprised.code == 2
    assert "the tree is another than the plan was made for: look at b1 - b2" in surprised.err
    assert reknit("plan", "undo", str(file), "--verify").code == 0
    assert links(reknit) == LINE


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("plan",), "plan: name a trace with --from, or a verb"),
        (("plan", "show", "nowhere.json"), "nowhere.json: No such file"),
    ],
)
def test_bad_input_is_one_line(reknit: Reknit, words: tuple[str, ...], said: str) -> None:
    found = reknit(*words)
    assert (found.code, said in found.err, found.err.count("\n")) == (2, True, 1)


def test_what_is_no_plan_or_has_no_step_is_refused(reknit: Reknit, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_text("{}")
    assert "no plan" in reknit("plan", "show", str(file)).err
    file.write_bytes(write_plan(make_plan(LINE, [], Evidence(0, 0, 0.0), Rules())))
    assert "no swap is worth what it takes" in reknit("plan", "show", str(file)).out
    assert "the plan has no step" in reknit("plan", "apply", str(file)).err


@pytest.mark.xdist_group("spark")
def test_a_plan_is_made_from_a_trace(tmp_path: Path) -> None:
    records = [Record(0.0, one, Kind.LINK_ADDED, peer=other) for a, b in LINE for one, other in ((a, b), (b, a))]
    for number in range(1, 31):
        event = Event("t", source="b1.1", seq=number)
        records.append(Record(float(number), "b1", Kind.PUBLISHED, client="p", event=event))
        records.append(Record(number + 0.5, "b3", Kind.DELIVERED, client="s", event=event))
    write_trace(records, tmp_path / "trace")
    words = ["plan", "--from", str(tmp_path / "trace"), "--tables", str(tmp_path / "tables"), "--master", "local[1]"]
    ran = subprocess.run(
        [sys.executable, "-m", "reknit", *words, "--out", str(tmp_path / "plan.json")],
        env={**os.environ, "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    plan = read_plan((tmp_path / "plan.json").read_bytes())
    assert [(step.mover, step.middle, step.goal, step.gain) for step in plan.steps] == [("b1", "b2", "b3", 30)]
    assert (plan.cost_before, plan.cost_after, plan.evidence.runs) == (60, 30, ["trace"])
    assert "  swap b1 b2 b3  saves 30, leaves 30" in ran.stdout
