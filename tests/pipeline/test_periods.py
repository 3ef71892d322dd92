"""``reknit adapt`` over a trace on Spark: what it reads of it, and that trouble with it is trouble of one period."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from reknit.cli.adapt import _Order, _period, _watched
from reknit.model.event import Event
from reknit.planning.adapt import Adapter
from reknit.planning.plan import Evidence, Rules, make_plan
from reknit.trace.columns import to_table
from reknit.trace.records import Kind, Record
from reknit.trace.segments import write_segment

DAY_S = 86_400.0


def order(where: Path) -> _Order:
    """Nobody answers at its doors."""
    doors = ["http://127.0.0.1:9"]
    return _Order(str(where / "trace"), str(where / "tables"), "", 60.0, 0, dry_run=False, admin=doors, as_json=True)


def said(capfd: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capfd.readouterr().out.splitlines()]


def write(where: Path, number: int, at: float) -> None:
    """A segment of ten events, as old as they are."""
    events = [Event("t", source=f"b1.{number}", seq=each) for each in range(10)]
    records = [Record(at, "b1", Kind.PUBLISHED, client="p", event=event) for event in events]
    records += [Record(at, "b1", Kind.FORWARDED, peer="b2", event=event, size=100) for event in events]
    home = where / "trace" / "node-b1"
    write_segment(to_table(records), home, number)
    os.utime(home / f"segment-{number:08}.parquet", (at, at))


def test_a_period_reads_only_what_was_written_since_it_began(spark: SparkSession, tmp_path: Path) -> None:
    now = time.time()
    for number, at in enumerate((now - DAY_S, now - DAY_S / 2, now), 1):
        write(tmp_path, number, at)
    flows, evidence, missing = _watched(spark, order(tmp_path), now - 1.0, now + 1.0)
    assert missing == 0
    assert [(flow.brokers, flow.events) for flow in flows] == [(("b1",), 10)]
    assert evidence == Evidence(10, 1, 0.0, now, event_bytes=100)
    report = json.loads((tmp_path / "tables" / "report.json").read_text())
    assert (report["inputs"][0]["files"], report["inputs"][0]["rows"]) == (1, 20)


def test_what_is_missing_is_missing_in_one_period(spark: SparkSession, tmp_path: Path) -> None:
    """Of the two segments both are read, since clocks may differ; what the first lacks is of the period before."""
    now = time.time()
    for number, at in enumerate((now - 10.0, now), 1):
        write(tmp_path, number, at)
        gap = Record(at, "b1", Kind.UNTRACED, size=7 * number, detail="the queue was full")
        write_segment(to_table([gap]), tmp_path / "trace" / "node-b1", 10 * number)
    assert _watched(spark, order(tmp_path), now - 1.0, now + 1.0)[2] == 14
    assert _watched(spark, order(tmp_path), now + 1.0, now + 2.0)[2] == 0


def test_trouble_with_the_trace_is_trouble_of_that_period(
    spark: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """There is no trace yet; then an empty one; then no room for tables, twice; then no broker answers; then a
    segment is broken, so that it is not known what the period has carried."""
    now, adapter = time.time(), Adapter()
    adapter.pending = make_plan([("a", "b")], [], Evidence(0, 0, 0.0), Rules())
    capfd.readouterr()
    _period(spark, adapter, order(tmp_path), now - 1.0, now + 1.0)
    assert adapter.pending is None
    (tmp_path / "trace").mkdir()
    _period(spark, adapter, order(tmp_path), now - 1.0, now + 1.0)
    (tmp_path / "tables").write_text("in the way")
    write(tmp_path, 1, now)
    _period(spark, adapter, order(tmp_path), now - 1.0, now + 1.0)
    (tmp_path / "tables").unlink()
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "quarantine").write_text("in Spark's way")
    _period(spark, adapter, order(tmp_path), now - 1.0, now + 1.0)
    (tmp_path / "tables" / "quarantine").unlink()
    _period(spark, adapter, order(tmp_path), now - 1.0, now + 1.0)
    (tmp_path / "trace" / "node-b1" / "segment-00000002.parquet").write_text("cut off")
    _period(spark, adapter, order(tmp_path), now - 1.0, now + 1.0)
    lines = said(capfd)
    assert [line["period"] for line in lines] == [1, 2, 3, 4, 5, 6]
    assert "there is nothing to read" in lines[0]["trouble"]
    assert "there is no new Parquet file" in lines[1]["trouble"]
    assert all("no answer" not in line["trouble"] for line in lines[2:4])
    assert "no answer from this broker" in lines[4]["trouble"]
    assert "1 segments of the trace cannot be read" in lines[5]["trouble"]
