"""From traces to what a plan of the tree rests on: which brokers events concern, the links there are,
what brokers' clients want, and what swaps gain.

Owns: the transforms behind ``plan``, and gathering them for ``reknit.planning``. Must not know: how swaps are chosen,
or carried out.

What an event costs depends on the brokers it concerns, and not on the tree that it went over; so events that concern
the same brokers are one row, and a plan can be made for any tree.
"""

from __future__ import annotations

from typing import Annotated, Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from reknit.model.pattern import Pattern
from reknit.pipeline._judging.history import Entry, History
from reknit.pipeline.flow import BadFlow, Parameters, Part, columns, told
from reknit.pipeline.trace import PLACE, placed
from reknit.pipeline.traffic import held, is_kind
from reknit.planning.gains import Flow, Gains
from reknit.planning.plan import Evidence, Plan, Rules, make_plan
from reknit.planning.tree import Link, NoTree, Tree
from reknit.trace.records import Kind

__all__ = ["ENDS", "FLOWS", "GAINS", "LINKS", "WANTED", "Planned", "flows", "gains", "gather", "gather_wanted", "links"]
__all__ += ["not_watched", "plan_of", "wanted"]

FLOWS_MAX = 1_000_000
"""Different sets of brokers that events may concern; they are gathered in one place."""
WANTED_MAX = 1_000_000
"""Different subscriptions of brokers, gathered likewise."""


class Planned(Parameters, frozen=True):
    since: Annotated[
        float, told("events published before this time are left out, in seconds as the trace has them")
    ] = 0.0
    until: Annotated[float, told("and those published from this time on; 0 for none")] = 0.0


FLOWS = columns(
    brokers="strings",
    events="long",
    first="double",
    last="double",
    records="long",
    crossed="long",
    crossed_bytes="long",
)
"""Events by the brokers that they concern: where they were published, and where they were delivered.

``crossed``: how often they crossed links; that depends on the tree that there was.
"""

ENDS = Part("publications and deliveries", lambda told: F.col("kind").isin(Kind.PUBLISHED.value, Kind.DELIVERED.value))


def flows(told: Planned, trace: DataFrame) -> DataFrame:
    watched = _events(told, trace, _concerned(), *_crossed()).where(_outside(told).isNull())
    counted = watched.groupBy("brokers").agg(
        F.count(F.lit(1)).alias("events"),
        F.min("time").alias("first"),
        F.max("time").alias("last"),
        *(F.sum(name).alias(name) for name in ("records", "crossed", "crossed_bytes")),
    )
    return counted.select(*FLOWS.fieldNames())


def _concerned() -> Column:
    ends = F.when(is_kind(Kind.PUBLISHED, Kind.DELIVERED), F.col("node"))
    return F.array_sort(F.collect_set(ends)).alias("brokers")


def _crossed() -> tuple[Column, Column]:
    size = F.when(is_kind(Kind.FORWARDED), F.col("size")).otherwise(0)
    return F.count_if(is_kind(Kind.FORWARDED)).alias("crossed"), F.sum(size).alias("crossed_bytes")


def not_watched(told: Planned, trace: DataFrame) -> DataFrame:
    """The records of events that are in no flow."""
    others = _events(told, trace).withColumn("reason", _outside(told)).where(F.col("reason").isNotNull())
    counted = others.groupBy("reason").agg(F.sum("records").alias("rows"))
    return counted.select(F.lit("trace").alias("table"), "reason", "rows")


def _events(told: Planned, trace: DataFrame, *further: Column) -> DataFrame:
    """Those of which more is known than that they have crossed links."""
    published = F.min(F.when(F.col("kind") == Kind.PUBLISHED.value, F.col("time"))).alias("time")
    events = trace.where(ENDS.rows(told) | is_kind(Kind.FORWARDED)).groupBy("run", "source", "seq")
    counted = events.agg(published, F.count_if(ENDS.rows(told)).alias("records"), *further)
    return counted.where(F.col("records") > 0)


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


WANTED = columns(broker="string", pattern_topic="string", selector="string")
"""What the clients of each broker want at the end: the tables that would travel in a swap are made of it."""


def wanted(told: Planned, trace: DataFrame) -> DataFrame:
    rows = held(trace).withColumn("broker", F.col("node"))
    return rows.select(*WANTED.fieldNames()).distinct()


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


def gather(flows: DataFrame) -> tuple[list[Flow], Evidence]:
    """What the planner needs of the table."""
    gathered, rows = _gathered(flows)
    first = min((row["first"] for row in rows), default=0.0)
    seconds = max((row["last"] for row in rows), default=0.0) - first
    crossed, size = (sum(row[name] or 0 for row in rows) for name in ("crossed", "crossed_bytes"))
    events = sum(flow.events for flow in gathered)
    return gathered, Evidence(events, len(gathered), seconds, first, round(size / crossed) if crossed else 0)


def gather_wanted(wanted: DataFrame) -> dict[str, list[Pattern]]:
    rows = wanted.limit(WANTED_MAX + 1).collect()
    if len(rows) > WANTED_MAX:
        raise BadFlow(f"brokers' clients have more than {WANTED_MAX:,} different subscriptions: too many to plan with")
    found: dict[str, list[Pattern]] = {}
    for row in rows:
        found.setdefault(row["broker"], []).append(Pattern(row["pattern_topic"], row["selector"] or ""))
    return {broker: sorted(found[broker]) for broker in sorted(found)}


def plan_of(flows: DataFrame, links: DataFrame, wanted: DataFrame, rules: Rules) -> Plan:
    """The plan that the three tables support."""
    gathered, evidence = gather(flows)
    if not gathered:
        raise BadFlow("the trace has no event from which a plan could be made")
    return make_plan(_tree(links).links, gathered, evidence, rules, wanted=gather_wanted(wanted))
