"""Running an experiment: every point with every seed, on all cores, and what comes out into a directory.

Each measurement is independent, so they are spread over processes and gathered in the order of points and seeds; the
rows do not depend on how many processes there are, or whether they are Spark's. Processes are started afresh
(``spawn``) and serve all experiments of one command, since starting one costs more than many a measurement.

A measurement that fails stops no other: at the end those that failed are named, with their seeds, and there is no
report. What was measured until then is kept (``ledger``), so the same command measures the rest only. Several figures
of a paper may show the same runs: experiments of one command that measure the same are measured once (``sharing``).

Owns: the order of measurements, the processes, the files of one experiment. Must not know: what is measured, or how
progress is shown.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

from reknit.lab.experiment import Cell, Experiment, Point, Row, Scale
from reknit.lab.ledger import LEDGER_FILE, Ledger
from reknit.lab.plot import save_figure
from reknit.lab.report import REPORT_FILE, Report, make_report, write_report
from reknit.lab.results import RESULTS_FILE, write_results

__all__ = [
    "FIGURE_FILE",
    "Failure",
    "Mapper",
    "Outcome",
    "Task",
    "Unmeasured",
    "measure",
    "measure_rows",
    "run_experiment",
    "seed_count",
    "sharing",
    "task_count",
    "workers",
]

FIGURE_FILE = "figure.png"

FAILURES_SHOWN_MAX = 20

GARBAGE_OBJECTS = 100_000
"""So many more objects there have to be before Python looks for cycles among them; a simulation makes many that stay,
and hardly any cycles, and with Python's own 700 a quarter of its time goes into looking."""

Task: TypeAlias = tuple[Callable[[Point, int], Row], Point, int]


@dataclass(frozen=True, slots=True)
class Failure:
    """A measurement that came to nothing."""

    point: Point
    seed: int
    error: str

    def __str__(self) -> str:
        return f"seed {self.seed} of {dict(self.point)}: {self.error}"


Outcome: TypeAlias = Row | Failure


class Unmeasured(Exception):
    """Some measurements have failed, so there is no result."""

    exit_code = 1

    def __init__(self, id_: str, failures: list[Failure], measured: int) -> None:
        shown = "".join(f"\n  {failure}" for failure in failures[:FAILURES_SHOWN_MAX])
        more = len(failures) - FAILURES_SHOWN_MAX
        rest = f"\n  and {more} more" if more > 0 else ""
        super().__init__(
            f"{id_}: {len(failures)} of {len(failures) + measured} measurements failed; the others are kept, "
            f"and the same command measures these again{shown}{rest}"
        )
        self.failures = failures


class Mapper(Protocol):
    """Measures tasks one after the other or side by side, and gives what comes out in the order of the tasks."""

    def __call__(self, tasks: Iterable[Task], /) -> Iterator[Outcome]: ...


@contextmanager
def workers(processes: int = 0) -> Iterator[Mapper]:
    """So many processes to measure on; 0 for one per core, 1 for none but this one."""
    count = processes or os.cpu_count() or 1
    if count == 1:
        with _seldom_collected():
            yield lambda tasks: map(measure, tasks)
        return
    with multiprocessing.get_context("spawn").Pool(count, initializer=_begin_worker) as pool:
        yield lambda tasks: pool.imap(measure, tasks)


def sharing(mapper: Mapper) -> Mapper:
    """What one experiment has measured, another that measures the same at the same point and seed is given."""
    known: dict[tuple[Callable[[Point, int], Row], tuple[tuple[str, Cell], ...], int], Row] = {}

    def measured(tasks: Iterable[Task]) -> Iterator[Outcome]:
        all_ = [(task, (task[0], tuple(task[1].items()), task[2])) for task in tasks]
        found = [known.get(key) for _, key in all_]
        fresh = mapper(task for (task, _), row in zip(all_, found, strict=True) if row is None)
        for (_, key), row in zip(all_, found, strict=True):
            outcome = next(fresh) if row is None else row
            if not isinstance(outcome, Failure):
                known[key] = outcome
            yield outcome

    return measured


def _begin_worker() -> None:
    """Ctrl-C reaches every process; the parent ends its workers, which then need not each say that they were ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _collect_seldom()


def _collect_seldom() -> None:
    """What is loaded by now stays for good."""
    gc.freeze()
    gc.set_threshold(GARBAGE_OBJECTS, *gc.get_threshold()[1:])


@contextmanager
def _seldom_collected() -> Iterator[None]:
    usual = gc.get_threshold()
    _collect_seldom()
    try:
        yield
    finally:
        gc.set_threshold(*usual)
        gc.unfreeze()


def measure(task: Task) -> Outcome:
    function, point, seed = task
    try:
        counted = function(point, seed)
    except Exception as error:
        at = traceback.extract_tb(error.__traceback__)[-1]
        return Failure(point, seed, f"{type(error).__name__}: {error} ({Path(at.filename).name}:{at.lineno})")
    return {**point, "seed": seed, **counted}


def seed_count(experiment: Experiment, scale: Scale, seeds: int | None) -> int:
    return experiment.seeds[scale] if seeds is None else seeds


def task_count(experiment: Experiment, scale: Scale, seeds: int | None) -> int:
    return len(experiment.points(scale)) * seed_count(experiment, scale, seeds)


def measure_rows(
    experiment: Experiment,
    points: Iterable[Point],
    seeds: int,
    mapper: Mapper,
    ledger: Ledger,
    advance: Callable[[], None] = lambda: None,
) -> list[Row]:
    """All rows, in the order of points and seeds; those that the ledger knows are not measured again."""
    tasks: list[Task] = [(experiment.measure, point, seed) for point in points for seed in range(seeds)]
    known = [ledger.find(point, seed) for _, point, seed in tasks]
    outcomes = mapper(task for task, row in zip(tasks, known, strict=True) if row is None)
    rows: list[Row] = []
    failures: list[Failure] = []
    for (_, point, seed), row in zip(tasks, known, strict=True):
        outcome = next(outcomes) if row is None else row
        advance()
        if isinstance(outcome, Failure):
            failures.append(outcome)
            continue
        if row is None:
            ledger.keep(point, seed, outcome)
        rows.append(outcome)
    if failures:
        raise Unmeasured(experiment.id, failures, len(rows))
    return rows


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
    with Ledger(home / LEDGER_FILE, commit, scale) as ledger:
        rows = measure_rows(experiment, points, count, mapper, ledger, advance)
        write_results(rows, home / RESULTS_FILE)
        findings = experiment.reduce(rows)
        save_figure(experiment.plot(rows), home / FIGURE_FILE)
        report = make_report(experiment, findings, scale, points, count, commit, time.monotonic() - began)
        write_report(report, home / REPORT_FILE)
        ledger.finish()
    return report
