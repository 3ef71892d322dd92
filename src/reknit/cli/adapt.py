"""``reknit adapt``: watch, plan, and change the tree by itself, period after period, where it pays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reknit.cli._flags import AdminFlag, JsonFlag

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from reknit.cli._operator import Operator
    from reknit.model.pattern import Pattern
    from reknit.planning.adapt import Adapter, Decision
    from reknit.planning.gains import Flow
    from reknit.planning.plan import Evidence, Plan
    from reknit.planning.tree import Link

__all__ = ["adapt", "register"]

CLOCKS_S_MAX = 60.0
"""How far the clock of a file system may be behind those of brokers: segments that old are read, too."""
TROUBLE_CHARS_MAX = 300


def register(app: typer.Typer) -> None:
    app.command("adapt", short_help="Change the tree by itself where it pays, period after period.")(adapt)


@dataclass(frozen=True, slots=True)
class _Order:
    trace: str
    tables: str
    state: str
    period_s: float
    periods: int
    dry_run: bool
    admin: list[str]
    as_json: bool


def adapt(
    trace: Annotated[str, typer.Option(metavar="DIR", help="The network's trace, which it is writing.")],
    period_s: Annotated[float, typer.Option("--period-s", min=1.0, help="How long each period is.")] = 60.0,
    periods: Annotated[int, typer.Option(min=0, help="End after so many; 0 for never.")] = 0,
    rest: Annotated[int, typer.Option(min=0, help="Periods without a change after one.")] = 3,
    memory: Annotated[int, typer.Option(min=0, help="Periods for which a link given up is not taken up again.")] = 100,
    share_min: Annotated[float, typer.Option(min=0.0, max=1.0, help="What a change has to save of all.")] = 0.1,
    degree_max: Annotated[int, typer.Option(min=2, help="Neighbours that a broker may have.")] = 6,
    state: Annotated[str, typer.Option(metavar="FILE", help="What it remembers, for when it is started again.")] = "",
    tables: Annotated[str, typer.Option(metavar="DIR", help="Where tables go.")] = "out/pipeline/adapt",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it would do; change nothing.")] = False,
    master: Annotated[str, typer.Option(help="Spark's master, as local[2].")] = "",
    remote: Annotated[str, typer.Option(help="A server of Spark Connect, as sc://host:15002.")] = "",
    admin: AdminFlag = [],  # noqa: B006
    as_json: JsonFlag = False,
) -> None:
    """Change the tree by itself: at the end of each period a plan is made from what the trace saw, and it is carried
    out if in two periods running it saves more until the next change than it takes. Then there is a rest, and a link
    that was given up is not taken up again for long, so a workload that swings moves nothing to and fro. A period of
    which nothing can be read, or in which a broker does not answer, is said and passed over.

    Example: reknit adapt --trace trace --period-s 60
    """
    from reknit.cli.pipeline import with_spark
    from reknit.planning.adapt import Adapter, Patience
    from reknit.planning.plan import Rules

    adapter = Adapter(Rules(degree_max=degree_max), Patience(share_min=share_min, rest=rest, memory=memory))
    order = _Order(trace, tables, state, period_s, periods, dry_run, admin, as_json)
    _recall(adapter, state)
    with with_spark():
        from reknit.pipeline.session import Place, session

        with session(Place(master, remote, name="reknit adapt")) as spark:
            _go_on(spark, adapter, order)


def _recall(adapter: Adapter, state: str) -> None:
    from pathlib import Path

    from reknit.cli._problem import BadInput
    from reknit.planning.adapt import BadMemory

    if not state:
        return
    if not Path(state).parent.is_dir():
        raise BadInput(f"--state {state}: there is no directory {Path(state).parent}")
    try:
        if Path(state).exists():
            adapter.recall(Path(state).read_bytes())
    except (OSError, BadMemory) as error:
        raise BadInput(f"--state {state}: {getattr(error, 'strerror', None) or error}") from error


def _go_on(spark: SparkSession, adapter: Adapter, order: _Order) -> None:
    import time

    from reknit.trace.writer import FLUSH_S_MAX

    begin, done = time.time(), 0
    if not order.as_json:
        typer.echo(f"watching {order.trace}; the first period ends in {order.period_s:g} s", err=True)
    while not order.periods or done < order.periods:
        end = begin + order.period_s
        time.sleep(max(0.0, end + 2 * FLUSH_S_MAX - time.time()))  # until the last of it is written
        _period(spark, adapter, order, begin, end)
        begin, done = end, done + 1


def _period(spark: SparkSession, adapter: Adapter, order: _Order, begin: float, end: float) -> None:
    """Trouble with the trace, the disk, or Spark is trouble of this period: the next one may be better."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    from reknit.pipeline.flow import BadFlow
    from reknit.pipeline.report import RowsLost

    try:
        flows, evidence, missing = _watched(spark, order, begin, end)
        if missing:  # what the period has carried is not known then
            raise BadFlow(f"{missing:,} records are missing in the trace, as it says itself")
    except (BadFlow, RowsLost, PySparkException, Py4JError, OSError) as trouble:
        _miss(adapter, order, " ".join(str(trouble).split())[:TROUBLE_CHARS_MAX])
        return
    _end_of_period(adapter, order, flows, evidence)


def _watched(spark: SparkSession, order: _Order, begin: float, end: float) -> tuple[list[Flow], Evidence, int]:
    """What a period has carried; and how many of its records are missing.

    Only segments are read that were written since the period began: a trace grows, and a period does not.
    """
    from reknit.pipeline.flow import BadFlow
    from reknit.pipeline.flows.plan import FLOW
    from reknit.pipeline.plan import Planned, gather
    from reknit.pipeline.run import Order, run_flow

    told, inputs = Planned(begin, end), {"trace": order.trace}
    wanted = Order(FLOW, told, inputs, order.tables, only=("flows",), allow_gaps=True, newer_than=begin - CLOCKS_S_MAX)
    report = run_flow(spark, wanted)
    if lacking := [f"{path}: {problem}" for each in report.inputs for path, problem in each.broken_files.items()]:
        raise BadFlow(f"{len(lacking)} segments of the trace cannot be read: {lacking[0]}")
    gathered = gather(spark.read.parquet(f"{order.tables}/flows"))
    missing = any(each.missing for each in report.inputs)
    return *gathered, _missing_since(spark, order.trace, begin) if missing else 0


def _missing_since(spark: SparkSession, trace: str, begin: float) -> int:
    """Records that the trace itself says are missing: of what was read some may be of an earlier period."""
    from pyspark.sql import functions as F

    from reknit.trace.records import Kind

    rows = spark.read.option("recursiveFileLookup", "true").option("pathGlobFilter", "*.parquet").parquet(trace)
    gaps = rows.where((F.col("kind") == Kind.UNTRACED.value) & (F.col("time") >= begin))
    return int(gaps.agg(F.coalesce(F.sum("size"), F.lit(0))).collect()[0][0])


def _end_of_period(adapter: Adapter, order: _Order, flows: list[Flow], evidence: Evidence) -> None:
    """Decide on the tree that there is, and carry out what was decided. A network in trouble is left alone."""
    from reknit.cli._changes.view import look
    from reknit.cli._operator import Operator
    from reknit.cli._problem import BadInput, Failed
    from reknit.planning.tree import NoTree

    before = adapter.window
    try:
        with Operator(order.admin) as operator:
            view = look(operator)
            view.answers(*view.names)  # of a tree that is known in part nothing can be said
            links = view.edges
            decision = adapter.see(links, flows, evidence, _wanted(operator, adapter))
            _remember(adapter, order)
            _say(order, adapter, links, flows, decision)
            if decision.plan is not None and not order.dry_run:
                _carry_out(operator, decision.plan, order)
    except (BadInput, Failed, NoTree) as trouble:
        if adapter.window == before:
            _miss(adapter, order, str(trouble))
        else:
            _say_trouble(order, adapter, str(trouble))


def _miss(adapter: Adapter, order: _Order, trouble: str) -> None:
    """Pass over a period, whatever else is in the way."""
    from reknit.cli._problem import Failed

    adapter.miss()
    try:
        _remember(adapter, order)
    except Failed as more:
        trouble = f"{trouble}; {more}"
    _say_trouble(order, adapter, trouble)


def _wanted(operator: Operator, adapter: Adapter) -> dict[str, list[Pattern]]:
    """What brokers' clients want, by which the price of a swap is reckoned, with the routing that they have."""
    import msgspec

    from reknit.cli._changes.cost import wanted_of

    tables = {table["name"]: table for table in operator.all("/table")}
    any_table = next(iter(tables.values()))
    routing, covering = str(any_table["routing"]), bool(any_table["covering"])
    adapter.rules = msgspec.structs.replace(adapter.rules, routing=routing, covering=covering)
    return {name: wanted_of(tables[name]) for name in sorted(tables)}


def _carry_out(operator: Any, plan: Plan, order: _Order) -> None:
    from reknit.cli._changes.perform import carry_out
    from reknit.cli._changes.plans import plan_swaps
    from reknit.cli._changes.view import look
    from reknit.core.overlay.swap import Step

    steps = [Step(step.mover, step.middle, step.goal) for step in plan.steps]
    made = plan_swaps(look(operator), "adapt", plan.before, steps)
    done = carry_out(operator, made)
    name = done.change
    if order.as_json:
        _print({"done": True, "change": name, "seconds": done.seconds})
    else:
        typer.echo(f"  {made.said(done=True)} in {done.seconds:.2f} s; back with: reknit change undo {name}")


def _remember(adapter: Adapter, order: _Order) -> None:
    """Before anything is changed: whoever goes on after a crash rests, too. ``Failed`` if it cannot be kept."""
    import os
    from pathlib import Path

    from reknit.cli._problem import Failed

    if order.state and not order.dry_run:
        fresh = Path(f"{order.state}.new")
        try:
            fresh.write_bytes(adapter.written())
            os.replace(fresh, order.state)
        except OSError as error:
            raise Failed(f"--state {order.state}: {error.strerror or error}") from error


def _say(order: _Order, adapter: Adapter, links: list[Link], flows: list[Flow], decision: Decision) -> None:
    from reknit.planning.gains import cost
    from reknit.planning.tree import Tree

    events, crossings = sum(flow.events for flow in flows), cost(Tree(links), flows)
    plan = decision.plan
    if order.as_json:
        steps = [[step.mover, step.middle, step.goal] for step in plan.steps] if plan else []
        said = {"period": adapter.window, "events": events, "crossings": crossings, "why": decision.why}
        _print({**said, "steps": steps, "dry_run": order.dry_run})
        return
    typer.echo(f"period {adapter.window}: {events:,} events, {crossings:,} crossings of links; {decision.why}")
    for step in plan.steps if plan else ():
        typer.echo(f"  {'would ' if order.dry_run else ''}swap {step.mover} {step.middle} {step.goal}")


def _say_trouble(order: _Order, adapter: Adapter, trouble: str) -> None:
    if order.as_json:
        _print({"period": adapter.window, "trouble": trouble})
    else:
        typer.echo(f"period {adapter.window}: nothing is changed: {trouble}")


def _print(document: dict[str, Any]) -> None:
    import json

    typer.echo(json.dumps(document))
