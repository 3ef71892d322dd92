"""From a trace to a plan of some kind, on Spark.

Owns: which flows are run for which kind, and in which order. Must not know: how plans are printed or carried out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from reknit.pipeline.flow import Flow, Parameters
from reknit.pipeline.flows import placement, plan, ring, wishes
from reknit.pipeline.mapping import Mapped, ring_plan_of
from reknit.pipeline.placement import Placing, placement_plan_of
from reknit.pipeline.plan import Planned, plan_of
from reknit.pipeline.report import not_read
from reknit.pipeline.run import Order, run_flow
from reknit.pipeline.session import Place, session
from reknit.pipeline.wishes import Wished
from reknit.planning.files import AnyPlan
from reknit.planning.placement_plan import PlacementRules
from reknit.planning.plan import Plan, Rules
from reknit.planning.ring_plan import RingRules

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Source", "make_any"]

EXCHANGES = 2_000
"""How often brokers learn of each other while clients are placed: after each, where there are no more than that."""


@dataclass(frozen=True, slots=True)
class Source:
    traces: str
    tables: str
    """Where tables go."""
    since: float
    master: str
    remote: str
    allow_gaps: bool
    say: Callable[[str], None]
    """What of the trace could not be read, a line each: the plan rests on the others."""


def make_any(source: Source, rules: Rules | RingRules | PlacementRules) -> AnyPlan:
    """The kind of plan that these are the rules for."""
    with session(Place(source.master, source.remote, name="reknit plan")) as spark:
        match rules:
            case Rules():
                return _tree(spark, source, rules)
            case RingRules():
                return _ring(spark, source, rules)
            case PlacementRules():
                return _placement(spark, source, rules)


def _tree(spark: SparkSession, source: Source, rules: Rules) -> Plan:
    _read_trace(spark, source, plan.FLOW, Planned(source.since), source.tables)
    flows, links, wanted = _read(spark, source.tables, "flows", "links", "wanted")
    return plan_of(flows, links, wanted, rules)


def _ring(spark: SparkSession, source: Source, rules: RingRules) -> AnyPlan:
    needed = ("network", "wants", "rates")
    inputs = _wishes(spark, source, needed)
    out, told = f"{source.tables}/ring", Mapped(delay_weight=rules.delay_weight)
    run_flow(spark, Order(ring.FLOW, told, inputs, out, only=("needs",)))
    (needs,) = _read(spark, out, "needs")
    network, rates = (spark.read.parquet(inputs[name]) for name in ("network", "rates"))
    return ring_plan_of(needs, network.where("id IS NOT NULL"), rates, rules)


def _placement(spark: SparkSession, source: Source, rules: PlacementRules) -> AnyPlan:
    inputs = _wishes(spark, source, ("network", "homes", "interests"))
    clients = spark.read.parquet(inputs["homes"]).count()
    rules = msgspec.structs.replace(rules, update=max(1, clients // EXCHANGES))
    told = Placing(
        clusters=rules.clusters,
        load_weight=rules.load_weight,
        similarity=rules.similarity,
        gain_min=rules.gain_min,
        rounds=rules.rounds,
        own_topics=rules.own_topics,
        update=rules.update,
        seed=rules.seed,
    )
    out = f"{source.tables}/placement"
    run_flow(spark, Order(placement.FLOW, told, inputs, out))
    placed, users, named, moves = _read(spark, out, "placed", "users", "named", "moves")
    return placement_plan_of(placed, users, named, moves, rules)


def _wishes(spark: SparkSession, source: Source, names: tuple[str, ...]) -> dict[str, str]:
    out = f"{source.tables}/wishes"
    _read_trace(spark, source, wishes.FLOW, Wished(source.since), out, names)
    return {name: f"{out}/{name}" for name in names}


def _read_trace(
    spark: SparkSession, source: Source, flow: Flow, told: Parameters, out: str, only: tuple[str, ...] = ()
) -> None:
    order = Order(flow, told, {"trace": source.traces}, out, only=only, allow_gaps=source.allow_gaps)
    for each in run_flow(spark, order).inputs:
        for line in not_read(each):
            source.say(line)


def _read(spark: SparkSession, where: str, *names: str) -> list[DataFrame]:
    return [spark.read.parquet(f"{where}/{name}") for name in names]
