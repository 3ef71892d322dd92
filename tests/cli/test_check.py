"""`reknit check`: the verdict in one line, a violation with the command that repeats it, and the exit code."""

from __future__ import annotations

from pathlib import Path

import pytest

from reknit.sim.checkers.delivery import Tally
from reknit.sim.checkers.violation import Violation
from reknit.sim.circle import CircleOutcome, draw_circle
from reknit.sim.coverage import FAULTS, expected
from reknit.sim.schedule import Outcome, draw
from reknit.trace.records import Kind, Record
from reknit.trace.store import read_trace, write_trace
from tests.cli.conftest import Reknit


def test_a_clean_run_ends_with_the_verdict(reknit: Reknit) -> None:
    said = reknit("check", "--seeds", "3", "--processes", "1")
    assert said.code == 0
    assert said.out.splitlines()[-1] == "3 schedules, 0 violations"


def test_a_violation_names_its_seed_and_the_command_that_repeats_it(
    reknit: Reknit, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_seed(seed: int, focus: str) -> Outcome:
        found = [Violation("tree", 1.0, "a cycle: a - b - a")] if seed == 6 else []
        return Outcome(draw(seed), found, Tally(), [])

    monkeypatch.setattr("reknit.sim.campaign.run_seed", run_seed)
    said = reknit("check", "--seeds", "3", "--first", "5", "--processes", "1")
    assert said.code == 1
    assert "tree at 1.000 s: a cycle: a - b - a" in said.out
    assert "repeat it with: reknit check --seed 6" in said.out
    assert said.out.splitlines()[-1] == "3 schedules, 1 violations"


def test_one_seed_shows_its_plan_and_writes_its_trace(reknit: Reknit, tmp_path: Path) -> None:
    said = reknit("check", "--seed", "3", "--trace", str(tmp_path / "trace"))
    assert said.code == 0
    plan = draw(3)
    lines = said.out.splitlines()
    assert lines[0] == "seed 3"
    assert lines[1].startswith(f"  network: {plan.brokers} brokers, {plan.shape}, ")
    assert lines[2].startswith(f"  routing: {plan.routing}")
    assert any(line.startswith("  faults: ") for line in lines)
    assert lines[-1] == "1 schedule, 0 violations"
    assert read_trace(tmp_path / "trace")


def test_as_json(reknit: Reknit) -> None:
    assert reknit("check", "--seeds", "2", "--processes", "1", "--json").json["schedules"] == 2
    assert reknit("check", "--seed", "2", "--json").json["violations"] == []


def test_what_was_covered_is_told_in_short_lines(reknit: Reknit, monkeypatch: pytest.MonkeyPatch) -> None:
    def run_seed(seed: int, focus: str) -> Outcome:
        return Outcome(draw(seed), [], Tally(), [], {"break": 2, "crash": 1, "asymmetric": 1})

    monkeypatch.setattr("reknit.sim.campaign.run_seed", run_seed)
    lines = reknit("check", "--seeds", "1", "--processes", "1").out.splitlines()
    assert lines[1:3] == ["covered:", "  faults: 1 one-way cut, 2 broken connections, 1 crashed broker"]
    assert lines[3].startswith("  routing: 1 ")
    assert lines[-1] == "1 schedule, 0 violations"


def test_what_was_not_covered_is_told_where_every_change_is_drawn(
    reknit: Reknit, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = expected(crashing=True)
    steps = [name.partition(": ")[2] for name in names if name.startswith("step of a path: ")]
    records = [Record(1.0, "b1", Kind.CHANGE, detail=f"path: {step}") for step in steps]
    monkeypatch.setattr("reknit.sim.campaign.run_seed", lambda seed, focus: Outcome(draw(seed), [], Tally(), records))
    words = ("check", "--seeds", "1", "--processes", "1")
    lines = reknit(*words, "--focus", "crashes").out.splitlines()
    rest = len(names) - len(steps)
    faults = "crashes, pauses or cuts in them"
    told = f"not covered: {rest} of {len(names)} steps of changes and {faults}; more schedules may reach them"
    assert told in lines
    assert any(line.startswith("  crash, pause or cut in a path: after lock at the first, after ") for line in lines)
    assert not any(line.startswith("  step of a path: ") for line in lines[lines.index(told) :])
    assert (
        "crash in a path: after Rec at the tail" in reknit(*words, "--focus", "crashes", "--json").json["not_covered"]
    )
    assert "not covered" not in reknit(*words).out
    monkeypatch.setattr("reknit.sim.coverage.expected", lambda crashing: names[:1])
    assert "not covered: 1 of 1 steps of changes and pauses or cuts in them" in reknit(*words, "--focus", "changes").out


def test_faults_that_are_missing_behind_the_same_step_are_told_together(
    reknit: Reknit, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = [
        Record(1.0, "b1", Kind.CHANGE, peer="b2", detail=f"path: {what} at the first") for what in ("lock", "Ctrl")
    ]
    pauses = [Record(2.0, "b1", Kind.PAUSED)]
    names = [
        f"{fault} in a path: after {step}" for step in ("Ctrl at the first", "Rec at the last") for fault in FAULTS
    ]
    monkeypatch.setattr("reknit.sim.coverage.expected", lambda crashing: names)
    outcome = Outcome(draw(1), [], Tally(), [*steps, *pauses])
    monkeypatch.setattr("reknit.sim.campaign.run_seed", lambda seed, focus: outcome)
    lines = reknit("check", "--seeds", "1", "--processes", "1", "--focus", "crashes").out.splitlines()
    assert "  crash or cut in a path: after Ctrl at the first" in lines
    assert "  crash, pause or cut in a path: after Rec at the last" in lines


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--seed", "1", "--seeds", "2"], "--seed is one schedule; leave out --seeds"),
        (["--seed", "1", "--first", "2"], "--seed is one schedule; leave out --first"),
        (["--trace", "somewhere"], "--trace is for one schedule; name it with --seed"),
        (["--seed", "1", "--trace", "file"], "--trace file: is no directory"),
        (["--seed", "1", "--trace", "file/x"], "--trace file/x: Not a directory"),
        (["--seed", "1", "--trace", "old"], "--trace old: there is a trace already"),
    ],
)
def test_bad_input_is_refused_before_the_run(
    reknit: Reknit, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: list[str], line: str
) -> None:
    def run_seed(seed: int, focus: str) -> Outcome:
        raise AssertionError("it has run")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("reknit.sim.schedule.run_seed", run_seed)
    Path("file").write_text("")
    write_trace([Record(0.0, "b1", Kind.STARTED)], "old")
    said = reknit("check", *words)
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
    assert line in said.err


def test_faults_of_a_ring_are_counted_in_plain_words_and_so_is_what_was_not_covered(
    reknit: Reknit, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults = {"leave": 2, "change of places": 2, "move of a session": 1, "crash": 3}
    records = [Record(1.0, "b1", Kind.CHANGE, detail=f"places: dismissed: b{number} was lost") for number in (1, 2)]
    monkeypatch.setattr(
        "reknit.sim.campaign.run_circle_seed",
        lambda seed: CircleOutcome(draw_circle(seed), [], Tally(), records, faults),
    )
    lines = reknit("check", "--seeds", "1", "--processes", "1", "--focus", "ring").out.splitlines()
    told = ["2 changes of places", "3 crashed brokers", "2 brokers that left", "1 move of a session"]
    assert f"  faults: {', '.join(told)}" in lines
    assert "  step of a places: 2 dismissed" in lines
    assert any(line.startswith("not covered: 21 of 22 steps of changes and crashes in them") for line in lines)


def test_peers_without_brokers_are_judged_too(reknit: Reknit) -> None:
    said = reknit("check", "--focus", "communities", "--seed", "5")
    assert said.out.splitlines()[0] == "seed 5"
    assert "  peers: " in said.out
    assert said.out.splitlines()[-1] == "1 schedule, 0 violations"
