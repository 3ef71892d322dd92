"""``reknit demo``: three stories of a network of processes, each with what is to be said of it at the end.

In the first a broker is killed and the tree changes; in the second (``--loop``) a plan makes a bad tree a good one; in
the third (``--loss``) a link loses events, and they come back.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reknit.cli._problem import BadInput

if TYPE_CHECKING:
    from reknit.cli._demo.loop import LoopOutcome
    from reknit.cli._demo.play import Outcome, Script

__all__ = ["LoopTold", "demo", "register"]

EXIT_NOT_CLEAN = 1
EVENTS, LOOP_EVENTS, LOSS_EVENTS = 3000, 9000, 500
BROKERS, LOOP_BROKERS = 5, 8
EVENTS_MIN = 100
EVENTS_MAX = 100_000
BROKERS_MIN = 3
BROKERS_MAX = 20
REPORT = Path("out/demo/loop.html")


def register(app: typer.Typer) -> None:
    app.command("demo", short_help="Kill a broker and change a tree at work, and judge.")(demo)


def demo(
    events: Annotated[
        int | None, typer.Option(min=EVENTS_MIN, max=EVENTS_MAX, metavar="N", help="How many to publish.")
    ] = None,
    brokers: Annotated[
        int | None, typer.Option(min=BROKERS_MIN, max=BROKERS_MAX, metavar="N", help="How many brokers.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Chooses the tree and the clients.")] = 12,
    keep: Annotated[Path | None, typer.Option(metavar="DIR", help="Keep the trace there, as DIR/trace.")] = None,
    loop: Annotated[bool, typer.Option("--loop", help="The other story: from a trace to a plan, and back.")] = False,
    loss: Annotated[bool, typer.Option("--loss", help="The third story: a link loses events, they come back.")] = False,
    report: Annotated[Path, typer.Option(metavar="FILE", help="Where the page of --loop goes.")] = REPORT,
    shape: Annotated[
        str, typer.Option(metavar="SHAPE", help="The traffic of --loop: edits, or FILE:TOPICS:TIMES of real events.")
    ] = "edits",
    as_json: Annotated[bool, typer.Option("--json", help="The outcome as JSON, and nothing else.")] = False,
) -> None:
    """Run a network of brokers, let clients talk, kill the broker in the middle, change the tree, and judge.

    Every broker is a process; the clients speak MQTT over real sockets; events flow while the broker is dead, while
    it comes back, while links are swapped, while a broker is added, and while another is drained. Then independent
    checkers read the trace, and the clients' own notes are judged beside it. Exit code 1 if anything was lost,
    duplicated, out of order or unwanted.

    With --loop: a tree that suits its traffic badly; the trace becomes a plan on Spark, which is carried out while
    events flow; and what that saves is measured, beside the prediction. Exit code 1 also if it saves less than a
    quarter of the messages over links, or if the prediction is off by more than 5 %. How unequal topics are, and how
    unevenly their events come, is that of Wikipedia's edits, or of a Parquet file of real events, of which --shape
    names the columns that tell what and when.

    With --loss: two brokers whose link loses a fifth of its datagrams; the subscriber is told what it misses, and gets
    it back in its order. Exit code 1 unless it gets everything, once.

    Example: reknit demo --seed 7 --keep out/demo
    """
    from reknit.cli._demo.play import Script

    if loop:
        _loop(LoopTold(seed, brokers, events, shape), keep, report, as_json)
        return
    if loss:
        _loss(seed, events, as_json)
        return
    with _directory(keep) as directory:
        script = Script(seed=seed, brokers=brokers or BROKERS, events=events or EVENTS, directory=directory)
        outcome = _play(script, as_json)
    if not outcome.clean:
        raise typer.Exit(EXIT_NOT_CLEAN)


@contextlib.contextmanager
def _directory(keep: Path | None) -> Iterator[Path]:
    """The directory to be kept, or one that goes away at the end."""
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="reknit-demo-") as name:
            yield Path(name)
        return
    if (keep / "trace").exists():
        raise BadInput(f"--keep: {keep / 'trace'} is there already; two runs in one directory would read as one")
    try:
        keep.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"--keep: {keep}: {error.strerror}") from None
    yield keep


def _play(script: Script, as_json: bool) -> Outcome:
    import asyncio
    import logging

    from reknit.cli._demo.play import play

    logging.getLogger("mqtt").setLevel(logging.CRITICAL)  # that clients lose a killed broker is no news here

    if as_json:
        import msgspec

        from reknit.cli._demo.show import Silence

        outcome = asyncio.run(play(script, Silence()))
        document = {"clean": outcome.clean, **msgspec.to_builtins(outcome)}
        typer.echo(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())
        return outcome
    from rich.console import Console

    from reknit.cli._demo.show import Printer, print_outcome

    console = Console()
    with Printer(console, script.events) as printer:
        outcome = asyncio.run(play(script, printer))
    print_outcome(outcome, console)
    return outcome


# --- loss


def _loss(seed: int, events: int | None, as_json: bool) -> None:
    import asyncio
    import logging

    import msgspec

    from reknit.cli._demo.loss import LossScript, play_loss

    logging.getLogger("mqtt").setLevel(logging.CRITICAL)
    with _directory(None) as directory:
        script = LossScript(seed, events or LOSS_EVENTS, directory)
        outcome = asyncio.run(play_loss(script, (lambda line: None) if as_json else typer.echo))
    if as_json:
        typer.echo(msgspec.json.format(msgspec.json.encode(outcome.told()), indent=2).decode())
    else:
        typer.echo("all came, each once and in its place" if outcome.clean else "not all came, or not as they should")
    if not outcome.clean:
        raise typer.Exit(EXIT_NOT_CLEAN)


# --- the loop


@dataclass(frozen=True, slots=True)
class LoopTold:
    seed: int
    brokers: int | None
    events: int | None
    shape: str


def _loop(told: LoopTold, keep: Path | None, report: Path, as_json: bool) -> None:
    import asyncio
    import logging

    from reknit.cli._demo.loop import LoopScript, play_loop
    from reknit.cli._demo.report import page
    from reknit.cli._demo.shape import read_shape
    from reknit.cli.pipeline import with_spark

    logging.getLogger("mqtt").setLevel(logging.CRITICAL)
    shape = read_shape(told.shape)
    with _directory(keep) as directory, with_spark():
        brokers, events = told.brokers or LOOP_BROKERS, told.events or LOOP_EVENTS
        script = LoopScript(told.seed, brokers, events, directory, shape=shape)
        outcome = asyncio.run(play_loop(script, (lambda line: None) if as_json else typer.echo))
    try:
        report.parent.mkdir(parents=True, exist_ok=True)
        report.write_text(page(outcome), encoding="utf-8")
    except OSError as error:
        raise BadInput(f"--report: {report}: {error.strerror}") from None
    _print_loop(outcome, report, as_json)
    if not outcome.reached:
        raise typer.Exit(EXIT_NOT_CLEAN)


def _print_loop(outcome: LoopOutcome, report: Path, as_json: bool) -> None:
    if as_json:
        import msgspec

        numbers = {"saved": outcome.saved, "off": outcome.off, "reached": outcome.reached, "report": str(report)}
        document = {**numbers, **msgspec.to_builtins(outcome)}
        typer.echo(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())
        return
    before, after = outcome.watched, outcome.measured
    typer.echo(
        f"links crossed by an event: {before.per_event:.3f} before; predicted {outcome.predicted:.3f}, "
        f"measured {after.per_event:.3f}: {outcome.saved:.0%} saved, the prediction off by {outcome.off:.1%}"
    )
    for source, verdict in (("the brokers' trace", outcome.trace), ("the clients' notes", outcome.clients)):
        wrong = f"lost {verdict.lost}  duplicated {verdict.duplicated}  out of order {verdict.out_of_order}"
        typer.echo(f"{source}, {verdict.owed:,} deliveries owed: {wrong}")
        for fault in verdict.faults:
            typer.echo(f"  {fault}")
    spark = "  ".join(f"{name.replace('_', ' ')} {count}" for name, count in outcome.spark.items())
    typer.echo(f"the trace, judged on Spark: {spark}")
    judged = "as it should be" if outcome.reached else "NOT AS IT SHOULD BE"
    typer.echo(f"{judged}, in {outcome.seconds:.0f} s (seed {outcome.seed}): {report}")
