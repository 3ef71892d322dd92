"""``reknit check``: the protocol under random schedules with faults, judged by independent checkers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reknit.sim.campaign import Report, SeedResult

__all__ = ["check", "register"]

EXIT_VIOLATIONS = 1


def register(app: typer.Typer) -> None:
    app.command("check")(check)


def check(
    seeds: Annotated[int, typer.Option(min=1, help="How many random schedules to run.")] = 200,
    first: Annotated[int, typer.Option(min=0, help="The seed of the first one.")] = 0,
    seed: Annotated[int | None, typer.Option(min=0, help="Run this one schedule, and show all that is wrong.")] = None,
    processes: Annotated[int, typer.Option(min=0, help="On so many processes; 0 for all cores.")] = 0,
    trace: Annotated[str, typer.Option(metavar="DIR", help="With --seed: write the trace of the run here.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Run the brokers in the simulator under random schedules, and let the checkers judge the traces.

    Each schedule draws a network, a routing strategy, a workload and faults from its seed: brokers crash, pause and are
    cut off; connections break; datagrams get lost, doubled and overtake each other; links come and go. Then all faults
    are healed and all must come to rest. Exit code 1 if anything was lost, doubled, unwanted or out of order, if a
    table is not ideal, or if the overlay was not a tree.

    Example: reknit check --seeds 2000
    """
    if seed is not None:
        _check_one(seed, trace, as_json)
        return
    from reknit.sim.campaign import Report, run_campaign

    report = Report()
    numbers = range(first, first + seeds)
    for result in _with_progress(run_campaign(numbers, processes or None), seeds, report):
        report.add(result)
    _print_report(report, as_json)
    if report.violations:
        raise typer.Exit(EXIT_VIOLATIONS)


def _with_progress(results: Iterator[SeedResult], total: int, report: Report) -> Iterator[SeedResult]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (
        TextColumn("schedules"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[found]}"),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("schedules", total=total, found="")
        for result in results:
            yield result
            progress.update(task, advance=1, found=f"{report.violations} violations")


def _print_report(report: Report, as_json: bool) -> None:
    if as_json:
        import json

        import msgspec

        typer.echo(json.dumps(msgspec.to_builtins(report), indent=2))
        return
    for result in report.failed:
        _print_failure(result)
    tally = report.tally
    typer.echo(f"{tally.published} events published, {tally.delivered} deliveries, {tally.owed} of them owed")
    faults = {name: count for name, count in sorted(report.coverage.items()) if ":" in name}
    typer.echo("covered: " + ", ".join(f"{name} {count}" for name, count in faults.items()))
    typer.echo(f"{report.schedules} schedules, {report.violations} violations")


def _print_failure(result: SeedResult) -> None:
    typer.echo(f"seed {result.seed}: {result.violation_count} violations")
    for each in result.violations[:3]:
        typer.echo(f"  {each}")
    typer.echo(f"  repeat it with: reknit check --seed {result.seed}")


def _check_one(seed: int, trace: str, as_json: bool) -> None:
    from reknit.sim.schedule import run_seed

    outcome = run_seed(seed)
    if trace:
        from reknit.trace.store import write_trace

        write_trace(outcome.records, trace)
    if as_json:
        import json

        import msgspec

        plan = msgspec.to_builtins(outcome.plan)
        violations = [str(each) for each in outcome.violations]
        typer.echo(json.dumps({"plan": plan, "violations": violations, "faults": outcome.faults}, indent=2))
    else:
        typer.echo(f"{outcome.plan}")
        for each in outcome.violations:
            typer.echo(f"  {each}")
        typer.echo(f"1 schedules, {len(outcome.violations)} violations")
    if outcome.violations:
        raise typer.Exit(EXIT_VIOLATIONS)
