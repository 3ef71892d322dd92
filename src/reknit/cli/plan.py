"""``reknit plan``: from traces to swaps that pay; look at them, carry them out, take them back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from reknit.cli._flags import AdminFlag, DryRunFlag, GapsFlag, JsonFlag, VerifyFlag

if TYPE_CHECKING:
    from reknit.core.overlay.swap import Step
    from reknit.planning.plan import Plan

__all__ = ["apply", "make", "register", "show", "undo"]

PLAN = "plan.json"

_File = Annotated[str, typer.Argument(metavar="FILE", help="The plan.")]

HELP = """Make a plan for the tree from traces; show it, apply it, undo it.

\b
    reknit plan --from trace --out plan.json
    reknit plan show plan.json
    reknit plan apply plan.json
    reknit plan undo plan.json
"""


def register(app: typer.Typer) -> None:
    verbs = typer.Typer(
        help=HELP, short_help="Plan changes of the tree from traces, and apply them.", rich_markup_mode=None
    )
    verbs.callback(invoke_without_command=True)(make)
    verbs.command("show", short_help="Show the steps, and what they are to bring.")(show)
    verbs.command("apply", short_help="Carry the plan out while events flow.")(apply)
    verbs.command("undo", short_help="Take the plan back while events flow.")(undo)
    app.add_typer(verbs, name="plan")


# --- make


def make(
    context: typer.Context,
    traces: Annotated[str, typer.Option("--from", metavar="DIR", help="The trace of a network.")] = "",
    out: Annotated[str, typer.Option(metavar="FILE", help="Where the plan goes.")] = PLAN,
    tables: Annotated[str, typer.Option(metavar="DIR", help="Where its tables go.")] = "out/pipeline/plan",
    since: Annotated[float, typer.Option(help="Leave out what was published before, in the trace's seconds.")] = 0.0,
    horizon: Annotated[float, typer.Option(help="How many times the watched time a swap may take to pay.")] = 1.0,
    degree_max: Annotated[int, typer.Option(min=2, help="Neighbours that a broker may have.")] = 6,
    steps_max: Annotated[int, typer.Option(min=1, help="Swaps, at most.")] = 100,
    seed: Annotated[int, typer.Option(help="Kept with the plan.")] = 0,
    allow_gaps: GapsFlag = False,
    master: Annotated[str, typer.Option(help="Spark's master, as local[2].")] = "",
    remote: Annotated[str, typer.Option(help="A server of Spark Connect, as sc://host:15002.")] = "",
    as_json: JsonFlag = False,
) -> None:
    """Make a plan: the swaps that save more crossings of links than the messages they take. The same trace gives the
    same plan, byte for byte.

    Example: reknit plan --from trace --out plan.json
    """
    if context.invoked_subcommand is not None:
        return
    from reknit.cli._problem import BadInput
    from reknit.cli.pipeline import with_spark

    if not traces:
        raise BadInput("plan: name a trace with --from, or a verb: show, apply, undo")
    from reknit.planning.plan import Rules, write_plan

    rules = Rules(horizon=horizon, degree_max=degree_max, steps_max=steps_max, seed=seed)
    with with_spark():
        plan = _planned(traces, tables, since, rules, master, remote, allow_gaps)
    _write(out, write_plan(plan))
    _print(plan, as_json)
    if not as_json:
        typer.echo(out)


def _planned(traces: str, tables: str, since: float, rules: object, master: str, remote: str, allow_gaps: bool) -> Plan:
    import os

    from reknit.pipeline.flows.plan import FLOW
    from reknit.pipeline.plan import Planned, plan_of
    from reknit.pipeline.run import Order, run_flow
    from reknit.pipeline.session import Place, session
    from reknit.planning.plan import Rules

    assert isinstance(rules, Rules)
    with session(Place(master, remote, name="reknit plan")) as spark:
        run_flow(spark, Order(FLOW, Planned(since), {"trace": traces}, tables, allow_gaps=allow_gaps))
        flows, links = (spark.read.parquet(f"{tables}/{name}") for name in ("flows", "links"))
        return plan_of(flows, links, rules, [os.path.basename(os.path.normpath(traces))])


def _write(out: str, data: bytes) -> None:
    from pathlib import Path

    from reknit.cli._problem import BadInput

    try:
        Path(out).parent.mkdir(parents=True, exist_ok=True)
        Path(out).write_bytes(data)
    except OSError as error:
        raise BadInput(f"--out {out}: {error.strerror or error}") from error


def _read(file: str) -> Plan:
    from pathlib import Path

    from reknit.cli._problem import BadInput
    from reknit.planning.plan import read_plan

    try:
        return read_plan(Path(file).read_bytes())
    except OSError as error:
        raise BadInput(f"{file}: {error.strerror or error}") from error


# --- show


def show(
    file: _File = PLAN,
    picture: Annotated[str, typer.Option(metavar="PNG", help="Draw the tree before and after there.")] = "",
    as_json: JsonFlag = False,
) -> None:
    """Show a plan: the tree before and after, each step with what it saves, and what that rests on.

    Example: reknit plan show plan.json --picture plan.png
    """
    plan = _read(file)
    _print(plan, as_json)
    if picture:
        _draw(plan, picture)


def _draw(plan: Plan, picture: str) -> None:
    import io

    from reknit.cli._trees import Picture, draw

    made = io.BytesIO()
    trees = (("before", plan.before, plan.cost_before), ("after", plan.after, plan.cost_after))
    draw([Picture(f"{title}: {cost:,} crossings", links) for title, links, cost in trees], made)
    _write(picture, made.getvalue())


def _print(plan: Plan, as_json: bool) -> None:
    if as_json:
        from reknit.planning.plan import write_plan

        typer.echo(write_plan(plan).decode(), nl=False)
        return
    seen = plan.evidence
    typer.echo(f"{seen.events:,} events in {seen.seconds:,.1f} s; they crossed links {plan.cost_before:,} times")
    for step in plan.steps:
        typer.echo(f"  swap {step.mover} {step.middle} {step.goal}  saves {step.gain:,}, leaves {step.cost_after:,}")
    if not plan.steps:
        typer.echo("no swap is worth what it takes")
        return
    share = 1 - plan.cost_after / plan.cost_before
    typer.echo(
        f"{len(plan.steps)} swaps: {plan.cost_after:,} crossings, {share:.0%} less, for {plan.messages} messages"
    )
    typer.echo(f"touches {', '.join(plan.brokers)}")
    for title, links in (("before", plan.before), ("after", plan.after)):
        typer.echo(f"{title}: {', '.join(' - '.join(link) for link in links)}")


# --- apply, undo


def apply(
    file: _File = PLAN,
    dry_run: DryRunFlag = False,
    verify: VerifyFlag = None,
    trace: Annotated[str, typer.Option(metavar="DIR", help="The network's trace: measure there what was saved.")] = "",
    watch_s: Annotated[float, typer.Option("--watch-s", min=0.1, help="For so many seconds.")] = 30.0,
    admin: AdminFlag = [],  # noqa: B006
    as_json: JsonFlag = False,
) -> None:
    """Carry a plan out, one swap after the other, while events flow. It stops at the first surprise: a tree that is
    another than the plan was made for, or a swap that is refused; what is done until then can be undone.

    With --trace the network is watched afterwards: what is measured stands beside the prediction, and is kept beside
    the plan, as FILE.result.json.

    Example: reknit plan apply plan.json --verify --trace trace
    """
    from reknit.cli._changes.plans import plan_swaps
    from reknit.cli._changes.run import Manner, run

    plan, title = _read(file), f"plan apply {file}"
    _refuse_empty(plan, title)
    steps = _steps(plan)
    run(Manner(admin, dry_run, verify, as_json), lambda _, view: plan_swaps(view, title, plan.before, steps))
    if trace and not dry_run:
        _measure(plan, file, trace, watch_s, as_json)


def _measure(plan: Plan, file: str, trace: str, watch_s: float, as_json: bool) -> None:
    import time
    from pathlib import Path

    import msgspec

    from reknit.cli._crossings import crossings_in
    from reknit.planning.result import compare
    from reknit.trace.writer import FLUSH_S_MAX

    begin = time.time()
    typer.echo(f"watching for {watch_s:g} s what was saved ...", err=True)
    time.sleep(watch_s)
    end = time.time()
    time.sleep(2 * FLUSH_S_MAX)  # until the last of it is written
    found = crossings_in(Path(trace), begin, end)
    result = compare(plan, found.events, found.crossed)
    data = msgspec.json.format(msgspec.json.encode(result), indent=2) + b"\n"
    _write(f"{file}.result.json", data)
    typer.echo(data.decode() if as_json else result.said, nl=not as_json)


def undo(
    file: _File = PLAN,
    dry_run: DryRunFlag = False,
    verify: VerifyFlag = None,
    admin: AdminFlag = [],  # noqa: B006
    as_json: JsonFlag = False,
) -> None:
    """Take a plan back that was carried out: its swaps turned round, the last one first, while events flow.

    Example: reknit plan undo plan.json
    """
    from reknit.cli._changes.plans import plan_swaps
    from reknit.cli._changes.run import Manner, run

    plan, title = _read(file), f"plan undo {file}"
    _refuse_empty(plan, title)
    back = [step.inverse for step in reversed(_steps(plan))]
    run(Manner(admin, dry_run, verify, as_json), lambda _, view: plan_swaps(view, title, plan.after, back))


def _refuse_empty(plan: Plan, title: str) -> None:
    from reknit.cli._problem import BadInput

    if not plan.steps:
        raise BadInput(f"{title}: the plan has no step")


def _steps(plan: Plan) -> list[Step]:
    from reknit.core.overlay.swap import Step

    return [Step(step.mover, step.middle, step.goal) for step in plan.steps]
