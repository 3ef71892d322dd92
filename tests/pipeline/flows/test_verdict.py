"""The verdict is that of the simulator's own checkers, case by case: to the event, the client and the moment."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from reknit.pipeline.flows.verdict import FLOW
from reknit.pipeline.run import Order, run_flow
from reknit.pipeline.verdict import Judged
from tests.pipeline.cases import BUGS, Case, planted, sound_and_tampered, write

SEED = 0
TALLIED = ("published", "delivered", "owed", "lost", "duplicated", "unwanted")


def words(row: dict[str, Any]) -> str:
    """A finding as the simulator's checkers would say it."""
    event, client, node = (row["source"], row["seq"]), row["client"], row["node"]
    way = f"over {row['hops']} links" if row["hops"] else "at its own broker"
    return {
        "lost": f"{event} ({row['topic']}) never reached {client} at {node} {way}",
        "duplicated": f"{event} was delivered to {client} at {node} twice",
        "unwanted": f"{event} was delivered to {client} at {node}, which does not want it",
        "not fifo": f"not FIFO: {client} at {node} saw {event}",
        "not causal": f"not causal: {client} at {node} saw {event} behind one that follows it",
        "in vain": f"{node} forwarded {event} to {client}, behind which nobody wants it",
        "crossed again": f"{event} crossed the link {node} - {client} again",
    }[row["what"]]


def judge(spark: SparkSession, cases: list[Case], directory: Path, lasting: bool) -> tuple[dict[str, Any], Any]:
    """By run what is wrong, and the verdicts."""
    for each in cases:
        write(each, directory / "runs")
    inputs = {"trace": str(directory / "runs")}
    report = run_flow(spark, Order(FLOW, Judged(lasting=lasting), inputs, str(directory / "out")))
    assert report.inputs[0].clean == sum(len(each.records) for each in cases)
    found: dict[str, Any] = {each.name: [] for each in cases}
    for row in pq.read_table(directory / "out" / "findings").to_pylist():
        if row["what"] not in ("owed", "delivered"):
            found[row["run"]].append((row["time"], words(row)))
    return found, {row["run"]: row for row in pq.read_table(directory / "out" / "verdicts").to_pylist()}


def vain(said: tuple[float, str]) -> bool:
    return "forwarded" in said[1] or "crossed the link" in said[1]


@pytest.mark.timeout(600)
def test_it_is_the_verdict_of_the_simulator_case_by_case(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = [*sound_and_tampered(SEED), *planted(monkeypatch)]
    kinds: Counter[str] = Counter()
    for lasting in (False, True):
        some = [each for each in cases if each.lasting is lasting]
        found, verdicts = judge(spark, some, tmp_path / str(lasting), lasting)
        for each in some:
            mine = sorted(said for said in found[each.name] if not (each.flooding and vain(said)))
            assert mine == each.said, each.name
            verdict, tally = verdicts[each.name], each.tally
            assert {name: verdict[name] for name in TALLIED} == {name: getattr(tally, name) for name in TALLIED}
            kinds.update({name: verdict[name] for name in ("lost", "duplicated", "unwanted", "not_fifo", "not_causal")})
            kinds.update({name: verdict[name] for name in ("in_vain", "crossed_again") if not each.flooding})
    assert all(kinds[name] for name in ("lost", "duplicated", "unwanted", "not_fifo", "not_causal", "in_vain"))
    assert sum(1 for each in cases if not each.said) >= 4  # the runs that nobody has spoiled
    assert sum(1 for each in cases if each.name.startswith("planted")) == len(BUGS)
