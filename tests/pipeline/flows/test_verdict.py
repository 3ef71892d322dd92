"""The verdict is that of the simulator's own checkers, case by case: to the event, the client and the moment.

In two steps, since Spark is slow to start with small things: the judges, fed by plain loops, say what the checkers say,
in many runs; and the flow, which cuts the records for them on Spark, says what they say, in a few.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from reknit.core.routing.table import GROUPS
from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.pipeline._judging.account import Finding
from reknit.pipeline.flows.verdict import FLOW
from reknit.pipeline.report import Report, RowsLost
from reknit.pipeline.run import Order, run_flow
from reknit.pipeline.verdict import WRONG, Judged
from reknit.trace.columns import to_table
from reknit.trace.records import Kind, Record
from reknit.trace.segments import write_segment
from tests.pipeline.cases import BUGS, Case, planted, sound_and_tampered, write
from tests.pipeline.plain import judge

SEED = 0
IN_VAIN = ("in vain", "crossed again")
ON_SPARK = ("crashes-0-tampered", "homes-0-tampered", "groups-0", "planted-flood-when-the-topic-is-short")


def words(finding: Finding) -> str:
    """As the simulator's checkers would say it."""
    event, client, node = (finding.source, finding.seq), finding.client, finding.node
    way = f"over {finding.hops} links" if finding.hops else "at its own broker"
    return {
        "lost": f"{event} ({finding.topic}) never reached {client} at {node} {way}",
        "duplicated": f"{event} was delivered to {client} at {node} twice",
        "unwanted": f"{event} was delivered to {client} at {node}, which does not want it",
        "not fifo": f"not FIFO: {client} at {node} saw {event}",
        "not causal": f"not causal: {client} at {node} saw {event} behind one that follows it",
        "in vain": f"{node} forwarded {event} to {client}, behind which nobody wants it",
        "crossed again": f"{event} crossed the link {node} - {client} again",
    }[finding.what]


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    with pytest.MonkeyPatch.context() as patch:
        return [*sound_and_tampered(SEED), *planted(patch)]


def test_the_judges_say_what_the_checkers_say(cases: list[Case]) -> None:
    kinds: Counter[str] = Counter()
    for each in cases:
        looked: Counter[str] = Counter()
        wrong = []
        for finding in judge(each.records, each.lasting):
            looked[finding.what] += finding.many
            if finding.what in WRONG and not (each.flooding and finding.what in IN_VAIN):
                wrong.append((finding.time, words(finding)))
                kinds[finding.what] += 1
        assert sorted(wrong) == each.said, each.name
        tallied = ("owed", "delivered", "lost", "duplicated", "unwanted")
        assert {name: looked[name] for name in tallied} == {name: getattr(each.tally, name) for name in tallied}
    assert all(kinds[what] for what in WRONG if what != "crossed again")
    assert sum(1 for each in cases if not each.said) >= 4  # the runs that nobody has spoiled
    assert sum(1 for each in cases if each.name.startswith("planted")) == len(BUGS)


def test_the_flow_says_what_the_judges_say(spark: SparkSession, tmp_path: Path, cases: list[Case]) -> None:
    """As if all of them had stores, which makes a difference where brokers crash."""
    some = [each for each in cases if each.name in ON_SPARK]
    assert len(some) == len(ON_SPARK)
    for each in some:
        write(each, tmp_path / "runs")
    inputs = {"trace": str(tmp_path / "runs")}
    report = run_flow(spark, Order(FLOW, Judged(lasting=True), inputs, str(tmp_path / "out")))
    assert report.inputs[0].clean == sum(len(each.records) for each in some)
    found = pq.read_table(tmp_path / "out" / "findings").to_pylist()
    verdicts = {row["run"]: row for row in pq.read_table(tmp_path / "out" / "verdicts").to_pylist()}
    for each in some:
        wanted = list(judge(each.records, lasting=True))
        assert Counter(_finding(row) for row in found if row["run"] == each.name) == Counter(wanted), each.name
        counted: Counter[str] = Counter()
        for finding in wanted:
            counted[finding.what.replace(" ", "_")] += finding.many
        published = {"published": each.tally.published, "not_judged": 0}
        assert {name: count for name, count in verdicts[each.name].items() if count and name != "run"} == {
            name: count for name, count in {**counted, **published}.items() if count
        }
    crashes = next(each for each in some if each.name.startswith("crashes"))
    assert Counter(judge(crashes.records, lasting=True)) != Counter(judge(crashes.records, lasting=False))


def _finding(row: dict[str, Any]) -> Finding:
    return Finding(*(row[name] for name in ("what", *Finding._fields[1:-1])), many=row["count"])


ALL = Pattern.parse("#")
EVENT = Event("t", source="b1.1", seq=1)
STORY = [
    Record(0.0, "b1", Kind.ATTACHED, client="c"),
    Record(0.0, "b1", Kind.SUBSCRIBED, client="c", pattern=ALL),
    Record(1.0, "b1", Kind.PUBLISHED, client="p", event=EVENT),
    Record(2.0, "b1", Kind.DELIVERED, client="c", event=EVENT),
    Record(2.0, "b1", Kind.DELIVERED, client="c", event=EVENT),
    Record(2.0, "b1", Kind.DELIVERED, client=f"{GROUPS}g", event=EVENT),
]


def judged(spark: SparkSession, tmp_path: Path, records: list[Record], orders: list[int]) -> Report:
    write_segment(to_table(records, orders), tmp_path / "run" / "node-b1", 1)
    inputs = {"trace": str(tmp_path / "run")}
    return run_flow(spark, Order(FLOW, Judged(), inputs, str(tmp_path / "out"), only=("findings",)))


def test_each_delivery_is_in_the_findings(spark: SparkSession, tmp_path: Path) -> None:
    report = judged(spark, tmp_path / "sound", STORY, [1, 2, 3, 4, 5, 6])
    assert [(step.name, step.carried) for step in report.steps] == [("moments", 6), ("findings", 2)]
    with pytest.raises(RowsLost, match="findings: moments has 2 deliveries to clients, and its own stand for 1"):
        judged(spark, tmp_path / "same place", STORY, [1, 2, 3, 4, 4, 6])


def test_a_trace_with_gaps_gets_no_verdict(spark: SparkSession, tmp_path: Path) -> None:
    """It would say that nothing was lost. Where that is allowed, it says that there is something it has not seen."""
    gap = Record(3.0, "b1", Kind.UNTRACED, size=7, detail="full")
    with pytest.raises(RowsLost, match=r"records are missing in it \(b1: 7\)"):
        judged(spark, tmp_path, [*STORY, gap], [1, 2, 3, 4, 5, 6, 7])
    inputs, out = {"trace": str(tmp_path / "run")}, str(tmp_path / "out")
    run_flow(spark, Order(FLOW, Judged(), inputs, out, only=("verdicts",), allow_gaps=True))
    (row,) = pq.read_table(tmp_path / "out" / "verdicts").to_pylist()
    assert (row["lost"], row["not_judged"]) == (0, 1)
