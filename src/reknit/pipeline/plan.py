"""From traces to what a plan of the tree rests on: which brokers events concern, the links there are, what swaps gain.

Owns: the transforms behind ``plan``, and gathering them for ``reknit.planning``. Must not know: how swaps are chosen,
or carried out.

What an event costs depends on the brokers it concerns, and not on the tree that it went over; so events that concern
the same brokers are one row, and a plan can be made for any tree.
"""

from __future__ import annotations

from typing import Annotated, Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from reknit.pipeline._judging.history import Entry, History
from reknit.pipeline.flow import BadFlow, Parameters, Part, columns, told
from reknit.pipeline.trace import PLACE, placed
from reknit.planning.gains import Flow, Gains
from reknit.planning.plan import Evidence, Plan, Rules, make_plan
from reknit.planning.tree import Link, NoTree, Tree
from reknit.trace.records import Kind

__all__ = ["ENDS", "FLOWS", "GAINS", "LINKS", "Planned", "flows", "gains", "gather", "links", "not_watched", "plan_of"]

FLOWS_MAX = 1_000_000
"""Different sets of brokers that events may concern; they are gathered in one place."""


class Planned(Parameters, frozen=True):
    since: Annotated[
        float, told("events published before this time are left out, in seconds as the trace has them")
    ] = 0.0
    until: Annotated[float, told("and those published from this time on; 0 for none")] = 0.0


FLOWS = columns(brokers="strings", events="long", first="double", last="double", records="long")
"""Events by the brokers that they concern: where they were published, and where they were delivered."""

ENDS = Part("publications and deliveries", lambda told: F.col("kind").isin(Kind.PUBLISHED.value, Kind.DELIVERED.value))


def flows(told: Planned, trace: DataFrame) -> DataFrame:
    watched = _events(told, trace, F.array_sort(F.collect_set("node")).alias("brokers")).where(_outside(told).isNull())
    counted = watched.groupBy("brokers").agg(
        F.count(F.lit(1)).alias("events"),
        F.min("time").alias("first"),
        F.max("time").alias("last"),
        F.sum("records").alias("records"),
    )
    return counted.select(*FLOWS.fieldNames())


def not_watched(told: Planned, trace: DataFrame) -> DataFrame:
    """The records of events that are in no flow."""
    others = _events(told, trace).withColumn("reason", _outside(told)).where(F.col("reason").isNotNull())
    counted = others.groupBy("reason").agg(F.sum("records").alias("rows"))
    return counted.select(F.lit("trace").alias("table"), "reason", "rows")


def _events(told: Planned, trace: DataFrame, *further: Column) -> DataFrame:
    published = F.min(F.when(F.col("kind") == Kind.PUBLISHED.value, F.col("time"))).alias("time")
    events = trace.where(ENDS.rows(told)).groupBy("run", "source", "seq")
    return events.agg(published, F.count(F.lit(1)).alias("records"), *further)


def _outside(told: Planned) -> Column:
    """Why an event is in no flow; null if it is in one."""
    time = F.col("time")
    late = time >= told.until if told.until else F.lit(False)
    return (
        F.when(time.isNull(), F.lit("deliveries of events whose publication the trace does not have"))
        .when(time < told.since, F.lit("records of events published too early"))
        .when(late, F.lit("records of events published too late"))
    )


LINKS = columns(one="string", other="string")
"""The tree as it is at the end of the trace."""

_TREE = (
    Kind.STARTED,
    Kind.CRASHED,
    Kind.LINK_ADDED,
    Kind.LINK_REMOVED,
    Kind.LINK_LOST,
    Kind.LINK_MOVED,
    Kind.LINK_HANDED,
    Kind.LINK_TAKEN,
)


def links(told: Planned, trace: DataFrame) -> DataFrame:
    rows = placed(trace.where(F.col("kind").isin([kind.value for kind in _TREE])))
    found = rows.select("run", *PLACE, "time", "kind", "peer", "detail").collect()
    if len({row["run"] for row in found}) > 1:
        raise BadFlow("a plan is for one network: give the trace of one run")
    entries = [
        Entry(
            (row["latest"], row["order"], row["node"]),
            row["time"],
            row["node"],
            row["kind"],
            row["peer"] or "",
            row["detail"] or "",
        )
        for row in sorted(found, key=lambda row: (row["latest"], row["order"], row["node"]))
    ]
    return trace.sparkSession.createDataFrame(History(entries).edges(), LINKS).select(*LINKS.fieldNames())


GAINS = columns(mover="string", middle="string", goal="string", gain="long")
"""Every possible swap of the tree, and the crossings of links that it saves."""


def gains(told: Planned, flows: DataFrame, links: DataFrame) -> DataFrame:
    tree = _tree(links)
    found = [(*swap, gain) for swap, gain in Gains(tree, _gathered(flows)[0]).all()]
    return flows.sparkSession.createDataFrame(found, GAINS).select(*GAINS.fieldNames())


def _tree(links: DataFrame) -> Tree:
    try:
        return Tree(_links(links))
    except NoTree as error:
        raise BadFlow(f"the trace does not show one whole tree at its end: {error}") from error


def _links(links: DataFrame) -> list[Link]:
    return [(row["one"], row["other"]) for row in links.collect()]


def _gathered(flows: DataFrame) -> tuple[list[Flow], list[Any]]:
    rows = flows.limit(FLOWS_MAX + 1).collect()
    if len(rows) > FLOWS_MAX:
        raise BadFlow(f"events concern more than {FLOWS_MAX:,} different sets of brokers; take a shorter time")
    in_order = sorted(rows, key=lambda row: row["brokers"])
    return [Flow(tuple(row["brokers"]), row["events"]) for row in in_order], in_order


def gather(flows: DataFrame, runs: list[str]) -> tuple[list[Flow], Evidence]:
    """What the planner needs of the table."""
    gathered, rows = _gathered(flows)
    seconds = max(row["last"] for row in rows) - min(row["first"] for row in rows) if rows else 0.0
    return gathered, Evidence(sum(flow.events for flow in gathered), len(gathered), seconds, runs)


def plan_of(flows: DataFrame, links: DataFrame, rules: Rules, runs: list[str]) -> Plan:
    """The plan that the two tables support."""
    gathered, evidence = gather(flows, runs)
    if not gathered:
        raise BadFlow("the trace has no event from which a plan could be made")
    return make_plan(_tree(links).links, gathered, evidence, rules)
