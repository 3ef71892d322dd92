"""What the loop measures, and the page that it leaves."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from reknit.cli._crossings import Crossings, crossings, crossings_in
from reknit.cli._demo.loop import LoopOutcome
from reknit.cli._demo.report import page
from reknit.cli._demo.verdict import Verdict
from reknit.model.event import Event
from reknit.planning.gains import Flow
from reknit.planning.plan import Evidence, Rules, make_plan
from reknit.trace.records import Kind, Record
from reknit.trace.store import write_trace

LINE = [("b1", "b2"), ("b2", "b3")]
PLAN = make_plan(LINE, [Flow(("b1", "b3"), 100)], Evidence(100, 1, 10.0), Rules())


def outcome(measured: int, **others: object) -> LoopOutcome:
    made = LoopOutcome(
        seed=1,
        before=LINE,
        after=list(PLAN.after),
        plan=PLAN,
        watched=Crossings(100, 200, {"b1 - b2": 100, "b2 - b3": 100}),
        measured=Crossings(50, measured, {"b1 - b3": measured}),
        trace=Verdict(events=100, owed=100),
        clients=Verdict(events=100, owed=100),
        spark={"lost": 0},
    )
    return msgspec.structs.replace(made, **others)


def test_events_count_in_the_flow_in_which_they_were_published(tmp_path: Path) -> None:
    def record(time: float, node: str, kind: Kind, number: int, peer: str = "") -> Record:
        return Record(time, node, kind, peer=peer, event=Event("t", source="b1.1", seq=number))

    records = [
        record(1.0, "b1", Kind.PUBLISHED, 1),
        record(1.1, "b1", Kind.FORWARDED, 1, "b2"),
        record(2.0, "b1", Kind.PUBLISHED, 2),
        record(2.1, "b2", Kind.FORWARDED, 1, "b1"),
        record(2.2, "b1", Kind.FORWARDED, 2, "b2"),
    ]
    found = crossings(records, 0.5, 1.5)
    assert (found.events, found.crossed, found.links) == (1, 2, {"b1 - b2": 2})
    assert found.by_link == {("b1", "b2"): 2}
    write_trace(records, tmp_path)
    assert crossings_in(tmp_path, 0.5, 1.5) == found
    assert crossings_in(tmp_path, 1.5, 9.0) == Crossings(1, 1, {"b1 - b2": 1})
    assert crossings_in(tmp_path / "nowhere", 0.0, 9.0).events == 0


def test_what_was_saved_and_how_far_the_prediction_was_off() -> None:
    good = outcome(51)
    assert good.predicted == 1.0
    assert (good.saved, good.off) == (pytest.approx(1 - 1.02 / 2), pytest.approx(1 - 1 / 1.02))
    assert good.reached
    assert not outcome(80).reached  # the prediction is off by far
    assert not outcome(51, watched=Crossings(100, 120, {})).reached  # too little is saved
    assert not outcome(51, spark={"lost": 1}).reached
    assert not outcome(51, clients=Verdict(lost=1)).reached


def test_the_page_has_the_numbers_the_pictures_and_nothing_from_elsewhere() -> None:
    said = page(outcome(51))
    assert "49% fewer messages over links; the prediction is off by 2.0%" in said
    assert "b1 - b2 becomes b1 - b3" in said
    assert said.count("lost 0  duplicated 0  out of order 0") == 2
    assert said.count("data:image/png;base64,") == 1
    assert "http" not in said
    assert said == page(outcome(51))


@pytest.mark.long
@pytest.mark.timeout(600)
def test_the_whole_loop_saves_a_quarter_and_says_so_before(tmp_path: Path) -> None:
    """As ``make demo`` runs it, with fewer events: brokers, clients and Spark are processes, and the bars are met."""
    words = ["demo", "--loop", "--events", "6000", "--json", "--report", str(tmp_path / "loop.html")]
    ran = subprocess.run(
        [sys.executable, "-m", "reknit", *words], capture_output=True, text=True, timeout=590, check=False
    )
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-2000:]
    found = json.loads(ran.stdout)
    assert found["saved"] >= 0.25
    assert found["off"] <= 0.05
    assert found["clients"]["owed"] > 0
    assert [found[who][what] for who in ("trace", "clients") for what in ("lost", "duplicated", "out_of_order")] == [
        0
    ] * 6
    assert not any(found["spark"].values())
    assert found["before"] != found["after"]
    assert "fewer messages over links" in (tmp_path / "loop.html").read_text()
