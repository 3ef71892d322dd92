"""The pipeline at two cores: visits beside pandas at two sizes, traffic as a stream, and placement of millions.

Owns: the sizes, the same work in pandas, a made-up trace, and made-up interests. Must not know: how a flow is run. Each
side is a process of its own, so that its memory is its own; Spark's is that of Java and its workers together. The start
of the session does not count.
"""

from __future__ import annotations

import contextlib
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
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.rows import INFORMATION, Row

__all__ = ["main", "make_trace", "run", "visits_in_pandas"]

SEED = 3
SIZES = {"3 M": 1.0, "30 M": 10.0}
QUICK_SIZES = {"3 M": 0.02, "30 M": 0.2}
ROUNDS = {"3 M": 5, "30 M": 1}
"""Of pandas and Spark in turn: what takes few seconds is at the mercy of whatever else the machine does."""
LARGEST = 100.0
"""300 M check-ins: as a job, not run here."""
PARTITIONS = 800
"""Of its shuffles."""
MASTER = "local[2]"
MEMORY = "2g"
MEMORY_GB_MAX = 4.0
FLAT = 0.9
"""Of the time for a row at the smaller size, that at the larger one: a tenth is the noise of a machine."""
SECONDS, QUICK_SECONDS = 90, 4
"""Of the trace."""
RATE = 50_000
"""Records of a trace in a second."""
NODES = 5
BATCH_S = 5
USERS, QUICK_USERS = 5_000_000, 50_000
BROKERS = 1_000
TOPICS = 1_200
WISHES = 5
"""Of each user; fewer where the same topic is drawn twice."""
PLACEMENT_GB_MAX = 8.0
SAMPLE_S = 0.2
PLACE = Path("out/bench-pipeline")


def run(quick: bool = False) -> list[Row]:
    rows = [*_visits(QUICK_SIZES if quick else SIZES, quick), _stream(QUICK_SECONDS if quick else SECONDS, quick)]
    return [*rows, _placement(QUICK_USERS if quick else USERS, quick), _largest()]


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
        rounds, words = 1 if quick else ROUNDS[name], (str(data / "checkins"), str(out))
        pairs = [(_child("pandas", *words), _child("spark", *words)) for _ in range(rounds)]
        assert all(pandas["statistics"] == spark["statistics"] for pandas, spark in pairs), pairs
        pandas, spark = (sorted(each, key=_seconds)[rounds // 2] for each in zip(*pairs, strict=True))
        said = (
            f"{spark['rows']:,} rows: {spark['seconds']:.1f} s, pandas {pandas['seconds']:.1f} s, each the middle one "
            f"of {rounds}; of processors {spark['cpu_s']:.1f} s, pandas {pandas['cpu_s']:.1f} s; {note}"
        )
        bar = INFORMATION if quick else wanted
        yield Row(f"pipeline.visits {name}", "pandas", bar, pandas["seconds"] / spark["seconds"], said)
        most = max(each["memory_gb"] for _, each in pairs)
        used = f"{most:.2f} GB, pandas {pandas['memory_gb']:.2f} GB; {note}"
        last = bar if name == "30 M" else INFORMATION
        yield Row(f"pipeline.visits {name} memory", f"{MEMORY_GB_MAX:g} GB", last, MEMORY_GB_MAX / most, used)
        per_row.append(spark["seconds"] / spark["rows"])
        shutil.rmtree(data)
    us = ", ".join(f"{1e6 * each:.2f}" for each in per_row)
    flat = INFORMATION if quick else FLAT
    yield Row("pipeline.visits time per row", "the smaller size", flat, per_row[0] / per_row[1], f"{us} us; {note}")


def _seconds(measured: dict[str, Any]) -> float:
    return float(measured["seconds"])


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
    return {"seconds": seconds, "statistics": statistics, **asdict(seen)}


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
    return {"seconds": seconds, "rows": rows, "statistics": statistics, **asdict(seen)}


@contextmanager
def _session() -> Iterator[Any]:
    from reknit.pipeline.session import Place, session

    with session(Place(MASTER, memory=MEMORY)) as spark:
        yield spark


@dataclass(slots=True)
class _Used:
    """By this process and its children together."""

    memory_gb: float = 0.0
    """The most at once."""
    cpu_s: float = 0.0


@contextmanager
def _watching() -> Iterator[_Used]:
    """What is used meanwhile; known at the end."""
    import psutil

    own, used, ended = psutil.Process(), _Used(), threading.Event()
    spent: dict[int, float] = {}

    def look() -> None:
        held = 0
        for each in (own, *own.children(recursive=True)):
            with contextlib.suppress(psutil.Error):
                held += each.memory_info().rss
                spent[each.pid] = sum(each.cpu_times()[:2])
        used.memory_gb = max(used.memory_gb, held / 1e9)

    def go_on() -> None:
        while not ended.wait(SAMPLE_S):
            look()

    look()
    before = sum(spent.values())
    watcher = threading.Thread(target=go_on)
    watcher.start()
    try:
        yield used
    finally:
        ended.set()
        watcher.join()
        look()
        used.cpu_s = sum(spent.values()) - before


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
    said = (
        f"made in {found['partitions']} partitions; {found['tables']} tables with {found['exchanges']} exchanges in "
        f"{PARTITIONS}; {PLACE / 'visits-300M.plan.txt'}"
    )
    return Row("pipeline.visits 300 M", "laid out", INFORMATION, math.nan, said)


def _plan(path: str) -> dict[str, Any]:
    """As ``reknit pipeline run FLOW --explain`` has it: check-ins made and written, then visits from their files."""
    from reknit.pipeline.checkins import Window
    from reknit.pipeline.explain import explain
    from reknit.pipeline.flows import synthesize, visits
    from reknit.pipeline.run import Order
    from reknit.pipeline.synthesize import PEOPLE_PER_PARTITION, Crowd, people

    told, home = Crowd(scale=LARGEST, seed=SEED), str(Path(path).parent / "checkins-300M")
    with _session() as spark:
        spark.conf.set("spark.sql.shuffle.partitions", str(PARTITIONS))
        made = explain(spark, Order(synthesize.FLOW, told, {}, home, only=("checkins",)))
        found = explain(spark, Order(visits.FLOW, Window(), {"checkins": f"{home}/checkins"}, home))
    texts = [f"synthesize: {name}\n{plan}\n" for name, plan in made]
    texts += [f"visits: {name}\n{plan}\n" for name, plan in found]
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text("\n".join(texts), encoding="utf-8")
    trees = [plan.split("\n\n")[0] for _, plan in found]
    exchanges = sum(tree.count("Exchange ") for tree in trees)
    return {"partitions": people(told) // PEOPLE_PER_PARTITION, "exchanges": exchanges, "tables": len(texts) - 1}


# --- traffic as a stream


def _stream(seconds: int, quick: bool) -> Row:
    trace = PLACE / "trace"
    shutil.rmtree(PLACE / "stream", ignore_errors=True)
    shutil.rmtree(trace, ignore_errors=True)
    records = make_trace(trace, seconds)
    found = _child("stream", str(trace), str(PLACE / "stream"))
    said = (
        f"{found['rate']:,.0f} records/s of {records:,}, batches of {BATCH_S} s, the first not counted; with "
        f"--late-s {found['late_s']:g}; the slowest batch of the last half {found['slowest_s']:.1f} s; then all tables "
        f"in {found['tables_s']:.0f} s; of processors {found['cpu_s']:.0f} s in all"
    )
    bar = INFORMATION if quick else 1.0
    shutil.rmtree(trace)
    return Row("pipeline.traffic stream", f"{RATE:,} records/s", bar, found["rate"] / RATE, said)


JOURNEY = ("published", "forwarded", "forwarded", "delivered", "delivered", "delivered")
TURNS = 100
"""Of so many events each, a client has unsubscribed and subscribed, and a route has come and gone, at each broker."""
CHANGE_S = 15
CHANGE_AT = 2
"""Seconds from one change of the tree to the next, and to the first: two brokers take two steps each, in a second."""


def make_trace(directory: Path, seconds: int) -> int:
    """Five brokers in a line, of which each writes a segment a second: an event is published, crosses two links, and is
    delivered three times. Meanwhile subscriptions, routes and the tree change. How many records that are."""
    from reknit.trace.segments import node_directory, write_segment

    records = 0
    for second in range(seconds):
        for node in range(NODES):
            made = _segment(second, node)
            write_segment(made, node_directory(directory, f"b{node + 1}"), second + 1)
            records += made.num_rows
    return records


def _segment(second: int, node: int) -> Any:
    """What one broker writes in one second: journeys, and others in their places between them."""
    import numpy as np
    import pyarrow as pa

    from reknit.trace.columns import schema

    each = RATE // NODES
    others = _others(second, node)
    journeys = (each - len(others)) // len(JOURNEY) * len(JOURNEY)
    place = np.arange(journeys)
    event = second * (RATE // NODES // len(JOURNEY)) + place // len(JOURNEY)
    kinds = np.array(JOURNEY)[place % len(JOURNEY)]
    source, peer = f"b{node + 1}.1", f"b{node % NODES + 2}"
    columns: dict[str, Any] = {
        "time": second + place / journeys,
        "kind": kinds,
        "peer": np.where(kinds == "forwarded", peer, None),
        "client": np.where(kinds == "forwarded", None, "c1"),
        "size": np.full(journeys, 120),
        "source": np.full(journeys, source),
        "seq": event,
        "topic": np.array([f"city/{number % 1000}" for number in event]),
        "payload_size": np.full(journeys, 100),
        "qos": np.zeros(journeys, np.int8),
    }
    total = journeys + len(others)
    arrays = {name: pa.array(values, schema().field(name).type) for name, values in columns.items()}
    rows = pa.Table.from_arrays(
        [arrays.get(field.name, pa.nulls(journeys, field.type)) for field in schema()], schema=schema()
    )
    more = [{"node": f"b{node + 1}", **other} for other in others]
    rows = pa.concat_tables([rows, pa.Table.from_pylist(more, schema=schema())]).sort_by("time")
    numbers = pa.array(np.arange(second * each, second * each + total), schema().field("order").type)
    rows = rows.set_column(schema().get_field_index("order"), schema().field("order"), numbers)
    names = pa.array([f"b{node + 1}"] * total, schema().field("node").type)
    return rows.set_column(schema().get_field_index("node"), schema().field("node"), names)


def _others(second: int, node: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for turn in range(RATE // NODES // len(JOURNEY) // TURNS):
        at, pattern = second + (turn + 0.5) * TURNS * len(JOURNEY) * NODES / RATE, f"city/{turn}/#"
        wish = {"client": f"c{turn}", "pattern_topic": pattern}
        route = {"peer": f"b{node % NODES + 2}", "pattern_topic": pattern}
        for nth, (kind, what) in enumerate(
            (("unsubscribed", wish), ("route_removed", route), ("subscribed", wish), ("route_added", route))
        ):
            found.append({"time": at + nth * 1e-5, "kind": kind, **what})
    if second % CHANGE_S == CHANGE_AT and node < 2:
        steps = (
            (("swap: start", 0.1), ("swap: end", 0.9)) if node == 0 else (("swap: lock", 0.3), ("swap: unlock", 0.8))
        )
        found += [
            {"time": second + at, "kind": "change", "peer": f"b{2 - node}", "detail": detail} for detail, at in steps
        ]
    return found


def _measure_stream(trace: str, out: str) -> dict[str, Any]:
    """With the defaults of ``reknit pipeline stream``, but for what a batch takes up at most."""
    from reknit.pipeline.stream import LATE_S, start, write_tables
    from reknit.pipeline.traffic import Watched

    with _session() as spark, _watching() as seen:
        query = start(spark, Watched(), trace, out, segments_max=NODES * BATCH_S)
        query.awaitTermination()
        done = [each for each in query.recentProgress if each["numInputRows"]]
        begun = time.monotonic()
        report = write_tables(spark, Watched(), out)
        tables_s = time.monotonic() - begun
    assert not report.aside, report
    assert all(report.tables.values()), report
    later = done[1:] or done
    spent_s = [each["durationMs"]["triggerExecution"] / 1000 for each in later]
    rows = report.rows * sum(each["numInputRows"] for each in later) / report.files  # it is given files, all of a size
    slowest = max(spent_s[len(spent_s) // 2 :])
    told = {"late_s": LATE_S, "tables_s": tables_s, "slowest_s": slowest}
    return {"rate": rows / sum(spent_s), "batches": len(done), **told, **asdict(seen)}


# --- placement


def _placement(users: int, quick: bool) -> Row:
    wishes, out = PLACE / "interests", PLACE / "placement"
    made = _child("interests", str(wishes), str(users))
    found = _child("placement", str(wishes), str(out))
    topics = {row["policy"]: row["topics"] for row in found["compared"]}
    said = (
        f"{found['users']:,} users with {made['rows']:,} wishes on {BROKERS:,} brokers: {found['seconds']:.0f} s, "
        f"{found['memory_gb']:.2f} GB; brokers want {topics['interest']:,} topics, {topics['static']:,} if users stay"
    )
    bar = INFORMATION if quick else 1.0
    for path in (wishes, out):
        shutil.rmtree(path)
    return Row(
        "pipeline.placement memory", f"{PLACEMENT_GB_MAX:g} GB", bar, PLACEMENT_GB_MAX / found["memory_gb"], said
    )


def _make_interests(out: str, users: str) -> dict[str, Any]:
    """Few topics are wanted by many, and many by few: the fourth power of an even draw."""
    from pyspark.sql import functions as F

    with _session() as spark:
        each = spark.range(int(users)).select(
            F.col("id").alias("user_id"), F.explode(F.sequence(F.lit(1), F.lit(WISHES))).alias("wish")
        )
        even = F.pmod(F.xxhash64(F.lit(SEED), "user_id", "wish"), F.lit(1 << 20)) / F.lit(float(1 << 20))
        topic = F.concat(F.lit("cell/"), F.floor(F.pow(even, F.lit(4.0)) * TOPICS).cast("string"))
        each.select("user_id", topic.alias("topic")).write.mode("overwrite").parquet(out)
        return {"rows": spark.read.parquet(out).count()}


def _measure_placement(interests: str, out: str) -> dict[str, Any]:
    import pyarrow.parquet as pq

    from reknit.pipeline.flows.placement import FLOW
    from reknit.pipeline.placement import Placing
    from reknit.pipeline.run import Order, run_flow

    with _session() as spark, _watching() as seen:
        begun = time.monotonic()
        report = run_flow(spark, Order(FLOW, Placing(brokers=BROKERS, seed=SEED), {"interests": interests}, out))
        seconds = time.monotonic() - begun
    users = next(step.rows for step in report.steps if step.name == "placed")
    compared = pq.read_table(Path(out) / "compared").to_pylist()
    return {"seconds": seconds, "users": users, "compared": compared, **asdict(seen)}


_PARTS = {
    "make": _make,
    "pandas": _measure_pandas,
    "spark": _measure_spark,
    "plan": _plan,
    "stream": _measure_stream,
    "interests": _make_interests,
    "placement": _measure_placement,
}


def main() -> None:
    """One part of it, in this process; the last line is JSON."""
    part, *words = sys.argv[1:]
    found = _PARTS[part](*words)
    sys.stdout.flush()
    os.write(1, (json.dumps(found) + "\n").encode())


if __name__ == "__main__":
    main()
