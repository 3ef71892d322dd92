"""``reknit demo``: a network, twenty clients, one broker killed, links swapped, and what the checkers say."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reknit.cli._problem import BadInput

if TYPE_CHECKING:
    from reknit.cli._demo.play import Outcome, Script

__all__ = ["demo", "register"]

EXIT_NOT_CLEAN = 1
EVENTS_MIN = 100
EVENTS_MAX = 100_000
BROKERS_MIN = 3
BROKERS_MAX = 20


def register(app: typer.Typer) -> None:
    app.command("demo", short_help="Kill a broker and change a tree at work, and judge.")(demo)


def demo(
    events: Annotated[
        int, typer.Option(min=EVENTS_MIN, max=EVENTS_MAX, metavar="N", help="How many to publish.")
    ] = 3000,
    brokers: Annotated[int, typer.Option(min=BROKERS_MIN, max=BROKERS_MAX, metavar="N", help="How many brokers.")] = 5,
    seed: Annotated[int, typer.Option(metavar="N", help="Chooses the tree and the clients.")] = 12,
    keep: Annotated[Path | None, typer.Option(metavar="DIR", help="Keep the trace there, as DIR/trace.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The outcome as JSON, and nothing else.")] = False,
) -> None:
    """Run a network of brokers, let clients talk, kill the broker in the middle, change the tree, and judge.

    Every broker is a process; the clients speak MQTT over real sockets; events flow while the broker is dead, while
    it comes back, while links are swapped, while a broker is added, and while another is drained. Then independent
    checkers read the trace, and the clients' own notes are judged beside it. Exit code 1 if anything was lost,
    duplicated, out of order or unwanted.

    Example: reknit demo --seed 7 --keep out/demo
    """
    from reknit.cli._demo.play import Script

    with _directory(keep) as directory:
        script = Script(seed=seed, brokers=brokers, events=events, directory=directory)
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
