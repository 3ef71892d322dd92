"""``reknit counters``: what the brokers have counted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

__all__ = ["counters", "register"]

EXIT_SILENT = 1


def register(app: typer.Typer) -> None:
    app.command("counters", short_help="Show what the brokers have counted.")(counters)


def counters(
    admin: Annotated[
        list[str], typer.Option(metavar="URL", help="An operator's door; may be given several times.")
    ] = [],  # noqa: B006
    every: Annotated[bool, typer.Option("--all", help="Also those that are 0.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Show what each broker has counted since it began, by who counts. Exit code 1 if one does not answer.

    Example: reknit counters
    """
    from reknit.cli._operator import Operator

    with Operator(admin) as operator:
        names = [each.name for each in operator.ask("/healthz")]
        answers = operator.ask("/counters")
    named = [(known or each.name, each) for known, each in zip(names, answers, strict=True)]
    if as_json:
        import json

        found = {name: each.said for name, each in named if each.said is not None}
        typer.echo(json.dumps(found, indent=2))
    else:
        for name, each in named:
            if each.said is not None:
                _print(name, each.said, every)
    silent = [each for _, each in named if each.said is None]
    for each in silent:
        typer.echo(f"reknit: {each.error}", err=True)
    if silent:
        raise typer.Exit(EXIT_SILENT)


def _print(name: str, counted: dict[str, Any], every: bool) -> None:
    typer.echo(name)
    for path, value in _flat(counted):
        if every or value:
            typer.echo(f"  {path} {value}")


def _flat(counted: dict[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in counted.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", value
