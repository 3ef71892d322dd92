"""``reknit plan``: shown, carried out on a network that runs, and taken back. Made from a trace: where Spark is."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reknit.model.event import Event
from reknit.planning.gains import Flow
from reknit.planning.plan import Evidence, Plan, Rules, make_plan, write_plan
from reknit.trace.records import Kind, Record
from reknit.trace.store import write_trace

Reknit = Callable[..., Any]
TRACED_S = 120
LINE = [("b1", "b2"), ("b2", "b3")]


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
    pictures = [tmp_path / name for name in ("one.png", "two.png")]
    for picture in pictures:
        assert reknit("plan", "show", str(file), "--picture", str(picture)).code == 0
    assert pictures[0].read_bytes().startswith(b"\x89PNG")
    assert pictures[0].read_bytes() == pictures[1].read_bytes()


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


def test_what_was_saved_is_measured_beside_the_prediction(
    reknit: Reknit, network: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a trace whose events, twenty a second, cross one link each from now on."""
    monkeypatch.setattr("reknit.trace.writer.FLUSH_S_MAX", 0.0)
    records, now = list[Record](), time.time()
    for number in range(1, 20 * TRACED_S):
        event = Event("t", source="b1.1", seq=number)
        records.append(Record(now + number / 20, "b1", Kind.PUBLISHED, client="p", event=event))
        records.append(Record(now + number / 20, "b1", Kind.FORWARDED, peer="b3", event=event))
    write_trace(records, tmp_path / "trace")
    file = tmp_path / "plan.json"
    file.write_bytes(write_plan(planned()))
    said = reknit("plan", "apply", str(file), "--trace", str(tmp_path / "trace"), "--watch-s", "0.5")
    assert reknit("plan", "undo", str(file)).code == 0
    assert said.code == 0, said
    assert "1.833 before, predicted 1.000, measured 1.000 over " in said.out
    assert "45% saved, the prediction off by 0.0%" in said.out
    kept = json.loads((tmp_path / "plan.json.result.json").read_bytes())
    assert (kept["predicted"], kept["measured"], kept["events"] > 5) == (1.0, 1.0, True)


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
