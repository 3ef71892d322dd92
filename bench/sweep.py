"""A sweep of the lab on Spark, with two workers, beside the same sweep in one process; and that both say the same.

Owns: which sweep. Must not know: how it is run. They are measured by the clock, one after the other, in one run, and
the start of Spark and of its workers is left out. Two plain processes stand beside it, their start left out too: what
they reach is all that two cores give for this work.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.rows import INFORMATION, Row
from reknit.lab.experiment import Experiment, Point, Scale
from reknit.lab.experiment import Row as Measurement
from reknit.lab.ledger import Ledger
from reknit.lab.registry import all_experiments
from reknit.lab.run import Mapper, measure, measure_rows, workers
from reknit.pipeline.session import Place, session
from reknit.pipeline.sweep import JAVA, sweep

__all__ = ["run"]

EXPERIMENT = "forwarding-vs-flooding"
SETTINGS, SEEDS = 10, 30
WORKERS = 2
FASTER_MIN = 1.6


def run(quick: bool = False) -> list[Row]:
    experiment = all_experiments()[EXPERIMENT]
    points = _settings(experiment)
    seeds = 2 if quick else SEEDS
    with workers(1) as here:
        alone, alone_s = _timed(experiment, points, seeds, here)
    with workers(WORKERS) as plain:
        _timed(experiment, points[:WORKERS], 1, plain)
        side_by_side, plain_s = _timed(experiment, points, seeds, plain)
    with session(Place(f"local[{WORKERS}]", name="bench sweep", java_options=JAVA)) as spark:
        mapper = sweep(spark, measure, WORKERS)
        _timed(experiment, points[:WORKERS], 1, mapper)  # workers are there from now on
        spread, spread_s = _timed(experiment, points, seeds, mapper)
    if not alone == spread == side_by_side:
        raise AssertionError("the sweep on Spark has other rows than the one here")
    note = f"{len(alone)} measurements: {alone_s:.1f} s in one process, {spread_s:.1f} s on local[{WORKERS}]; same rows"
    both = f"{plain_s:.1f} s in {WORKERS} plain processes"
    bar = INFORMATION if quick else FASTER_MIN
    return [
        Row("a sweep on Spark, local[2]", "one process", bar, alone_s / spread_s, note),
        Row("the same in two processes", "one process", INFORMATION, alone_s / plain_s, both),
    ]


def _settings(experiment: Experiment) -> list[Point]:
    """Those with the most brokers, which are worth spreading."""
    points = experiment.points(Scale.QUICK)
    most = max(int(point["brokers"]) for point in points)
    return [point for point in points if point["brokers"] == most][:SETTINGS]


def _timed(
    experiment: Experiment, points: Sequence[Point], seeds: int, mapper: Mapper
) -> tuple[list[Measurement], float]:
    with TemporaryDirectory() as directory, Ledger(Path(directory) / "rows", "bench", "quick") as ledger:
        began = time.perf_counter()
        rows = measure_rows(experiment, points, seeds, mapper, ledger)
        return rows, time.perf_counter() - began
