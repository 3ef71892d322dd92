"""From traces to what a plan of the tree rests on: which brokers events concern, the links there are, what swaps gain.

Owns: the transforms behind ``plan``, and gathering them for ``reknit.planning``. Must not know: how swaps are chosen,
or carried out.

What an event costs depends on the brokers it concerns, and not on the tree that it went over; so events that concern
the same brokers are one row, and a plan can be made for any tree.
"""

from __future__ import annotations

from typing import Annotated, Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from reknit.pipeline._judging.history import Entry, History
from reknit.pipeline.flow import BadFlow, Parameters, columns, told
from reknit.pipeline.trace import PLACE, placed
from reknit.planning.gains import Flow, Gains
from reknit.planning.plan import Evidence, Plan, Rules, make_plan
from reknit.planning.tree import Link, NoTree, Tree
from reknit.trace.records import Kind

__all__ = ["FLOWS", "GAINS", "LINKS", "Planned", "flows", "gains", "gather", "links", "plan_of"]

FLOWS_MAX = 1_000_000
"""Different sets of brokers that events may concern; they are gathered in one place."""


class Planned(Parameters, frozen=True):
    since: Annotated[
        float, told("events published before this time are left out, in seconds as the trace has them")
    ] = 0.0
    until: Annotated[float, told("and those published from this time on; 0 for none")] = 0.0


FLOWS = columns(brokers="strings", events="long", first="double", last="double")
"""Events by the brokers that they concern: where they were published, and where they were delivered."""


def flows(told: Planned, trace: DataFrame) -> DataFrame:
    event = ("run", "source", "seq")
    rows = trace.where(F.col("kind").isin(Kind.PUBLISHED.value, Kind.DELIVERED.value))
    concerned = rows.groupBy(*event).agg(
        F.array_sort(F.collect_set("node")).alias("brokers"),
        F.min(F.when(F.col("kind") == Kind.PUBLISHED.value, F.col("time"))).alias("time"),
    )
    watched = concerned.where(F.col("time") >= told.since)
    if told.until:
        watched = watched.where(F.col("time") < told.until)
    counted = watched.groupBy("brokers")
    return counted.agg(
        F.count(F.lit(1)).alias("events"), F.min("time").alias("first"), F.max("time").alias("last")
    ).select(*FLOWS.fieldNames())


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
