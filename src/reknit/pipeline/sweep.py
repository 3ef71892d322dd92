"""Many independent calls as tasks of Spark's, and what they give in their order: a sweep of the lab, for one.

A few calls are a job, and several jobs run side by side: so long ones hold up nobody else, and what is done is known
soon, which is what progress, and going on after a break, need. How many make a job depends on how long calls take, for
a job by itself takes a tenth of a second; towards the end jobs are small, so that no worker is without one for long.
More jobs are under way than can run, so that the next is there when a worker is free. Calls travel as bytes in a table,
so this works through Spark Connect, too. A call has to be found by its name where it runs (``--py-files`` on a
cluster).

Owns: how calls get to workers and back. Must not know: what is called.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["JAVA", "parallelism", "sweep"]

AHEAD = 2
"""Jobs for each that runs, so that no worker waits for us."""
JOB_S = 4.0
"""About as long as a job may take before somebody hears of it."""
JOB_CALLS_MAX = 32
SHARE = 4
"""Of what is left, a job of each worker takes such a part at most."""
NUMBERS = 100_000
"""More than any cluster has cores."""
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For a Java that hands out calls and does little itself: better code for it takes more than it brings."""

_Task = TypeVar("_Task")
_Outcome = TypeVar("_Outcome")


def parallelism(spark: SparkSession) -> int:
    """How many tasks Spark would do side by side, wherever it runs: what it cuts a range into if nobody says."""
    many = spark.range(NUMBERS).select(F.spark_partition_id().alias("part"))
    return max(1, many.distinct().count())


def sweep(
    spark: SparkSession, call: Callable[[_Task], _Outcome], side_by_side: int
) -> Callable[[Iterable[_Task]], Iterator[_Outcome]]:
    """What maps ``call`` over tasks on Spark, so many jobs at a time, and gives the outcomes in their order."""

    def run(tasks: Iterable[_Task]) -> Iterator[_Outcome]:
        pending: deque[Future[tuple[list[_Outcome], float]]] = deque()
        waiting, calls = deque(tasks), 1
        with ThreadPoolExecutor(AHEAD * side_by_side) as pool:
            try:
                while waiting or pending:
                    while waiting and len(pending) < AHEAD * side_by_side:
                        share = -(-len(waiting) // (SHARE * side_by_side))
                        job = [waiting.popleft() for _ in range(min(calls, share))]
                        pending.append(pool.submit(_run_job, spark, call, job))
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
    """The outcomes, and how long a worker took for them."""
    import pyarrow as pa

    # As an Arrow table: of a list Spark would make one with a worker's help, which is a second way there and back.
    table = spark.createDataFrame(pa.table({"calls": pa.array([_packed((call, tasks))], pa.binary())}))
    (row,) = table.mapInArrow(_work, "outcomes binary").collect()
    outcomes, seconds = cloudpickle.loads(bytes(row["outcomes"]))
    return outcomes, seconds


def _work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """At a worker."""
    import pyarrow as pa

    for batch in batches:
        outcomes = [_packed(_called(value)) for value in batch.column(0).to_pylist()]
        yield pa.RecordBatch.from_arrays([pa.array(outcomes, pa.binary())], names=["outcomes"])


def _packed(value: object) -> bytes:
    packed: bytes = cloudpickle.dumps(value)  # type: ignore[no-untyped-call]
    return packed


def _called(value: bytes) -> tuple[list[Any], float]:
    began = time.monotonic()
    call, tasks = cloudpickle.loads(value)
    return [call(task) for task in tasks], time.monotonic() - began
