"""`reknit check`: the verdict in one line, a violation with the command that repeats it, and the exit code."""

from __future__ import annotations

from pathlib import Path

import pytest

from reknit.sim.checkers.delivery import Tally
from reknit.sim.checkers.violation import Violation
from reknit.sim.schedule import Outcome, draw
from reknit.trace.store import read_trace
from tests.cli.conftest import Reknit


def test_a_clean_run_ends_with_the_verdict(reknit: Reknit) -> None:
    said = reknit("check", "--seeds", "3", "--processes", "1")
    assert said.code == 0
    assert said.out.splitlines()[-1] == "3 schedules, 0 violations"


def test_a_violation_names_its_seed_and_the_command_that_repeats_it(
    reknit: Reknit, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_seed(seed: int) -> Outcome:
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
    assert "seed=3" in said.out
    assert read_trace(tmp_path / "trace")


def test_as_json(reknit: Reknit) -> None:
    assert reknit("check", "--seeds", "2", "--processes", "1", "--json").json["schedules"] == 2
    assert reknit("check", "--seed", "2", "--json").json["violations"] == []
