"""Something to run for each flow, as small as it may be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from reknit.trace.columns import to_table
from reknit.trace.segments import write_segment
from tests.pipeline.flows.test_plan import LINE, cluster, talk
from tests.pipeline.tables import at, write_checkins

Made = tuple[dict[str, str], dict[str, str]]
"""Inputs by name, and what the flow is told."""


def _table(path: Path, rows: list[dict[str, Any]]) -> str:
    pq.write_table(pa.Table.from_pylist(rows), path)
    return str(path)


def _trace(directory: Path) -> Made:
    network = cluster(LINE)
    talk(network)
    write_segment(to_table(network.records), directory / "run" / "node-all", 1)
    return {"trace": str(directory / "run")}, {}


def _placement(directory: Path) -> Made:
    rows = [{"user_id": user, "topic": f"t{user % 3}"} for user in range(12)]
    return {"interests": _table(directory / "interests.parquet", rows)}, {"brokers": "4", "cluster": "2"}


def _ring(directory: Path) -> Made:
    wants = [{"broker": f"b{number}", "topic": f"t{number % 2}"} for number in range(4)]
    rates = [{"topic": f"t{number}", "events": 10.0 * number} for number in range(3)]
    inputs = {"wants": _table(directory / "wants.parquet", wants), "rates": _table(directory / "rates.parquet", rates)}
    return inputs, {"trials": "10"}


def _subscriptions(directory: Path) -> Made:
    stays = [(1, 1, at(0), 3600.0), (1, 2, at(1), None), (2, 1, at(0), 90_000.0), (2, 3, at(25), None)]
    visits = [dict(zip(("user_id", "cell", "start", "linger_s"), stay, strict=True)) for stay in stays]
    edges = _table(directory / "edges.parquet", [{"u": 1, "v": 2}])
    return {"visits": _table(directory / "visits.parquet", visits), "edges": edges}, {}


def _synthesize(directory: Path) -> Made:
    return {}, {"scale": "0.0005"}


def _visits(directory: Path) -> Made:
    return {"checkins": str(write_checkins(directory / "checkins.parquet"))}, {}


TINY: dict[str, Callable[[Path], Made]] = {
    "backtest": _trace,
    "placement": _placement,
    "plan": _trace,
    "ring": _ring,
    "subscriptions": _subscriptions,
    "synthesize": _synthesize,
    "traffic": _trace,
    "verdict": _trace,
    "visits": _visits,
    "wishes": _trace,
}
