"""``reknit check``: the protocol under random schedules with faults, judged by independent checkers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

import typer

from reknit.cli._problem import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from reknit.sim.campaign import Report, SeedResult, Subject
    from reknit.sim.circle import CircleOutcome
    from reknit.sim.gathering import GatheringOutcome
    from reknit.sim.schedule import Outcome

__all__ = ["check", "register"]

EXIT_VIOLATIONS = 1
SEEDS = 200
FAULTS = {
    "break": "broken connection",
    "asymmetric": "one-way cut",
    "crash": "crashed broker",
    "pause": "paused broker",
    "leave": "broker that left",
}
"""What the faults are called here, where their own names are no nouns."""
FAULTS_IN_CHANGES = {"changes": "pauses or cuts", "crashes": "crashes, pauses or cuts"}
"""By focus, where there are others than crashes: what brokers may meet with in a step."""


def register(app: typer.Typer) -> None:
    app.command("check", short_help="Judge the protocol under random faults.")(check)


def check(
    seeds: Annotated[int | None, typer.Option(min=1, help="How many random schedules to run (default 200).")] = None,
    first: Annotated[int | None, typer.Option(min=0, help="The seed of the first one (default 0).")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Run this one schedule, and show all that is wrong.")] = None,
    focus: Annotated[
        str, typer.Option(help="all, changes, crashes, stores, groups, homes, loss, ring, or communities.")
    ] = "all",
    processes: Annotated[int, typer.Option(min=0, help="On so many processes; 0 for all cores.")] = 0,
    trace: Annotated[str, typer.Option(metavar="DIR", help="With --seed: write the trace of the run here.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Run the brokers in the simulator under random schedules, and let the checkers judge the traces.

    Each schedule draws a network, a routing strategy, a workload and faults from its seed: brokers crash, pause and are
    cut off; connections break; datagrams get lost, doubled and overtake each other; links come and go, are swapped and
    replaced; brokers and links are lost for good. Then all other faults are healed and all must come to rest. Exit code
    1 if anything was lost, doubled, unwanted or out of order, if a table is not ideal, or if the overlay was not a tree
    or has fallen apart.

    With --focus changes each schedule swaps links, adds and drains brokers while clients come and go, and no broker
    crashes; with --focus crashes they do that too. Both end with changes of every kind in which one that takes part is
    struck at a chosen message: it crashes, is paused, or is cut off; and with what of the steps of changes, and of such
    faults in them, has not been covered. With --focus stores
    brokers have stores, crash often, also in drains, and lose nothing. With --focus groups clients share subscriptions;
    with --focus homes they go from broker to broker. With --focus loss events are lost on
    links, and must be brought back as long as somebody has them. With --focus ring brokers route by rendezvous, on a
    ring that changes all the time. With --focus communities there are peers that gossip in communities of topics, and
    no brokers, or a few as gateways; in each schedule datagrams are lost, peers come and go, and the network falls
    apart. All schedules together are held to how many deliveries chance makes, too.

    Example: reknit check --seeds 2000
    """
    look_at = _focus(focus)
    if seed is not None:
        if seeds is not None or first is not None:
            raise BadInput(f"check: --seed is one schedule; leave out {'--seeds' if seeds is not None else '--first'}")
        _check_one(seed, look_at, trace, as_json)
        return
    if trace:
        raise BadInput("check: --trace is for one schedule; name it with --seed")
    from reknit.sim.campaign import Report, run_campaign

    report = Report()
    count = seeds or SEEDS
    numbers = range(first or 0, (first or 0) + count)
    for result in _with_progress(run_campaign(numbers, processes or None, look_at), count, report):
        report.add(result)
    _print_report(report, look_at, as_json)
    if report.violations or report.short():
        raise typer.Exit(EXIT_VIOLATIONS)


def _focus(name: str) -> Subject:
    from reknit.sim.campaign import SUBJECTS

    for subject in SUBJECTS:
        if subject == name:
            return subject
    raise BadInput(f"check: --focus {name}: it is one of {', '.join(SUBJECTS)}")


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


def _print_report(report: Report, focus: Subject, as_json: bool) -> None:
    if as_json:
        import json

        import msgspec

        typer.echo(
            json.dumps({**msgspec.to_builtins(report), "not_covered": _missing(report.coverage, focus)}, indent=2)
        )
        return
    for result in report.failed:
        _print_failure(result, focus)
    tally = report.tally
    typer.echo(f"{tally.published} events published, {tally.delivered} deliveries, {tally.owed} of them owed")
    _print_coverage(report.coverage)
    _print_missing(report.coverage, focus)
    _print_pools(report)
    typer.echo(_verdict(report.schedules, report.violations))


def _print_coverage(coverage: Mapping[str, int]) -> None:
    """What the schedules have gone through, a line for each kind of thing that is drawn."""
    kinds: dict[str, list[str]] = {}
    for name, count in sorted(coverage.items()):
        kind, colon, what = name.partition(": ")
        if colon:
            told = _count(count, FAULTS.get(what, what)) if kind == "fault" else f"{count} {what}"
            kinds.setdefault(kind, []).append(told)
    if kinds:
        typer.echo("covered:")
    for kind, found in kinds.items():
        typer.echo(f"  {'faults' if kind == 'fault' else kind}: {', '.join(found)}")


def _missing(coverage: Mapping[str, int], focus: Subject) -> list[str]:
    """Where every kind of change is drawn: which steps of them, and faults in them, no schedule has gone through."""
    from reknit.sim.coverage import missing

    return missing(coverage, _expected(focus))


def _expected(focus: Subject) -> list[str]:
    from reknit.sim.coverage import expected, expected_on_ring

    if focus == "ring":
        return expected_on_ring()
    return expected(focus == "crashes") if focus in ("changes", "crashes") else []


def _print_missing(coverage: Mapping[str, int], focus: Subject) -> None:
    if not (names := _expected(focus)):
        return
    absent = _missing(coverage, focus)
    what = f"steps of changes and {FAULTS_IN_CHANGES.get(focus, 'crashes')} in them"
    told = "; more schedules may reach them" if absent else ""
    typer.echo(f"not covered: {len(absent)} of {len(names)} {what}{told}")
    for kind, found in _grouped(absent).items():
        typer.echo(f"  {kind}: {', '.join(found)}")


def _grouped(names: list[str]) -> dict[str, list[str]]:
    """By kind of step; where several faults are missing behind the same step, they are named together."""
    faults: dict[tuple[str, str], list[str]] = {}
    for name in names:
        kind, _, what = name.partition(": ")
        fault, in_, change = kind.rpartition(" in ")
        faults.setdefault((f"{in_}{change}", what), []).append(fault)
    kinds: dict[str, list[str]] = {}
    for (change, what), some in faults.items():
        together = " or ".join(filter(None, [", ".join(some[:-1]), some[-1]]))
        kinds.setdefault(f"{together}{change}", []).append(what)
    return kinds


def _print_pools(report: Report) -> None:
    if report.pools:
        told = (f"{pool.received} of {pool.drawn:.0f} by {size} or more" for size, pool in sorted(report.pools.items()))
        typer.echo(f"received in calm, of what is due by chance: {', '.join(told)}")
    for each in report.short():
        typer.echo(f"together: {each}")


def _verdict(schedules: int, violations: int) -> str:
    """As it always was where there are several schedules, since scripts look for that line."""
    if schedules != 1:
        return f"{schedules} schedules, {violations} violations"
    return f"1 schedule, {_count(violations, 'violation')}"


def _count(number: int, noun: str) -> str:
    """One has a head: brokers that left, changes of places."""
    head = re.match(r".+?(?= of | that |$)", noun)
    assert head is not None
    return f"{number} {noun}" if number == 1 else f"{number} {head[0]}s{noun[head.end() :]}"


def _print_failure(result: SeedResult, focus: Subject) -> None:
    typer.echo(f"seed {result.seed}: {_count(result.violation_count, 'violation')}")
    for each in result.violations[:3]:
        typer.echo(f"  {each}")
    again = "" if focus == "all" else f" --focus {focus}"
    typer.echo(f"  repeat it with: reknit check --seed {result.seed}{again}")


def _check_one(seed: int, focus: Subject, trace: str, as_json: bool) -> None:
    from reknit.sim.schedule import run_seed

    if trace:
        _refuse_trace(trace)
    outcome: Outcome | CircleOutcome | GatheringOutcome
    if focus == "communities":
        outcome = _run_gathering(seed)
    elif focus == "ring":
        outcome = _run_circle(seed)
    else:
        outcome = run_seed(seed, focus)
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
        _print_any_plan(outcome)
        for each in outcome.violations:
            typer.echo(f"  {each}")
        typer.echo(_verdict(1, len(outcome.violations)))
    if outcome.violations:
        raise typer.Exit(EXIT_VIOLATIONS)


def _run_gathering(seed: int) -> GatheringOutcome:
    from reknit.sim.gathering import run_gathering_seed

    return run_gathering_seed(seed)


def _run_circle(seed: int) -> CircleOutcome:
    from reknit.sim.circle import run_circle_seed

    return run_circle_seed(seed)


def _print_any_plan(outcome: Outcome | CircleOutcome | GatheringOutcome) -> None:
    from reknit.sim.circle import CircleOutcome
    from reknit.sim.schedule import Outcome

    if isinstance(outcome, Outcome):
        _print_plan(outcome)
    elif isinstance(outcome, CircleOutcome):
        _print_circle(outcome)
    else:
        _print_gathering(outcome)


def _print_circle(outcome: CircleOutcome) -> None:
    plan, tally = outcome.plan, outcome.tally
    happened = ", ".join(_count(count, FAULTS.get(name, name)) for name, count in sorted(outcome.faults.items()))
    typer.echo(f"seed {plan.seed}")
    typer.echo(f"  ring: {plan.brokers} brokers, latency up to {plan.network.latency_s_max:g} s")
    typer.echo(
        f"  clients: {plan.clients_per_broker} at each broker, {plan.publish_per_s:g} events/s, "
        f"{plan.churn_per_s:g} changes of subscriptions/s"
    )
    comings = f"{plan.comers} brokers come, {plan.leavers} leave, {plan.deaths} die for good"
    typer.echo(f"  rounds: {plan.rounds} of {plan.round_s:g} s; in each {comings}")
    placed = f"placed by interest every {plan.update_s:g} s" if plan.update_s else "not placed by interest"
    typer.echo(f"  sessions: {plan.moves} are sent elsewhere in each round; clients are {placed}")
    typer.echo(f"  faults: {happened or 'none'}")
    typer.echo(f"  {tally.published} events published, {tally.delivered} deliveries, {tally.owed} of them owed")


def _print_gathering(outcome: GatheringOutcome) -> None:
    plan, network, topic = outcome.plan, outcome.plan.network, outcome.plan.topic
    happened = ", ".join(_count(count, name) for name, count in sorted(outcome.faults.items()))
    typer.echo(f"seed {plan.seed}")
    typer.echo(f"  peers: {plan.peers}, for {', '.join(plan.topics)}")
    typer.echo(f"  network: {network.loss:.0%} lost, latency up to {network.latency_s_max:g} s")
    typer.echo(f"  topics: c {topic.c:g}, g {topic.g:g}, a {topic.a:g}, z {topic.z}, by {topic.membership}")
    typer.echo(f"  rounds: {plan.rounds} of {plan.round_s:.1f} s")
    typer.echo(f"  faults: {happened or 'none'}")
    typer.echo(f"  {outcome.published} events published, {outcome.delivered} deliveries, {outcome.owed} of them owed")


def _refuse_trace(directory: str) -> None:
    """Before the run, since a run of a minute should not end with a typing error."""
    import os
    from pathlib import Path

    path = Path(directory)
    if path.exists() and not path.is_dir():
        raise BadInput(f"--trace {directory}: is no directory")
    if next(path.glob("node-*"), None) is not None:
        raise BadInput(f"--trace {directory}: there is a trace already; two runs in one directory would read as one")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"--trace {directory}: {error.strerror}") from None
    if not os.access(path, os.W_OK):
        raise BadInput(f"--trace {directory}: cannot be written to")


def _print_plan(outcome: Outcome) -> None:
    plan = outcome.plan
    carried = f"datagrams, {plan.network.loss:.0%} lost" if plan.network.datagrams else "streams"
    covering = " with covering" if plan.covering else ""
    happened = ", ".join(
        _count(count, FAULTS.get(name, name)) for name, count in sorted(outcome.faults.items()) if count
    )
    typer.echo(f"seed {plan.seed}")
    typer.echo(
        f"  network: {plan.brokers} brokers, {plan.shape}, {carried}, latency up to {plan.network.latency_s_max:g} s"
    )
    typer.echo(f"  routing: {plan.routing}{covering}")
    if plan.recovery != "none":
        typer.echo(f"  recovery: {plan.recovery}, with cache {plan.cache}")
    typer.echo(
        f"  clients: {plan.clients_per_broker} at each broker, {plan.publish_per_s:g} events/s, "
        f"{plan.churn_per_s:g} changes of subscriptions/s, {plan.links_per_s:g} of links/s"
    )
    repaired = f"given up after {plan.lost_s:g} s" if plan.lost_s else "waited for"
    typer.echo(
        f"  the tree: {plan.swaps_per_s:g} swaps/s, {plan.replaces_per_s:g} replacements/s; who is away is {repaired}"
    )
    typer.echo(f"  rounds: {plan.rounds} of {plan.round_s:g} s")
    typer.echo(f"  faults: {happened or 'none'}")
    tally = outcome.tally
    typer.echo(f"  {tally.published} events published, {tally.delivered} deliveries, {tally.owed} of them owed")
