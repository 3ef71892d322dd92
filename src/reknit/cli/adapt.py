"""``reknit adapt``: watch, plan, and change the tree by itself, period after period, where it pays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reknit.cli._flags import AdminFlag, JsonFlag

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from reknit.planning.adapt import Adapter, Decision
    from reknit.planning.gains import Flow
    from reknit.planning.plan import Evidence, Plan
    from reknit.planning.tree import Link

__all__ = ["adapt", "register"]


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
    that was given up is not taken up again for long, so a workload that swings moves nothing to and fro.

    Example: reknit adapt --trace trace --period-s 60
    """
    from reknit.cli.pipeline import with_spark
    from reknit.planning.adapt import Adapter, Patience
    from reknit.planning.plan import Rules

    adapter = Adapter(Rules(degree_max=degree_max), Patience(share_min=share_min, rest=rest))
    order = _Order(trace, tables, state, period_s, periods, dry_run, admin, as_json)
    _recall(adapter, state)
    with with_spark():
        from reknit.pipeline.session import Place, session

        with session(Place(master, remote, name="reknit adapt")) as spark:
            _go_on(spark, adapter, order)


def _recall(adapter: Adapter, state: str) -> None:
    from pathlib import Path

    if state and Path(state).exists():
        adapter.recall(Path(state).read_bytes())


def _go_on(spark: SparkSession, adapter: Adapter, order: _Order) -> None:
    import time

    from reknit.trace.writer import FLUSH_S_MAX

    begin, done, gaps = time.time(), 0, 0
    if not order.as_json:
        typer.echo(f"watching {order.trace}; the first period ends in {order.period_s:g} s", err=True)
    while not order.periods or done < order.periods:
        end = begin + order.period_s
        time.sleep(max(0.0, end + 2 * FLUSH_S_MAX - time.time()))  # until the last of it is written
        flows, evidence, missing = _watched(spark, order, begin, end)
        if missing > gaps:  # what a period has carried is not known then
            _say_trouble(order, adapter, f"{missing - gaps:,} records are missing in the trace, as it says itself")
        else:
            _end_of_period(adapter, order, flows, evidence)
        gaps = missing
        begin, done = end, done + 1


def _watched(spark: SparkSession, order: _Order, begin: float, end: float) -> tuple[list[Flow], Evidence, int]:
    """What a period has carried; and how many records are missing in the trace up to now."""
    from reknit.pipeline.flows.plan import FLOW
    from reknit.pipeline.plan import Planned, gather
    from reknit.pipeline.run import Order, run_flow

    inputs, told = {"trace": order.trace}, Planned(begin, end)
    report = run_flow(spark, Order(FLOW, told, inputs, order.tables, only=("flows",), allow_gaps=True))
    flows = spark.read.parquet(f"{order.tables}/flows")
    return *gather(flows), sum(sum(each.missing.values()) for each in report.inputs)


def _end_of_period(adapter: Adapter, order: _Order, flows: list[Flow], evidence: Evidence) -> None:
    """Decide on the tree that there is, and carry out what was decided. A network in trouble is left alone."""
    from reknit.cli._changes.view import look
    from reknit.cli._operator import Operator
    from reknit.cli._problem import BadInput, Failed
    from reknit.planning.tree import NoTree

    try:
        with Operator(order.admin) as operator:
            view = look(operator)
            view.answers(*view.names)  # of a tree that is known in part nothing can be said
            links = view.edges
            decision = adapter.see(links, flows, evidence)
            _remember(adapter, order)
            _say(order, adapter, links, flows, decision)
            if decision.plan is not None and not order.dry_run:
                _carry_out(operator, decision.plan, order)
    except (BadInput, Failed, NoTree) as trouble:
        _say_trouble(order, adapter, str(trouble))


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
    """Before anything is changed: whoever goes on after a crash rests, too."""
    import os
    from pathlib import Path

    if order.state and not order.dry_run:
        fresh = Path(f"{order.state}.new")
        fresh.write_bytes(adapter.written())
        os.replace(fresh, order.state)


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
