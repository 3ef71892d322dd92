"""The pipeline at two cores: visits beside pandas at two sizes, and traffic as a stream.

Owns: the sizes, the same work in pandas, and a made-up trace. Must not know: how a flow is run. Each side is a process
of its own, so that its memory is its own; Spark's is that of Java and its workers together. The start of the session
does not count.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.rows import INFORMATION, Row

__all__ = ["main", "make_trace", "run", "visits_in_pandas"]

SEED = 3
SIZES = {"3 M": 1.0, "30 M": 10.0}
QUICK_SIZES = {"3 M": 0.02, "30 M": 0.2}
LARGEST = 100.0
"""300 M check-ins: as a job, not run here."""
MASTER = "local[2]"
MEMORY = "2g"
MEMORY_GB_MAX = 4.0
FLAT = 0.9
"""Of the time for a row at the smaller size, that at the larger one: a tenth is the noise of a machine."""
SECONDS, QUICK_SECONDS = 40, 4
"""Of the trace."""
RATE = 50_000
"""Records of a trace in a second."""
NODES = 5
BATCH_S = 5
LATE_S = 10.0
SAMPLE_S = 0.2
PLACE = Path("out/bench-pipeline")


def run(quick: bool = False) -> list[Row]:
    rows = [*_visits(QUICK_SIZES if quick else SIZES, quick), _stream(QUICK_SECONDS if quick else SECONDS, quick)]
    return [*rows, _largest()]


def _child(*words: str) -> dict[str, Any]:
    done = subprocess.run([sys.executable, "-m", "bench.pipeline", *words], check=True, stdout=subprocess.PIPE)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


# --- visits


def _visits(sizes: dict[str, float], quick: bool) -> Iterator[Row]:
    note = "quick: smaller sizes" if quick else ""
    per_row: list[float] = []
    for (name, scale), wanted in zip(sizes.items(), (1 / 3, 1.0), strict=True):
        data, out = PLACE / f"checkins-{scale:g}", PLACE / "visits"
        _child("make", str(data), str(scale))
        pandas = _child("pandas", str(data / "checkins"), str(out))
        spark = _child("spark", str(data / "checkins"), str(out))
        assert pandas["statistics"] == spark["statistics"], (pandas, spark)
        said = f"{spark['rows']:,} rows: {spark['seconds']:.1f} s, pandas {pandas['seconds']:.1f} s; {note}"
        bar = INFORMATION if quick else wanted
        yield Row(f"pipeline.visits {name}", "pandas", bar, pandas["seconds"] / spark["seconds"], said)
        used = f"{spark['memory_gb']:.2f} GB, pandas {pandas['memory_gb']:.2f} GB; {note}"
        last = bar if name == "30 M" else INFORMATION
        yield Row(
            f"pipeline.visits {name} memory", f"{MEMORY_GB_MAX:g} GB", last, MEMORY_GB_MAX / spark["memory_gb"], used
        )
        per_row.append(spark["seconds"] / spark["rows"])
        shutil.rmtree(data)
    us = ", ".join(f"{1e6 * each:.2f}" for each in per_row)
    flat = INFORMATION if quick else FLAT
    yield Row("pipeline.visits time per row", "the smaller size", flat, per_row[0] / per_row[1], f"{us} us; {note}")


def visits_in_pandas(path: str, out: str) -> dict[str, float]:
    """The same tables and statistics, as one would write them without Spark."""
    import numpy as np
    import pandas as pd

    seen = pd.read_parquet(path)
    seen["cell"] = np.floor(seen["lat"] - 28).astype("int64") * 60 + np.floor(seen["lon"] + 126).astype("int64")
    seen = seen.sort_values(["user_id", "ts", "lat", "lon"], kind="stable")
    keys = ["user_id", "ts", "lat", "lon"]
    seen["copy"] = (seen[keys] == seen[keys].shift()).all(axis=1)
    new = (seen["user_id"] != seen["user_id"].shift()) | (seen["cell"] != seen["cell"].shift())
    seen["visit"] = new.cumsum()
    visits = seen.groupby("visit", sort=False).agg(
        user_id=("user_id", "first"), cell=("cell", "first"), start=("ts", "first"), last=("ts", "last"),
        rows=("ts", "size"), copies=("copy", "sum"),
    )  # fmt: skip
    following = visits.groupby("user_id")["start"].shift(-1)
    visits["linger_s"] = (following - visits["start"]).dt.total_seconds()
    pairs = visits.groupby(["user_id", "cell"], as_index=False).agg(visits=("start", "size"), first=("start", "min"))
    cells = pairs.groupby("cell", as_index=False).agg(visits=("visits", "sum"), users=("user_id", "size"))
    Path(out).mkdir(parents=True, exist_ok=True)
    for name, table in (("visits", visits), ("pairs", pairs), ("cells", cells)):
        table.to_parquet(Path(out) / f"{name}.parquet")
    closed = visits["linger_s"].dropna()
    return {
        "visits": float(len(visits)),
        "unique_pairs": float(len(pairs)),
        "pairs_once": float((pairs["visits"] == 1).sum()),
        "cells_used": float(len(cells)),
        "linger_median_s_closed": float(closed.median()),
    }


def _measure_pandas(path: str, out: str) -> dict[str, Any]:
    import pandas  # noqa: F401  its start does not count either

    with _watching() as seen:
        begun = time.monotonic()
        statistics = visits_in_pandas(path, out)
        seconds = time.monotonic() - begun
    return {"seconds": seconds, "statistics": statistics, "memory_gb": seen[0]}


def _measure_spark(path: str, out: str) -> dict[str, Any]:
    import pyarrow.parquet as pq

    from reknit.pipeline.checkins import Window
    from reknit.pipeline.flows.visits import FLOW
    from reknit.pipeline.run import Order, run_flow

    with _session() as spark, _watching() as seen:
        spark.range(10).count()
        begun = time.monotonic()
        report = run_flow(spark, Order(FLOW, Window(), {"checkins": path}, out))
        seconds = time.monotonic() - begun
    found = {row["statistic"]: row["value"] for row in pq.read_table(Path(out) / "statistics").to_pylist()}
    names = ("visits", "unique_pairs", "pairs_once", "cells_used", "linger_median_s_closed")
    statistics = {name: found[name] for name in names}
    rows = report.inputs[0].rows
    return {"seconds": seconds, "rows": rows, "statistics": statistics, "memory_gb": seen[0]}


@contextmanager
def _session() -> Iterator[Any]:
    from reknit.pipeline.session import Place, session

    with session(Place(MASTER, memory=MEMORY)) as spark:
        yield spark


@contextmanager
def _watching() -> Iterator[list[float]]:
    """The most memory that this process and its children have had at once, in GB; in the list at the end."""
    import psutil

    own, most, ended = psutil.Process(), [0.0], threading.Event()

    def look() -> None:
        while not ended.wait(SAMPLE_S):
            used = 0
            for each in (own, *own.children(recursive=True)):
                with contextlib.suppress(psutil.Error):
                    used += each.memory_info().rss
            most[0] = max(most[0], used / 1e9)

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield most
    finally:
        ended.set()
        watcher.join()


def _make(out: str, scale: str) -> dict[str, Any]:
    from reknit.pipeline.flow import read_parameters
    from reknit.pipeline.flows.synthesize import FLOW
    from reknit.pipeline.run import Order, run_flow

    told = read_parameters(FLOW, {"scale": scale, "seed": str(SEED)})
    with _session() as spark:
        report = run_flow(spark, Order(FLOW, told, {}, out, only=("checkins",)))
    return {"rows": report.steps[0].rows}


def _largest() -> Row:
    """The job of 300 M check-ins, as Spark would do it: its physical plan, in a file."""
    found = _child("plan", str(PLACE / "visits-300M.plan.txt"))
    said = f"{found['partitions']} partitions, {found['exchanges']} exchanges; {PLACE / 'visits-300M.plan.txt'}"
    return Row("pipeline.visits 300 M", "laid out", INFORMATION, math.nan, said)


def _plan(path: str) -> dict[str, Any]:
    from reknit.pipeline.checkins import Window
    from reknit.pipeline.synthesize import PEOPLE_PER_PARTITION, Crowd, checkins, people
    from reknit.pipeline.visits import pairs, visits

    told = Crowd(scale=LARGEST, seed=SEED)
    with _session() as spark:
        spark.conf.set("spark.sql.shuffle.partitions", "800")
        made = checkins(told)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            pairs(Window(), visits(Window(), made)).explain("formatted")
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(printed.getvalue(), encoding="utf-8")
    tree = printed.getvalue().split("\n\n")[0]
    return {"partitions": people(told) // PEOPLE_PER_PARTITION, "exchanges": tree.count("Exchange ")}


# --- traffic as a stream


def _stream(seconds: int, quick: bool) -> Row:
    trace = PLACE / "trace"
    shutil.rmtree(PLACE / "stream", ignore_errors=True)
    shutil.rmtree(trace, ignore_errors=True)
    records = make_trace(trace, seconds)
    found = _child("stream", str(trace), str(PLACE / "stream"))
    said = f"{found['rate']:,.0f} records/s of {records:,}, batches of {BATCH_S} s, the first not counted"
    bar = INFORMATION if quick else 1.0
    shutil.rmtree(trace)
    return Row("pipeline.traffic stream", f"{RATE:,} records/s", bar, found["rate"] / RATE, said)


def make_trace(directory: Path, seconds: int) -> int:
    """Five brokers in a line, of which each writes a segment a second: an event is published, crosses two links, and is
    delivered three times. How many records that are."""
    import numpy as np
    import pyarrow as pa

    from reknit.trace.columns import schema
    from reknit.trace.segments import node_directory, write_segment

    each = RATE // NODES // 6 * 6
    place = np.arange(each)
    kinds = np.array(["published", "forwarded", "forwarded", "delivered", "delivered", "delivered"])[place % 6]
    for second in range(seconds):
        for node in range(NODES):
            event = second * (each // 6) + place // 6
            names = {
                "time": second + place / each,
                "order": second * each + place,
                "node": [f"b{node + 1}"] * each,
                "kind": kinds,
                "peer": np.where(kinds == "forwarded", f"b{node % NODES + 2}", None),
                "client": np.where(kinds == "forwarded", None, "c1"),
                "size": np.full(each, 120),
                "source": [f"b{node + 1}.1"] * each,
                "seq": event,
                "topic": [f"city/{number % 1000}" for number in event],
                "payload_size": np.full(each, 100),
                "qos": np.zeros(each, np.int8),
            }
            arrays = [
                pa.array(names[field.name], field.type) if field.name in names else pa.nulls(each, field.type)
                for field in schema()
            ]
            write_segment(
                pa.Table.from_arrays(arrays, schema=schema()), node_directory(directory, f"b{node + 1}"), second + 1
            )
    return seconds * NODES * each


def _measure_stream(trace: str, out: str) -> dict[str, Any]:
    from reknit.pipeline.stream import start
    from reknit.pipeline.traffic import Watched

    with _session() as spark:
        query = start(spark, Watched(), trace, out, late_s=LATE_S, segments_max=NODES * BATCH_S)
        query.awaitTermination()
        done = [each for each in query.recentProgress if each["numInputRows"]]
    later = done[1:] or done
    rows = sum(each["numInputRows"] for each in later)
    spent_s = sum(each["durationMs"]["triggerExecution"] for each in later) / 1000
    return {"rate": rows / spent_s, "batches": len(done)}


_PARTS = {"make": _make, "pandas": _measure_pandas, "spark": _measure_spark, "plan": _plan, "stream": _measure_stream}


def main() -> None:
    """One part of it, in this process; the last line is JSON."""
    part, *words = sys.argv[1:]
    found = _PARTS[part](*words)
    sys.stdout.flush()
    os.write(1, (json.dumps(found) + "\n").encode())


if __name__ == "__main__":
    main()
