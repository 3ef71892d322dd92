"""Calls as tasks of Spark's: in their order, the same as here, failures in their place."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from reknit.lab.experiment import Scale
from reknit.lab.ledger import Ledger
from reknit.lab.registry import all_experiments
from reknit.lab.results import write_results
from reknit.lab.run import Failure, measure, measure_rows, workers
from reknit.pipeline.sweep import parallelism, sweep


def test_the_rows_of_an_experiment_are_the_same_bytes_as_without_spark(spark: SparkSession, tmp_path: Path) -> None:
    experiment = all_experiments()["forwarding-vs-flooding"]
    points = [point for point in experiment.points(Scale.QUICK) if point["brokers"] == 10][:3]
    with workers(1) as here:
        for name, mapper in (("here", here), ("spark", sweep(spark, measure, 2))):
            with Ledger(tmp_path / name, "abc", "quick") as ledger:
                write_results(measure_rows(experiment, points, 2, mapper, ledger), tmp_path / f"{name}.parquet")
    assert (tmp_path / "here.parquet").read_bytes() == (tmp_path / "spark.parquet").read_bytes()


def test_a_measurement_that_fails_stops_no_other(spark: SparkSession) -> None:
    outcomes = list(sweep(spark, measure, 2)([(_odd_only, {"n": n}, 0) for n in range(4)]))
    assert [isinstance(outcome, Failure) for outcome in outcomes] == [True, False, True, False]
    assert outcomes[1] == {"n": 1, "seed": 0, "half": 0}
    assert "ZeroDivisionError" in str(outcomes[2])


def test_what_is_not_asked_for_any_more_is_not_called(spark: SparkSession, tmp_path: Path) -> None:
    outcomes = sweep(spark, _touch, 1)(tmp_path / f"{number}" for number in range(50))
    assert next(outcomes) == tmp_path / "0"
    outcomes.close()  # type: ignore[attr-defined]
    assert len(list(tmp_path.iterdir())) < 10


def test_as_many_side_by_side_as_spark_has_places(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not as this process has cores: on a cluster that says nothing."""
    monkeypatch.setattr("os.cpu_count", lambda: 64)
    assert parallelism(spark) == 2


def test_nothing_to_do(spark: SparkSession) -> None:
    with pytest.raises(StopIteration):
        next(sweep(spark, _touch, 2)([]))


def _odd_only(point: dict[str, int], seed: int) -> dict[str, int]:
    return {"half": point["n"] // 2 // (point["n"] % 2)}


def _touch(path: Path) -> Path:
    path.touch()
    return path
