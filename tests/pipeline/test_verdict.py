"""By change and by subscriber; and what is too long to be judged is said."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from reknit.model.event import Event
from reknit.model.pattern import Pattern
from reknit.pipeline.read import look, read_table
from reknit.pipeline.trace import TRACE
from reknit.pipeline.verdict import Judged, changes, findings, moments, parasites, subscribers, verdicts
from reknit.trace.columns import to_table
from reknit.trace.records import Kind, Record
from reknit.trace.segments import write_segment

ALL = Pattern.parse("#")


def event(number: int) -> Event:
    return Event("t", source="b1.1", seq=number)


STORY = [
    Record(0.0, "b1", Kind.STARTED),
    Record(0.0, "b1", Kind.ATTACHED, client="c"),
    Record(0.0, "b1", Kind.SUBSCRIBED, client="c", pattern=ALL),
    Record(1.0, "", Kind.CALM),
    Record(2.0, "b1", Kind.CHANGE, peer="b2", detail="swap: start at the mover"),
    Record(2.5, "b1", Kind.PUBLISHED, client="p", event=event(1)),
    Record(3.0, "b1", Kind.CHANGE, peer="b3", detail="swap: done at the mover"),
    Record(4.0, "b1", Kind.PUBLISHED, client="p", event=event(2)),
    Record(4.0, "b1", Kind.DELIVERED, client="c", event=event(2)),
    Record(5.0, "b1", Kind.CHANGE, peer="b2", detail="add: start at the new one"),
    Record(5.1, "b1", Kind.DELIVERED, client="c", event=event(2)),
    Record(5.2, "b2", Kind.CHANGE, peer="b1", detail="add: connect at the neighbour"),
    Record(9.0, "", Kind.CALM),
]
"""The first event is lost while a link is swapped; the second comes twice, and its copy while a broker is added."""


def test_what_went_wrong_by_subscriber_and_by_change(spark: SparkSession, tmp_path: Path) -> None:
    write_segment(to_table(STORY), tmp_path / "run" / "node-all", 1)
    told = Judged(stretch_max=8)
    trace = read_table(spark, look(spark, str(tmp_path)), TRACE.schema, "trace")
    seen = moments(told, trace).localCheckpoint()
    found = findings(told, seen).localCheckpoint()
    by_client = {row["client"]: row.asDict() for row in subscribers(told, found).collect()}
    assert list(by_client) == ["c"]
    counts = ("owed", "delivered", "lost", "duplicated", "unwanted", "not_fifo", "not_causal")
    assert [by_client["c"][name] for name in counts] == [2, 2, 1, 1, 0, 0, 0]
    by_change = [row.asDict() for row in changes(told, seen, found).collect()]
    assert [(each["kind"], each["brokers"], each["steps"], each["lost"], each["duplicated"]) for each in by_change] == [
        ("swap", ["b1", "b2", "b3"], 2, 1, 0),
        ("add", ["b1", "b2"], 2, 0, 1),
    ]
    (verdict,) = verdicts(told, seen, found, parasites(told, seen)).collect()
    assert (verdict["published"], verdict["lost"], verdict["not_judged"]) == (2, 1, 0)
    unjudged = findings(Judged(stretch_max=7), seen).where("what = 'not judged'").collect()
    assert [(row["run"], row["count"]) for row in unjudged] == [("run", 8)]
