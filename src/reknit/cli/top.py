"""``reknit top``: the brokers and links of a network, live in the terminal."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reknit.cli._flags import AdminFlag, JsonFlag
from reknit.cli._problem import BadInput

if TYPE_CHECKING:
    from reknit.cli._top import Look

__all__ = ["register", "top"]

EXIT_SILENT = 1
WIDTH = 200
"""Where there is no terminal that has one."""


def register(app: typer.Typer) -> None:
    app.command("top", short_help="Watch the brokers and links of a network.")(top)


def top(
    admin: AdminFlag = [],  # noqa: B006
    interval: Annotated[float, typer.Option("--interval", min=0.1, metavar="SECONDS", help="Between two looks.")] = 1.0,
    once: Annotated[bool, typer.Option("--once", help="Print it once: the rates of one interval.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Watch brokers, links, rates, queues and the pace of turns until Ctrl-C; once where nobody sees a terminal.

    Example: reknit top --once
    """
    from rich.console import Console

    if as_json and not once:
        raise BadInput("top: --json needs --once")
    console = Console()
    if once or not console.is_terminal:
        _once(admin, interval, as_json, console if console.is_terminal else Console(width=WIDTH))
    else:
        _live(admin, interval, console)


def _once(admin: list[str], interval_s: float, as_json: bool, console: Any) -> None:
    from reknit.cli._top import broker_rows, link_rows, tables

    before = _look(admin)
    time.sleep(interval_s)
    after = _look(admin)
    brokers, links = broker_rows(before, after), link_rows(after)
    if as_json:
        import msgspec

        found = msgspec.json.encode({"brokers": brokers, "links": links})
        typer.echo(msgspec.json.format(found, indent=2).decode())
    else:
        console.print(tables(brokers, links), soft_wrap=True)
    if any(look.counters is None for look in after):
        raise typer.Exit(EXIT_SILENT)


def _live(admin: list[str], interval_s: float, console: Any) -> None:
    from rich.live import Live

    from reknit.cli._top import broker_rows, link_rows, tables

    before = _look(admin)
    with Live(console=console, screen=True, auto_refresh=False) as live:
        while True:
            after = _look(admin)
            live.update(tables(broker_rows(before, after), link_rows(after)), refresh=True)
            before = after
            time.sleep(interval_s)


def _look(admin: list[str]) -> list[Look]:
    """Anew each time, since brokers come and go."""
    from reknit.cli._operator import Operator
    from reknit.cli._top import Look

    with Operator(admin) as operator:
        topologies, counters = operator.ask("/topology"), operator.ask("/counters")
    now = time.monotonic()
    return [
        Look(one.name or url, now, one.said, other.said)
        for one, other, url in zip(topologies, counters, admin or [""] * len(topologies), strict=True)
    ]
