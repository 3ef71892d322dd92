"""``reknit lab``: what the papers claim, measured on the code that ships."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from pathlib import Path

    from reknit.lab.experiment import Experiment
    from reknit.lab.experiment import Scale as LabScale
    from reknit.lab.report import Report
    from reknit.lab.run import Mapper

__all__ = ["compare", "list_experiments", "register", "run"]

OUT = "out/lab"
EXIT_DISAGREES = 1
WIDTH_PIPED = 160
"""Columns of a table where there is no terminal to ask."""


HELP = """Measure what the papers claim.

\b
    reknit lab list
    reknit lab run forwarding-vs-flooding --scale quick
    reknit lab compare
"""


class ScaleName(StrEnum):
    """As ``reknit.lab.experiment.Scale``, which is imported only when it is needed."""

    quick = "quick"
    paper = "paper"


def register(app: typer.Typer) -> None:
    lab = typer.Typer(
        no_args_is_help=True, rich_markup_mode=None, help=HELP, short_help="Measure what the papers claim."
    )
    lab.command("list", short_help="Show the experiments and their claims.")(list_experiments)
    lab.command("run", short_help="Run experiments in the simulator.")(run)
    lab.command("compare", short_help="Hold the results against the papers.")(compare)
    app.add_typer(lab, name="lab")


# --- list


def list_experiments(as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False) -> None:
    """Show the experiments: where each claim stands, and what it says.

    Example: reknit lab list
    """
    from reknit.lab.registry import all_experiments

    fields = ("id", "paper", "figure", "claim")
    rows = [{name: getattr(each, name) for name in fields} for each in all_experiments().values()]
    if as_json:
        import json

        typer.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    _print_table(list(fields), [[row[name] for name in fields] for row in rows])


# --- run


def run(
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID...", help="The experiments to run.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Run all of them.")] = False,
    scale: Annotated[ScaleName, typer.Option(help="A quick look, or the sizes of the paper.")] = ScaleName.quick,
    seeds: Annotated[int | None, typer.Option(min=1, help="Seeds for each point; each experiment has its own.")] = None,
    processes: Annotated[int, typer.Option(min=0, help="On so many processes; 0 for all cores, also Spark's.")] = 0,
    out: Annotated[str, typer.Option(metavar="DIR", help="Where the results go, a directory for each.")] = OUT,
    spark: Annotated[bool, typer.Option("--spark", help="Measure on Spark, also on a cluster.")] = False,
    master: Annotated[str, typer.Option(help="With --spark: its master, as local[2].")] = "",
    remote: Annotated[str, typer.Option(help="With --spark: a server of Spark Connect, as sc://host:15002.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, when all are done.")] = False,
) -> None:
    """Run experiments in the simulator. Each leaves results.parquet, figure.png and report.json in DIR/ID.

    The same seeds give the same results, on any number of processes, and on Spark. What several of the experiments show
    of the same runs is measured once. A run that was broken off goes on where it was if it is started again with the
    same code; a measurement that fails is named with its seed.

    Example: reknit lab run forwarding-vs-flooding --scale quick
    """
    from reknit.cli._problem import BadInput
    from reknit.lab.experiment import Scale

    if (master or remote) and not spark:
        raise BadInput("lab run: --master and --remote are for --spark")
    chosen = _choose(ids or [], every)
    home = _directory(out)
    measuring = _on_spark(processes, master, remote) if spark else _here(processes)
    reports = _run_all(chosen, home, Scale(scale.value), seeds, measuring)
    if as_json:
        _print_json(list(reports))
        return
    for report in reports:
        typer.echo(f"{report.id}: {report.verdict} ({report.seeds} seeds, {report.seconds:g} s) {home / report.id}")


def _directory(out: str) -> Path:
    """Made before anything is measured, since a typing error should not cost the measurements of an hour."""
    from pathlib import Path

    from reknit.cli._problem import BadInput

    try:
        Path(out).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"--out {out}: {error.strerror or error}") from error
    return Path(out)


def _choose(ids: list[str], every: bool) -> list[Experiment]:
    from reknit.cli._problem import BadInput
    from reknit.lab.registry import all_experiments, find_experiments

    if every and ids:
        raise BadInput("name experiments, or give --all, not both")
    if not every and not ids:
        raise BadInput(f"name an experiment, or give --all; there are: {', '.join(all_experiments())}")
    return list(all_experiments().values()) if every else find_experiments(ids)


def _here(processes: int) -> AbstractContextManager[Mapper]:
    from reknit.lab.run import workers

    return workers(processes)


@contextmanager
def _on_spark(processes: int, master: str, remote: str) -> Iterator[Mapper]:
    from reknit.cli.pipeline import with_spark
    from reknit.lab.run import measure

    with with_spark():
        from reknit.pipeline.session import Place, session
        from reknit.pipeline.sweep import JAVA, parallelism, sweep

        with session(Place(master, remote, name="reknit lab", java_options=JAVA)) as spark:
            yield sweep(spark, measure, processes or parallelism(spark))


def _run_all(
    chosen: list[Experiment],
    out: Path,
    scale: LabScale,
    seeds: int | None,
    measuring: AbstractContextManager[Mapper],
) -> Iterator[Report]:
    from reknit.lab.revision import revision
    from reknit.lab.run import run_experiment, sharing, task_count

    commit = revision()
    with measuring as alone:
        mapper = sharing(alone)
        for each in chosen:
            with _progress(each.id, task_count(each, scale, seeds)) as advance:
                report = run_experiment(each, out, scale, seeds, mapper, commit, advance)
            yield report


@contextmanager
def _progress(title: str, total: int) -> Iterator[Callable[[], None]]:
    """A bar on the terminal, if there is one."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn(title), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(title, total=total)
        yield lambda: progress.advance(task)


# --- compare


def compare(
    directory: Annotated[str, typer.Argument(metavar="DIR", help="Where the results are.")] = OUT,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Hold what was measured against what was published. Exit code 1 if some verdict is not as claimed.

    Example: reknit lab compare
    """
    from pathlib import Path

    from reknit.lab.compare import disagreeing
    from reknit.lab.report import read_reports

    reports = read_reports(Path(directory))
    if as_json:
        _print_json(reports)
    else:
        for report in reports:
            _print_report(report)
        typer.echo(f"{len(reports)} experiments, {len(disagreeing(reports))} not as claimed")
    if disagreeing(reports):
        raise typer.Exit(EXIT_DISAGREES)


def _print_json(reports: list[Report]) -> None:
    import json

    import msgspec

    typer.echo(json.dumps(msgspec.to_builtins(reports), indent=2, ensure_ascii=False))


def _print_report(report: Report) -> None:
    from reknit.lab.compare import lines_of

    typer.echo(f"{report.id}: {report.verdict}")
    typer.echo(f"  {report.paper}, {report.figure}; scale {report.scale}, {report.seeds} seeds, commit {report.commit}")
    rows = [[line.quantity, line.published, line.measured] for line in lines_of(report)]
    _print_table(["quantity", "published", "measured"], rows)


def _print_table(columns: list[str], rows: list[list[str]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(*columns, box=box.SIMPLE_HEAD, show_lines=False)
    for row in rows:
        table.add_row(*row)
    on_terminal = Console().is_terminal
    Console(markup=False, highlight=False, width=None if on_terminal else WIDTH_PIPED).print(table)
