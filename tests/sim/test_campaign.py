"""Many schedules: the result does not depend on how many processes have looked for it."""

from __future__ import annotations

from collections import Counter

import pytest

from reknit.core.broker import Broker
from reknit.core.io import Effect, Input
from reknit.sim.campaign import VIOLATIONS_SHOWN_MAX, Report, SeedResult, check_seed, run_campaign
from reknit.sim.checkers.delivery import Tally
from reknit.sim.checkers.violation import Violation
from reknit.sim.schedule import Outcome, draw
from reknit.trace.records import Kind, Record

SEEDS = range(6)


def test_the_number_of_processes_does_not_matter() -> None:
    alone = list(run_campaign(SEEDS, processes=1))
    together = list(run_campaign(SEEDS, processes=2))
    assert alone == together
    assert [result.seed for result in alone] == list(SEEDS)


def test_a_report_adds_up() -> None:
    report = Report()
    good = SeedResult(1, (), 0, Tally(published=3, delivered=2, owed=1, excused=Counter(why=1)), 10, {"published": 3})
    bad = SeedResult(
        2, ("a", "b"), 30, Tally(published=1, lost=1, excused=Counter(why=1)), 5, {"published": 1, "fault: crash": 2}
    )
    report.add(good)
    report.add(bad)
    assert (report.schedules, report.violations, report.failed) == (2, 30, [bad])
    assert report.tally == Tally(published=4, delivered=2, owed=1, lost=1, excused=Counter(why=2))
    assert report.coverage == {"published": 4, "fault: crash": 2}


def test_what_a_checker_excuses_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    tally = Tally(excused=Counter({"it was late": 2}))
    monkeypatch.setattr("reknit.sim.campaign.run_seed", lambda seed, focus: Outcome(draw(seed), [], tally, []))
    assert check_seed(3).coverage["excused: it was late"] == 2


def test_of_many_violations_some_are_shown_and_all_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [Violation("tree", 1.0, f"number {number}") for number in range(50)]
    monkeypatch.setattr("reknit.sim.campaign.run_seed", lambda seed, focus: Outcome(draw(seed), found, Tally(), []))
    result = check_seed(3)
    assert result.violation_count == 50
    assert len(result.violations) == VIOLATIONS_SHOWN_MAX
    assert result.violations[0] == "tree at 1.000 s: number 0"


def test_a_schedule_in_which_a_broker_breaks_is_one_that_went_wrong_and_ends_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    original = Broker.handle

    def handle(self: Broker, given: Input, now: float) -> list[Effect]:
        if self.name == "b6":  # only some networks are as large
            raise KeyError("b9")
        return original(self, given, now)

    monkeypatch.setattr(Broker, "handle", handle)
    seeds = range(1, 12)
    broken = [seed for seed in seeds if draw(seed).brokers >= 6]
    assert 0 < len(broken) < len(seeds)
    report = Report()
    for result in run_campaign(seeds, processes=1):
        report.add(result)
    assert (report.schedules, [failed.seed for failed in report.failed]) == (len(seeds), broken)
    assert report.tally.published > 0
    assert report.failed[0].violations[0].startswith("failure at 0.000 s: KeyError: 'b9' (in handle, test_campaign.py:")


def test_a_verdict_is_over_something() -> None:
    report = Report()
    for result in run_campaign(range(20, 32), processes=1):
        report.add(result)
    assert report.violations == 0
    assert report.tally.owed > 100
    assert report.tally.delivered >= report.tally.owed
    assert any(name.startswith("fault: ") for name in report.coverage)


def test_a_crash_is_told_by_the_step_that_the_broker_was_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """A word about a change of before is none."""
    steps = ["swap: lock at the middle", "swap: ask at the goal", "swap: seated at the middle"]
    records = [Record(1.0, "b1", Kind.CHANGE, detail=step) for step in steps]
    outcome = Outcome(draw(1), [], Tally(), [*records, Record(2.0, "b1", Kind.CRASHED)])
    monkeypatch.setattr("reknit.sim.campaign.run_seed", lambda *_: outcome)
    coverage = check_seed(1).coverage
    assert [coverage[f"step of a {step}"] for step in steps] == [1, 1, 1]
    assert [name for name in coverage if name.startswith("crash in")] == ["crash in a swap: after lock at the middle"]
