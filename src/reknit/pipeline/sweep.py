"""Many independent calls as tasks of Spark's, and what they give in their order: a sweep of the lab, for one.

A few calls are a job, and several jobs run side by side: so long ones hold up nobody else, and what is done is known
soon, which is what progress, and going on after a break, need. How many make a job depends on how long calls take, for
a job by itself takes a tenth of a second. Calls travel as bytes in a table, so this works through Spark Connect, too. A
call has to be found by its name where it runs (``--py-files`` on a cluster).

Owns: how calls get to workers and back. Must not know: what is called.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from pyspark import cloudpickle
from pyspark.sql import SparkSession

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["sweep"]

AHEAD = 2
"""Jobs for each that runs, so that no worker waits for us."""
JOB_S = 4.0
"""About as long as a job may take before somebody hears of it."""
JOB_CALLS_MAX = 32

_Task = TypeVar("_Task")
_Outcome = TypeVar("_Outcome")


def sweep(
    spark: SparkSession, call: Callable[[_Task], _Outcome], side_by_side: int
) -> Callable[[Iterable[_Task]], Iterator[_Outcome]]:
    """What maps ``call`` over tasks on Spark, so many jobs at a time, and gives the outcomes in their order."""

    def run(tasks: Iterable[_Task]) -> Iterator[_Outcome]:
        pending: deque[Future[tuple[list[_Outcome], float]]] = deque()
        waiting, calls = iter(tasks), 1
        with ThreadPoolExecutor(side_by_side) as pool:
            try:
                while True:
                    while len(pending) < AHEAD * side_by_side and (job := list(islice(waiting, calls))):
                        pending.append(pool.submit(_run_job, spark, call, job))
                    if not pending:
                        return
                    outcomes, seconds = pending.popleft().result()
                    calls = max(1, min(JOB_CALLS_MAX, 2 * calls, int(JOB_S / max(seconds, 1e-6) * len(outcomes))))
                    yield from outcomes
            finally:
                for future in pending:
                    future.cancel()

    return run


def _run_job(
    spark: SparkSession, call: Callable[[_Task], _Outcome], tasks: Sequence[_Task]
) -> tuple[list[_Outcome], float]:
    """The outcomes, and how long it took."""
    began = time.monotonic()
    table = spark.createDataFrame([(bytearray(_packed((call, tasks))),)], "calls binary")
    (row,) = table.mapInArrow(_work, "outcomes binary").collect()
    outcomes: list[_Outcome] = cloudpickle.loads(bytes(row["outcomes"]))
    return outcomes, time.monotonic() - began


def _work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """At a worker."""
    import pyarrow as pa

    for batch in batches:
        outcomes = [_packed(_called(value)) for value in batch.column(0).to_pylist()]
        yield pa.RecordBatch.from_arrays([pa.array(outcomes, pa.binary())], names=["outcomes"])


def _packed(value: object) -> bytes:
    packed: bytes = cloudpickle.dumps(value)  # type: ignore[no-untyped-call]
    return packed


def _called(value: bytes) -> list[Any]:
    call, tasks = cloudpickle.loads(value)
    return [call(task) for task in tasks]
