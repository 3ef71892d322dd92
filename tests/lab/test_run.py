"""Running an experiment: the files, and that they depend on the seeds only."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from reknit.lab.experiment import Point, Row, Scale
from reknit.lab.ledger import LEDGER_FILE, Ledger
from reknit.lab.registry import all_experiments
from reknit.lab.report import Report, read_report
from reknit.lab.results import read_results, write_results
from reknit.lab.run import Unmeasured, measure_rows, run_experiment, seed_count, sharing, task_count, workers
from tests.lab.coins import COINS

PNG = b"\x89PNG\r\n\x1a\n"


def run_coins(out: Path, seeds: int | None = None) -> Report:
    with workers(1) as mapper:
        return run_experiment(COINS, out, Scale.QUICK, seeds, mapper, "abc")


def test_three_files_and_what_they_say(tmp_path: Path) -> None:
    report = run_coins(tmp_path)
    home = tmp_path / "coins"
    assert sorted(path.name for path in home.iterdir()) == ["figure.png", "report.json", "results.parquet"]
    assert (home / "figure.png").read_bytes().startswith(PNG)
    rows = read_results(home / "results.parquet")
    assert [(row["throws"], row["seed"]) for row in rows] == [(4, 0), (4, 1), (4, 2), (16, 0), (16, 1), (16, 2)]
    assert read_report(home / "report.json") == report
    document = json.loads((home / "report.json").read_text())
    needed = {"id", "paper", "figure", "claim", "published", "measured", "verdict", "seeds", "commit"}
    assert document.keys() == needed | {"scale", "parameters", "seconds"}
    assert (document["seeds"], document["commit"], document["verdict"]) == (3, "abc", "as claimed")
    assert document["parameters"] == {"coin": ["fair"], "throws": [4, 16]}


def test_the_same_seeds_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "other"):
        run_coins(tmp_path / name, 4)
    one, other = ((tmp_path / name / "coins" / "results.parquet").read_bytes() for name in ("one", "other"))
    assert one == other


def test_the_number_of_processes_changes_no_row(tmp_path: Path) -> None:
    """With a registered experiment, as other processes must find it."""
    experiment = all_experiments()["forwarding-vs-flooding"]
    points = [point for point in experiment.points(Scale.QUICK) if point["brokers"] == 10]
    for processes in (1, 2):
        with workers(processes) as mapper, Ledger(tmp_path / f"{processes}.jsonl", "abc", "quick") as ledger:
            rows = measure_rows(experiment, points, 2, mapper, ledger)
        write_results(rows, tmp_path / f"{processes}.parquet")
    assert len(rows) == 2 * len(points)
    assert (tmp_path / "1.parquet").read_bytes() == (tmp_path / "2.parquet").read_bytes()


def test_failures_are_named_and_leave_no_report_that_vouches_for_them(tmp_path: Path) -> None:
    run_coins(tmp_path)
    with pytest.raises(Unmeasured) as failed:
        run_coins(tmp_path, 14)
    assert [(failure.point["throws"], failure.seed) for failure in failed.value.failures] == [(4, 13), (16, 13)]
    said = str(failed.value)
    assert said.startswith("coins: 2 of 28 measurements failed; the others are kept")
    assert "seed 13 of {'coin': 'fair', 'throws': 4}: ArithmeticError: the coin stood on its edge (coins.py:" in said
    assert not (tmp_path / "coins" / "report.json").exists()


def test_a_run_that_was_broken_off_goes_on_where_it_was(tmp_path: Path) -> None:
    with pytest.raises(Unmeasured):
        run_coins(tmp_path, 14)
    asked: list[int] = []

    def measure_again(point: Point, seed: int) -> Row:
        asked.append(seed)
        return {"heads": 0.5}

    mended = dataclasses.replace(COINS, measure=measure_again)
    with workers(1) as mapper:
        run_experiment(mended, tmp_path, Scale.QUICK, 14, mapper, "abc")
    assert asked == [13, 13]
    assert len(read_results(tmp_path / "coins" / "results.parquet")) == 28
    assert not (tmp_path / "coins" / LEDGER_FILE).exists()


def test_seeds_of_the_experiment_or_of_the_user() -> None:
    assert (seed_count(COINS, Scale.PAPER, None), seed_count(COINS, Scale.PAPER, 2)) == (5, 2)
    assert (task_count(COINS, Scale.PAPER, None), task_count(COINS, Scale.QUICK, 7)) == (15, 14)


def test_progress_is_told_of_each_row(tmp_path: Path) -> None:
    told: list[None] = []
    with workers(1) as mapper:
        run_experiment(COINS, tmp_path, Scale.QUICK, 2, mapper, "abc", lambda: told.append(None))
    assert len(told) == 4


def test_what_two_experiments_have_in_common_is_measured_once(tmp_path: Path) -> None:
    asked: list[tuple[object, int]] = []

    def counted(point: Point, seed: int) -> Row:
        asked.append((point["throws"], seed))
        return COINS.measure(point, seed)

    other = dataclasses.replace(COINS, id="others", measure=counted)
    with workers(1) as alone:
        mapper = sharing(alone)
        for each in (dataclasses.replace(COINS, measure=counted), other):
            run_experiment(each, tmp_path, Scale.QUICK, 3, mapper, "abc")
        assert asked == [(4, 0), (4, 1), (4, 2), (16, 0), (16, 1), (16, 2)]
        run_experiment(other, tmp_path, Scale.QUICK, 4, mapper, "abc")
    assert asked[6:] == [(4, 3), (16, 3)], "only what is new"
    one, two = (read_results(tmp_path / name / "results.parquet") for name in ("coins", "others"))
    assert one == [row for row in two if row["seed"] != 3]


def test_a_failure_is_not_shared(tmp_path: Path) -> None:
    """It is measured again."""
    with workers(1) as alone:
        mapper = sharing(alone)
        for _ in range(2):
            with pytest.raises(Unmeasured) as failed:
                run_experiment(COINS, tmp_path, Scale.QUICK, 14, mapper, "abc")
            assert len(failed.value.failures) == 2
