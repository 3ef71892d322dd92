"""``reknit pipeline``: tables of what the network saw, on Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from reknit.cli._flags import GapsFlag
from reknit.cli._problem import BadInput, Failed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from reknit.pipeline.flow import Flow, Step
    from reknit.pipeline.report import Report
    from reknit.pipeline.run import Order
    from reknit.pipeline.session import Place

__all__ = ["java", "list_flows", "progress", "register", "run", "show", "stream", "told_to_end", "with_spark"]

OUT = "out/pipeline"

ELSEWHERE = {
    "sweep": (
        "the lab's experiments, settings by seeds, as tasks of Spark's",
        "reknit lab run ID... --spark",
        "Its tables are the lab's, which stands above the pipeline: a sweep calls code by its name, reads no rows, and "
        "goes on where it was broken off.",
    )
}
"""What runs on Spark and is no flow: what it does, the verb that runs it, and why it is no flow."""

HELP = """Make tables of traces and check-ins, on Spark.

\b
    reknit pipeline list
    reknit pipeline show visits
    reknit pipeline run visits --input checkins=checkins.parquet --set grid=nyc26x30
"""


def register(app: typer.Typer) -> None:
    group = typer.Typer(
        no_args_is_help=True, rich_markup_mode=None, help=HELP, short_help="Make tables of traces, on Spark."
    )
    group.command("list", short_help="Show the flows.")(list_flows)
    group.command("show", short_help="Show what a flow reads, makes and can be told.")(show)
    group.command("run", short_help="Run a flow.")(run)
    group.command("java", short_help="Show the Java that Spark would run on.")(java)
    group.command("stream", short_help="Keep the tables of traffic up while a trace is written.")(stream)
    app.add_typer(group, name="pipeline")


@contextmanager
def with_spark() -> Iterator[None]:
    """Without the extra there is nothing to do but to say so; and what Spark says is one line."""
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in ("pyspark", "pandas", "py4j", "grpc"):
            raise
        raise BadInput(
            f"pipeline: {missing} is not installed; install reknit with its extra: pip install 'reknit[spark]'"
        ) from error
    except Exception as error:
        if not _is_sparks(error):
            raise
        from reknit.pipeline.trouble import trouble

        raise Failed(f"pipeline: {trouble(error)}") from error


def _is_sparks(error: Exception) -> bool:
    """Without importing it: who has none must not need it to be told so."""
    return type(error).__module__.partition(".")[0] in ("pyspark", "py4j")


# --- list, show


def list_flows(as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False) -> None:
    """Show the flows.

    Example: reknit pipeline list
    """
    with with_spark():
        from reknit.pipeline.registry import all_flows
    if as_json:
        flows = [{"name": each.name, "about": each.about} for each in all_flows().values()]
        others = [{"name": name, "about": about, "verb": verb} for name, (about, verb, _) in ELSEWHERE.items()]
        _print_json([*flows, *others])
        return
    width = max(map(len, (*all_flows(), *ELSEWHERE)))
    for each in all_flows().values():
        typer.echo(f"{each.name.ljust(width)}  {each.about}")
    for name, (about, verb, _) in ELSEWHERE.items():
        typer.echo(f"{name.ljust(width)}  {about}: {verb}")


def show(
    name: Annotated[str, typer.Argument(metavar="FLOW", help="The flow.")],
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Show what a flow reads, what it makes of that, and what it can be told.

    Example: reknit pipeline show visits
    """
    with with_spark():
        from reknit.pipeline.registry import find_flow
    if name in ELSEWHERE:
        about, verb, why = ELSEWHERE[name]
        lines = (f"{name}: {about}", f"  run  {verb}", f"  {why}")
        _print_json({"name": name, "about": about, "verb": verb, "why": why}) if as_json else typer.echo(
            "\n".join(lines)
        )
        return
    flow = find_flow(name)
    if as_json:
        _print_json(_described(flow))
        return
    typer.echo(f"{flow.name}: {flow.about}")
    for each in flow.inputs:
        typer.echo(f"  in   {each.name}{' (may be left out)' if each.optional else ''}: {each.about}")
        typer.echo(f"         {_columns(each.schema)}")
    for step in flow.steps:
        typer.echo(f"  out  {step.name}: {step.about}")
        typer.echo(f"         {_columns(step.schema)}")
        for line in _accounted(step):
            typer.echo(f"         {line}")
    for parameter in _described(flow)["parameters"]:
        typer.echo(f"  set  {parameter['name']}={parameter['default']}  {parameter['about']}")


def _accounted(step: Step) -> Iterator[str]:
    """What it is made of, and how its rows account for that."""
    if step.needs:
        yield f"made of {', '.join(step.needs)}"
    if step.carries:
        what = step.takes.name if step.takes else "rows"
        others = "; what it leaves out is counted" if step.leaves else ""
        yield f"{step.carries}: the {what} of {step.needs[0]} that it stands for{others}"


def _not_elsewhere(name: str) -> None:
    if name in ELSEWHERE:
        raise BadInput(f"pipeline: {name} is run by {ELSEWHERE[name][1]}")


def _columns(schema: object) -> str:
    return str(schema.simpleString())[len("struct<") : -1].replace(":", " ").replace(",", ", ")  # type: ignore[attr-defined]


def _described(flow: Flow) -> dict[str, list[dict[str, str | list[str]]]]:
    from reknit.pipeline.flow import parameters_of

    return {
        "flow": [{"name": flow.name, "about": flow.about}],
        "inputs": [
            {"name": each.name, "about": each.about, "schema": each.schema.simpleString()} for each in flow.inputs
        ],
        "steps": [
            {
                "name": each.name,
                "about": each.about,
                "schema": each.schema.simpleString(),
                "needs": list(each.needs),
                "carries": each.carries,
                "takes": each.takes.name if each.takes else "",
            }
            for each in flow.steps
        ],
        "parameters": [
            {"name": each.name, "default": str(each.default), "about": each.about} for each in parameters_of(flow)
        ],
    }


def _print_json(value: object) -> None:
    import json

    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


# --- java


def java(as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False) -> None:
    """Show the home of the Java that Spark would run on, for programs that look for Java by themselves.

    Example: JAVA_HOME=$(reknit pipeline java) spark-submit ...
    """
    import os

    from reknit.pipeline.java import find_java, java_home

    found = find_java(os.environ)
    home = java_home(found, os.environ)
    if as_json:
        _print_json({"java_home": home, "found": found.found})
    else:
        typer.echo(home)


# --- run


def run(
    name: Annotated[str, typer.Argument(metavar="FLOW", help="The flow.")],
    inputs: Annotated[list[str] | None, typer.Option("--input", metavar="NAME=PATH", help="Where an input is.")] = None,
    told: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A parameter.")] = None,
    out: Annotated[str, typer.Option(metavar="DIR", help=f"Where the tables go (default {OUT}/FLOW).")] = "",
    master: Annotated[str, typer.Option(help="Spark's master, as local[2] or spark://host:7077.")] = "",
    remote: Annotated[str, typer.Option(help="A server of Spark Connect, as sc://host:15002.")] = "",
    memory: Annotated[str, typer.Option(help="For Spark on this machine.")] = "2g",
    whole: Annotated[bool, typer.Option("--whole", help="Read each file to its end first: is it damaged?")] = False,
    only: Annotated[list[str] | None, typer.Option(metavar="TABLE", help="Make no more than it needs.")] = None,
    allow_gaps: GapsFlag = False,
    explain: Annotated[bool, typer.Option("--explain", help="Show how Spark would do it; run nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The report as JSON.")] = False,
) -> None:
    """Run a flow: read its inputs, set aside what is bad, and write its tables as Parquet, with a report.

    With --explain nothing is run: the physical plan of each table is shown, and written to DIR/TABLE.plan.txt if there
    is an --out. An input that is not there yet is taken for a large one.

    Exit code 1 if a row got lost on the way, or before that: if a trace says that records are missing in it. Without
    --master or --remote it runs on the cores of this machine; under spark-submit, where that says.

    Example: reknit pipeline run visits --input checkins=checkins.parquet --set from=2010-08-01
    """
    with with_spark():
        from reknit.pipeline.flow import read_parameters
        from reknit.pipeline.registry import find_flow
        from reknit.pipeline.run import Order
        from reknit.pipeline.session import Place
    _not_elsewhere(name)
    flow = find_flow(name)
    parameters = read_parameters(flow, _pairs(told or [], "--set"))
    given, place = _pairs(inputs or [], "--input"), Place(master, remote, memory, f"reknit {name}")
    order = Order(flow, parameters, given, out or f"{OUT}/{name}", whole, tuple(only or ()), allow_gaps)
    if explain:
        with with_spark():
            _explain(order, place, out, as_json)
        return
    with with_spark():
        report = _run(order, place)
    _print_report(report, order.out, as_json)


def stream(
    trace: Annotated[str, typer.Option("--from", metavar="DIR", help="The trace of a network, as it is written.")],
    out: Annotated[str, typer.Option(metavar="DIR", help="Where tables and checkpoints go.")] = f"{OUT}/stream",
    every: Annotated[float, typer.Option(min=0.1, help="Look for segments every so many seconds.")] = 5.0,
    tables_s: Annotated[float, typer.Option("--tables-s", min=0.0, help="Write tables every so many seconds.")] = 60.0,
    once: Annotated[bool, typer.Option("--once", help="Count what is there now, and end.")] = False,
    window_s: Annotated[float, typer.Option("--window-s", min=0.001, help="The seconds of one window.")] = 10.0,
    alpha: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="The weight of the latest window in what is expected.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="How many topics are hot.")] = 20,
    late_s: Annotated[float, typer.Option("--late-s", min=0.0, help="How late a record may come.")] = 60.0,
    allow_gaps: GapsFlag = False,
    master: Annotated[str, typer.Option(help="Spark's master, as local[2].")] = "",
    remote: Annotated[str, typer.Option(help="A server of Spark Connect, as sc://host:15002.")] = "",
    memory: Annotated[str, typer.Option(help="For Spark on this machine.")] = "2g",
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Keep all tables of traffic up while a trace is written. Until Ctrl-C or SIGTERM.

    Tables are put in the place of those before all at once, every --tables-s seconds and at the end, when the batch
    that is under way is done. Started again with the same directory it goes on where it was. What came too late, or is
    no record, is in no table, but in DIR/quarantine; a segment that cannot be read is set aside, with the reason. From
    where the trace says that records are missing in it on, no table is written, and the exit code is 1; started again
    with --allow-gaps it writes those of what there was.

    Example: reknit pipeline stream --from trace --once
    """
    with with_spark():
        from reknit.pipeline.session import Place, session
        from reknit.pipeline.stream import Turns, follow, start
        from reknit.pipeline.traffic import Watched
    told = Watched(window_s=window_s, top=top, **({} if alpha is None else {"alpha": alpha}))
    turns = Turns()
    with with_spark(), session(Place(master, remote, memory, "reknit stream")) as spark, told_to_end() as ended:
        query = start(spark, told, trace, out, None if once else every, late_s, turns=turns)
        report = follow(spark, query, turns, told, out, tables_s, ended, allow_gaps)
    if as_json:
        import msgspec

        _print_json({**msgspec.to_builtins(report), "out": out})
        return
    typer.echo(f"in   trace: {report.rows:,} rows in {report.files:,} files")
    for reason, count in report.aside.items():
        typer.echo(f"       set aside: {count:,}  {reason}")
    for path, problem in report.broken_files.items():
        typer.echo(f"       broken: {path}: {problem}")
    for name, count in report.tables.items():
        typer.echo(f"out  {name}: {count:,} rows")
    for node, count in report.missing.items():
        typer.echo(f"missing: {count:,}  never written by {node}")
    typer.echo(out)


@contextmanager
def told_to_end() -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C or SIGTERM has come. The first is heeded when there is time; a second one ends at once."""
    import signal
    import threading

    came: list[int] = []

    def hear(number: int, frame: object) -> None:
        came.append(number)
        if len(came) > 1:
            raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    # Spark has its own for Ctrl-C, which cancels the batch that is under way.
    before = {each: signal.signal(each, hear) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(came)
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _pairs(words: list[str], option: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for word in words:
        name, sign, value = word.partition("=")
        if not (name and sign):
            raise BadInput(f"{option} {word}: write it as NAME=VALUE")
        if name in pairs:
            raise BadInput(f"{option} {name} is given twice")
        pairs[name] = value
    return pairs


def _run(order: Order, place: Place) -> Report:
    from reknit.pipeline.run import run_flow

    with progress() as tell, _session(place, tell) as spark:
        return run_flow(spark, order, tell)


def _explain(order: Order, place: Place, out: str, as_json: bool) -> None:
    from pathlib import Path

    from reknit.pipeline.explain import explain

    with progress() as tell, _session(place, tell) as spark:
        found = explain(spark, order)
    if as_json:
        _print_json(dict(found))
        return
    for name, plan in found:
        typer.echo(f"{order.flow.name}: {name}\n{plan}\n")
        if out:
            Path(out).mkdir(parents=True, exist_ok=True)
            Path(out, f"{name}.plan.txt").write_text(plan + "\n", encoding="utf-8")


@contextmanager
def _session(place: Place, tell: Callable[[str], None]) -> Iterator[SparkSession]:
    from reknit.pipeline.session import session

    tell("starting Spark")
    try:
        with session(place) as spark:
            yield spark
    except ValueError as error:
        if hasattr(error, "exit_code") or _is_sparks(error):
            raise
        raise BadInput(f"pipeline: {error}") from error


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """What is being done, on the terminal, if there is one."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda what: None
        return
    with console.status("") as status:
        yield status.update


def _print_report(report: Report, out: str, as_json: bool) -> None:
    from reknit.pipeline.report import lines

    if as_json:
        import msgspec

        _print_json({**msgspec.to_builtins(report), "out": out})
        return
    for line in lines(report):
        typer.echo(line)
    typer.echo(out)
