"""``reknit plan``: from traces to changes that pay; look at them, carry them out, take them back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from reknit.cli._flags import AdminFlag, DryRunFlag, GapsFlag, JsonFlag, VerifyFlag

if TYPE_CHECKING:
    from reknit.planning.files import AnyPlan

__all__ = ["apply", "make", "register", "show", "undo"]

PLAN = "plan.json"
KINDS = ("tree", "ring", "placement")

_File = Annotated[str, typer.Argument(metavar="FILE", help="The plan.")]

HELP = """Make a plan from traces: for the tree, for places on a ring, or for clients; show it, apply it, undo it.

\b
    reknit plan --from trace --out plan.json
    reknit plan --from trace --kind ring
    reknit plan show plan.json
    reknit plan apply plan.json
    reknit plan undo plan.json
"""


def register(app: typer.Typer) -> None:
    verbs = typer.Typer(help=HELP, short_help="Plan changes from traces, and apply them.", rich_markup_mode=None)
    verbs.callback(invoke_without_command=True)(make)
    verbs.command("show", short_help="Show the steps, and what they are to bring.")(show)
    verbs.command("apply", short_help="Carry the plan out while events flow.")(apply)
    verbs.command("undo", short_help="Take the plan back while events flow.")(undo)
    app.add_typer(verbs, name="plan")


# --- make


def make(
    context: typer.Context,
    traces: Annotated[str, typer.Option("--from", metavar="DIR", help="The trace of a network.")] = "",
    kind: Annotated[str, typer.Option(metavar="|".join(KINDS), help="What is to change.")] = KINDS[0],
    out: Annotated[str, typer.Option(metavar="FILE", help="Where the plan goes.")] = PLAN,
    tables: Annotated[str, typer.Option(metavar="DIR", help="Where its tables go.")] = "out/pipeline/plan",
    since: Annotated[float, typer.Option(help="Leave out what was published before, in the trace's seconds.")] = 0.0,
    horizon: Annotated[float, typer.Option(help="How many times the watched time a step may take to pay.")] = 1.0,
    degree_max: Annotated[int, typer.Option(min=2, help="tree: neighbours that a broker may have.")] = 6,
    steps_max: Annotated[int, typer.Option(min=1, help="tree: swaps, at most.")] = 100,
    routing: Annotated[
        str, typer.Option(help="tree: of the brokers; it says which tables travel in a swap.")
    ] = "subscription-forwarding",
    delay_weight: Annotated[float, typer.Option(min=0.0, help="ring: what a hop of delay costs, in messages.")] = 1.0,
    search: Annotated[str, typer.Option(metavar="better|greedy", help="ring: DYNATOPS' own, or further.")] = "better",
    clusters: Annotated[int, typer.Option(min=1, help="placement: clusters of brokers, as live ones have.")] = 1,
    load_weight: Annotated[float, typer.Option(min=0.0, help="placement: what a broker's load counts.")] = 1.0,
    gain_min: Annotated[float, typer.Option(min=0.0, help="placement: by how much a client is better off.")] = 0.05,
    rounds: Annotated[int, typer.Option(min=1, help="placement: how often each client is looked at.")] = 1,
    seed: Annotated[int, typer.Option(help="Of what is drawn; kept with the plan.")] = 0,
    allow_gaps: GapsFlag = False,
    master: Annotated[str, typer.Option(help="Spark's master, as local[2].")] = "",
    remote: Annotated[str, typer.Option(help="A server of Spark Connect, as sc://host:15002.")] = "",
    as_json: JsonFlag = False,
) -> None:
    """Make a plan. For the tree: the swaps that save more crossings of links than the messages they take. For a ring:
    the changes of places that save more of notifying. For placement: which clients of a ring
    should be at another broker. The same trace gives the same plan, byte for byte.

    Example: reknit plan --from trace --out plan.json
    """
    if context.invoked_subcommand is not None:
        return
    from reknit.cli._problem import BadInput
    from reknit.cli.pipeline import with_spark

    if not traces:
        raise BadInput("plan: name a trace with --from, or a verb: show, apply, undo")
    from reknit.planning.files import write_plan
    from reknit.planning.placement_plan import PlacementRules
    from reknit.planning.plan import Rules
    from reknit.planning.ring_plan import RingRules

    known: dict[str, Rules | RingRules | PlacementRules] = {
        "tree": Rules(horizon, degree_max, steps_max, routing, seed=seed),
        "ring": RingRules(horizon, delay_weight, search, seed=seed),
        "placement": PlacementRules(clusters, load_weight, gain_min=gain_min, rounds=rounds, seed=seed),
    }
    if kind not in known:
        raise BadInput(f"plan: --kind {kind}: it is one of {', '.join(KINDS)}")
    with with_spark():
        from reknit.cli._plans.make import Source, make_any

        source = Source(traces, tables, since, master, remote, allow_gaps, lambda line: typer.echo(line, err=True))
        plan = make_any(source, known[kind])
    from reknit.cli._plans.keep import note_trace, write

    write(out, write_plan(plan))
    note_trace(out, traces)
    _print(plan, as_json)
    if not as_json:
        typer.echo(out)


# --- show


def show(
    file: _File = PLAN,
    picture: Annotated[str, typer.Option(metavar="PNG", help="Draw the tree before and after there.")] = "",
    as_json: JsonFlag = False,
) -> None:
    """Show a plan: before and after, each step with what it saves and takes, the disruption, and what that rests on.

    Example: reknit plan show plan.json --picture plan.png
    """
    from reknit.cli._plans.keep import read

    plan = read(file)
    _print(plan, as_json)
    if picture:
        _draw(plan, picture)


def _draw(plan: AnyPlan, picture: str) -> None:
    import io

    from reknit.cli._plans.keep import write
    from reknit.cli._problem import BadInput
    from reknit.cli._trees import Picture, draw
    from reknit.planning.plan import Plan

    if not isinstance(plan, Plan):
        raise BadInput("plan show: --picture draws trees, and this plan is of none")
    made = io.BytesIO()
    trees = (("before", plan.before, plan.cost_before), ("after", plan.after, plan.cost_after))
    draw([Picture(f"{title}: {cost:,} crossings", links) for title, links, cost in trees], made)
    write(picture, made.getvalue(), "--picture")


def _print(plan: AnyPlan, as_json: bool) -> None:
    from reknit.cli._plans.lines import lines_of
    from reknit.planning.files import write_plan

    if as_json:
        typer.echo(write_plan(plan).decode(), nl=False)
        return
    for line in lines_of(plan):
        typer.echo(line)


# --- apply, undo


def apply(
    file: _File = PLAN,
    dry_run: DryRunFlag = False,
    verify: VerifyFlag = None,
    trace: Annotated[str, typer.Option(metavar="DIR", help="Measure there; by default where the plan is from.")] = "",
    watch_s: Annotated[float, typer.Option("--watch-s", min=0.0, help="For so many seconds; 0: not at all.")] = 30.0,
    surprise: Annotated[float, typer.Option(min=0.0, help="A prediction off by more than this part is one.")] = 0.25,
    admin: AdminFlag = [],  # noqa: B006
    as_json: JsonFlag = False,
) -> None:
    """Carry a plan out, one step after the other, while events flow. It stops at the first surprise: a tree or ring
    that is another than the plan was made for, at the beginning or after a step, or a step that is refused. What is
    done until then can be undone. Of a plan of placement, clients that have gone meanwhile are passed over.

    Afterwards the network's trace is watched: what is measured stands beside the prediction, and is kept beside the
    plan, as FILE.result.json. Exit code 1 if it is worse than before, or further off than --surprise.

    Example: reknit plan apply plan.json --verify --trace trace
    """
    from reknit.cli._changes.run import Manner
    from reknit.cli._plans.keep import noted_trace, read
    from reknit.planning.placement_plan import PlacementPlan
    from reknit.planning.ring_plan import RingPlan

    plan, manner = read(file), Manner(admin, dry_run, verify, as_json)
    _refuse_empty(plan, f"plan apply {file}")
    if isinstance(plan, PlacementPlan):
        from reknit.cli._plans.placement import apply_placement

        apply_placement(plan, file, surprise, manner)
        return
    from reknit.cli._plans.ring import apply_ring
    from reknit.cli._plans.tree import apply_tree
    from reknit.cli._plans.watch import Watch

    watch = Watch(trace or noted_trace(file), watch_s, surprise)
    if isinstance(plan, RingPlan):
        apply_ring(plan, file, watch, manner)
    else:
        apply_tree(plan, file, watch, manner)


def undo(
    file: _File = PLAN,
    dry_run: DryRunFlag = False,
    verify: VerifyFlag = None,
    admin: AdminFlag = [],  # noqa: B006
    as_json: JsonFlag = False,
) -> None:
    """Take a plan back, or as much of it as was carried out: its steps turned round, the last one first, while events
    flow.

    Example: reknit plan undo plan.json
    """
    from reknit.cli._changes.run import Manner
    from reknit.cli._plans.keep import read
    from reknit.planning.placement_plan import PlacementPlan
    from reknit.planning.ring_plan import RingPlan

    plan, manner = read(file), Manner(admin, dry_run, verify, as_json)
    _refuse_empty(plan, f"plan undo {file}")
    match plan:
        case RingPlan():
            from reknit.cli._plans.ring import undo_ring

            undo_ring(plan, file, manner)
        case PlacementPlan():
            from reknit.cli._plans.placement import undo_placement

            undo_placement(plan, file, manner)
        case _:
            from reknit.cli._plans.tree import undo_tree

            undo_tree(plan, file, manner)


def _refuse_empty(plan: AnyPlan, title: str) -> None:
    from reknit.cli._problem import BadInput
    from reknit.planning.placement_plan import PlacementPlan

    if not (plan.moves if isinstance(plan, PlacementPlan) else plan.steps):
        raise BadInput(f"{title}: the plan has no step")
