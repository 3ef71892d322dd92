"""Watching a network after a plan was carried out: what is measured, beside what was predicted.

Owns: the time that is watched, what is read of the trace, and what is kept beside the plan. Must not know: what a plan
of some kind is measured by (``reknit.planning.result``).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec
import typer

from reknit.cli._changes.run import Afterwards
from reknit.cli._crossings import crossings_in
from reknit.cli._plans.keep import write
from reknit.planning.notified import Journey, notified
from reknit.planning.plan import Plan
from reknit.planning.result import Result, compare, compare_ring
from reknit.planning.ring_plan import RingPlan
from reknit.trace.records import Kind
from reknit.trace.writer import FLUSH_S_MAX

__all__ = ["Watch", "journeys_in", "watch_ring", "watch_tree"]

_COLUMNS = ("time", "kind", "node", "peer", "source", "seq", "topic")


@dataclass(frozen=True, slots=True)
class Watch:
    """Where to measure what was saved, for how long, and how far off is a surprise."""

    trace: str
    seconds: float
    surprise: float

    @property
    def wanted(self) -> bool:
        return bool(self.trace and self.seconds)


def watch_tree(plan: Plan, file: str, watch: Watch) -> Afterwards:
    def measure(begin: float, end: float) -> Result:
        found = crossings_in(Path(watch.trace), begin, end)
        return compare(plan, found.events, found.crossed)

    return _watched(watch, file, measure)


def watch_ring(plan: RingPlan, file: str, watch: Watch) -> Afterwards:
    def measure(begin: float, end: float) -> Result:
        seen = journeys_in(Path(watch.trace), begin, end)
        return compare_ring(plan, notified(plan.after, seen, plan.rules.delay_weight))

    return _watched(watch, file, measure)


def _watched(watch: Watch, file: str, measure: Callable[[float, float], Result]) -> Afterwards:
    begin = time.time()
    typer.echo(f"watching {watch.trace} for {watch.seconds:g} s: what was saved? ...", err=True)
    time.sleep(watch.seconds)
    end = time.time()
    time.sleep(2 * FLUSH_S_MAX)  # until the last of it is written
    result = measure(begin, end)
    write(f"{file}.result.json", msgspec.json.format(msgspec.json.encode(result), indent=2) + b"\n")
    surprise = result.surprise(watch.surprise)
    said = [result.said] + ([f"a surprise: {surprise}; go back with: reknit plan undo {file}"] if surprise else [])
    return Afterwards({"result": msgspec.to_builtins(result), "surprise": surprise}, said, bool(surprise))


def journeys_in(trace: Path, begin: float, end: float) -> list[Journey]:
    """The ways of all events that were published in between; only what is later than ``begin`` is read."""
    import pyarrow.dataset as ds

    files = sorted(str(path) for path in trace.glob("node-*/*.parquet"))
    if not files:
        return []
    kinds = [Kind.PUBLISHED.value, Kind.FORWARDED.value, Kind.DELIVERED.value]
    wanted = (ds.field("time") >= begin) & ds.field("kind").isin(kinds)
    table = ds.dataset(files, format="parquet").to_table(columns=list(_COLUMNS), filter=wanted)
    rows = list(zip(*(table[name].to_pylist() for name in _COLUMNS), strict=True))
    found = {
        (source, seq): Journey(topic, node)
        for at, kind, node, _, source, seq, topic in rows
        if kind == Kind.PUBLISHED.value and at <= end
    }
    for _, kind, node, peer, source, seq, _ in rows:
        if (journey := found.get((source, seq))) is None:
            continue
        if kind == Kind.FORWARDED.value:
            journey.hops.append((node, peer))
        elif kind == Kind.DELIVERED.value:
            journey.delivered.append(node)
    return list(found.values())
