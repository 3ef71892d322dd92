"""``reknit store``: look at a broker's store, and save what is sound of a damaged one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reknit.cli._flags import JsonFlag
from reknit.cli._problem import BadInput, Failed

if TYPE_CHECKING:
    from reknit.store.salvage import Findings

__all__ = ["check", "register"]


def register(app: typer.Typer) -> None:
    verbs = typer.Typer(short_help="Check a broker's store.", rich_markup_mode=None, no_args_is_help=True)
    verbs.callback()(_store)
    verbs.command("check", short_help="Say whether a store is as it was written.")(check)
    app.add_typer(verbs, name="store")


def _store() -> None:
    """Look at a broker's store (see docs/durability.md)."""


def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The store of a broker that does not run.")],
    salvage: Annotated[
        Path | None, typer.Option("--salvage", metavar="NEW", help="Copy what is sound into a new store.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Say what a store holds, and what of it is not as it was written. The file itself is left as it is.

    Example: reknit store check b1.store --salvage b1.sound.store
    """
    from reknit.store.entries import StoreError
    from reknit.store.salvage import examine
    from reknit.store.salvage import salvage as copy

    try:
        findings = examine(file) if salvage is None else copy(file, salvage)
    except StoreError as error:
        raise BadInput(str(error)) from None
    if as_json:
        _print_json(file, findings, salvage)
    else:
        _print(file, findings, salvage)
    if findings.faults and salvage is None:
        raise Failed(f"{file}: damaged; `reknit store check {file} --salvage NEW` copies what is sound")


def _print_json(file: Path, findings: Findings, salvaged: Path | None) -> None:
    import json

    found = {
        "file": str(file),
        "broker": findings.name,
        "sound": findings.sound,
        "entries": dict(sorted(findings.entries.items())),
        "faults": findings.faults,
        "salvaged": None if salvaged is None else str(salvaged),
    }
    typer.echo(json.dumps(found, indent=2, ensure_ascii=False))


def _print(file: Path, findings: Findings, salvaged: Path | None) -> None:
    shelves = ", ".join(f"{count} {shelf}" for shelf, count in sorted(findings.entries.items()))
    typer.echo(f"{file}: the store of {findings.name or '?'}: {findings.sound} sound entries ({shelves or 'none'})")
    for line in findings.faults:
        typer.echo(f"not sound: {line}")
    if salvaged is not None:
        typer.echo(f"{salvaged}: the sound entries are there")
