"""The trace as Spark reads it: its columns, its bad rows, and the place of each record in the history of its run.

Owns: the input that all flows over traces share, and the order of records. Must not know: what is asked of them.

Records of one node are in the order in which it wrote them, whatever its clock did: a record counts as no earlier than
the one before it. So a *place* is the latest time so far, the record's number and its node, and places of one run can
be compared wherever they are. That is the order in which ``reknit.trace.store`` reads a trace back.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from reknit.pipeline.flow import Gaps, Input, Layout, Parameters, Rule, columns
from reknit.trace.records import Kind

__all__ = ["PLACE", "TIME_S_MAX", "TRACE", "event_kinds", "place", "placed", "rules"]

PLACE = ("latest", "order", "node")
"""The columns of a place."""

TIME_S_MAX = 1e11
"""Three thousand years: no clock says more, and any window of it has a number."""

event_kinds = (Kind.PUBLISHED, Kind.FORWARDED, Kind.DELIVERED, Kind.SHARED, Kind.PASSED_ON, Kind.SETTLED)
"""Those that mean nothing without an event."""


def rules(parameters: Parameters) -> tuple[Rule, ...]:
    """A record that has no place in a history, or none that this version knows."""
    known = [kind.value for kind in Kind]
    events = [kind.value for kind in event_kinds]
    return (
        Rule("no time", F.col("time").isNull() | F.isnan("time")),
        Rule("impossible time", F.abs("time") > TIME_S_MAX),
        Rule("no order", F.col("order").isNull()),
        Rule("no node", F.col("node").isNull()),
        Rule("no kind", F.col("kind").isNull()),
        Rule("unknown kind", ~F.col("kind").isin(known)),
        Rule("no event", F.col("kind").isin(events) & (F.col("source").isNull() | F.col("topic").isNull())),
    )


TRACE = Input(
    name="trace",
    about="what the nodes of one or more networks saw: a directory with a trace, or with several",
    schema=columns(
        run="string",
        time="double",
        order="long",
        node="string",
        kind="string",
        peer="string",
        client="string",
        size="long",
        detail="string",
        source="string",
        seq="long",
        topic="string",
        payload_size="long",
        qos="int",
        attributes="string",
        properties="string",
        derived="string",
        content_type="string",
        pattern_topic="string",
        selector="string",
    ),
    rules=rules,
    layout=Layout.TRACE,
    gaps=Gaps(rows=lambda: F.col("kind") == Kind.UNTRACED.value, who="node", many="size"),
)


def placed(trace: DataFrame) -> DataFrame:
    """The same records, each with ``latest``."""
    written = Window.partitionBy("run", "node").orderBy("order")
    upto = written.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    return trace.withColumn("latest", F.max("time").over(upto))


def place() -> Column:
    """As one value that can be compared."""
    return F.struct(*PLACE)
