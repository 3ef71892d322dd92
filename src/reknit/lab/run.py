"""Running an experiment: every point with every seed, on all cores, and what comes out into a directory.

Each measurement is independent, so they are spread over processes and gathered in the order of points and seeds; the
rows do not depend on how many processes there are. Processes are started afresh (``spawn``) and serve all experiments
of one command, since starting one costs more than many a measurement.

Owns: the order of measurements, the processes, the files of one experiment. Must not know: what is measured, or how
progress is shown.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, TypeAlias

from reknit.lab.experiment import Experiment, Point, Row, Scale
from reknit.lab.plot import save_figure
from reknit.lab.report import REPORT_FILE, Report, make_report, write_report
from reknit.lab.results import RESULTS_FILE, write_results

__all__ = ["FIGURE_FILE", "Mapper", "Task", "measure_rows", "run_experiment", "seed_count", "task_count", "workers"]

FIGURE_FILE = "figure.png"

Task: TypeAlias = tuple[Callable[[Point, int], Row], Point, int]


class Mapper(Protocol):
    """Measures tasks one after the other or side by side, and gives their rows in the order of the tasks."""

    def __call__(self, tasks: Iterable[Task], /) -> Iterator[Row]: ...


@contextmanager
def workers(processes: int = 0) -> Iterator[Mapper]:
    """So many processes to measure on; 0 for one per core, 1 for none but this one."""
    count = processes or os.cpu_count() or 1
    if count == 1:
        yield lambda tasks: map(_measure, tasks)
        return
    with multiprocessing.get_context("spawn").Pool(count, initializer=_leave_interrupts_to_parent) as pool:
        yield lambda tasks: pool.imap(_measure, tasks)


def _leave_interrupts_to_parent() -> None:
    """Ctrl-C reaches every process; the parent ends its workers, which then need not each say that they were ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _measure(task: Task) -> Row:
    measure, point, seed = task
    try:
        counted = measure(point, seed)
    except Exception as error:
        error.add_note(f"while measuring {dict(point)} with seed {seed}")
        raise
    return {**point, "seed": seed, **counted}


def seed_count(experiment: Experiment, scale: Scale, seeds: int | None) -> int:
    return experiment.seeds[scale] if seeds is None else seeds


def task_count(experiment: Experiment, scale: Scale, seeds: int | None) -> int:
    return len(experiment.points(scale)) * seed_count(experiment, scale, seeds)


def measure_rows(experiment: Experiment, points: Iterable[Point], seeds: int, mapper: Mapper) -> Iterator[Row]:
    return mapper((experiment.measure, point, seed) for point in points for seed in range(seeds))


def run_experiment(
    experiment: Experiment,
    out: Path,
    scale: Scale,
    seeds: int | None,
    mapper: Mapper,
    commit: str,
    advance: Callable[[], None] = lambda: None,
) -> Report:
    """Measure, reduce, draw, and write all three files to ``out/ID``; the report last, as it vouches for the others."""
    began = time.monotonic()
    points, count = experiment.points(scale), seed_count(experiment, scale, seeds)
    home = out / experiment.id
    home.mkdir(parents=True, exist_ok=True)
    (home / REPORT_FILE).unlink(missing_ok=True)
    rows: list[Row] = []
    for row in measure_rows(experiment, points, count, mapper):
        rows.append(row)
        advance()
    write_results(rows, home / RESULTS_FILE)
    findings = experiment.reduce(rows)
    save_figure(experiment.plot(rows), home / FIGURE_FILE)
    report = make_report(experiment, findings, scale, points, count, commit, time.monotonic() - began)
    write_report(report, home / REPORT_FILE)
    return report
