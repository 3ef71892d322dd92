"""``reknit change list``, ``show``, ``undo`` and ``resume``: what has become of changes, and the ways back and on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from reknit.cli._flags import AdminFlag, DryRunFlag, JsonFlag, VerifyFlag

if TYPE_CHECKING:
    from reknit.cli._changes.plans import Plan
    from reknit.cli._changes.told import Told
    from reknit.cli._changes.view import View
    from reknit.cli._operator import Operator

__all__ = ["list_changes", "register", "resume", "show", "undo"]

EXIT_SILENT = 1

_Id = Annotated[str, typer.Argument(metavar="ID", help="Of a change, or its first letters.")]


def register(app: typer.Typer) -> None:
    verbs = typer.Typer(
        help="List the changes of the tree, show one, undo it, or go on with it.",
        short_help="List, show, undo or resume changes of the tree.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    verbs.command("list", short_help="List the changes that brokers remember.")(list_changes)
    verbs.command("show", short_help="Show one change, and what each broker did.")(show)
    verbs.command("undo", short_help="Undo one change while events flow.")(undo)
    verbs.command("resume", short_help="Go on with a change that was broken off.")(resume)
    app.add_typer(verbs, name="change")


def list_changes(admin: AdminFlag = [], as_json: JsonFlag = False) -> None:  # noqa: B006
    """List the changes of the tree that the brokers remember, the oldest first, and those that are under way.

    Each broker remembers its last 256, for as long as it lives, or longer if it has a store. Exit code 1 if one of them
    does not answer.

    Example: reknit change list
    """
    from reknit.cli._operator import Operator

    with Operator(admin) as operator:
        changes, silent = _ask(operator)
    if as_json:
        _print_json(changes)
    elif changes:
        _print_table(changes)
    else:
        typer.echo("no broker remembers a change")
    for line in silent:
        typer.echo(f"reknit: {line}", err=True)
    if silent:
        raise typer.Exit(EXIT_SILENT)


def show(name: _Id, admin: AdminFlag = [], as_json: JsonFlag = False) -> None:  # noqa: B006
    """Show one change: how it went, what each broker sent for it, and the command that undoes it.

    Example: reknit change show b1.4d72331986e1
    """
    from reknit.cli._changes.told import find
    from reknit.cli._operator import Operator

    with Operator(admin) as operator:
        found = find(_ask(operator)[0], name, "show")
    if as_json:
        _print_json(found)
        return
    for told in found:
        _print_change(told)


def undo(
    name: _Id,
    dry_run: DryRunFlag = False,
    verify: VerifyFlag = None,
    admin: AdminFlag = [],  # noqa: B006
    as_json: JsonFlag = False,
) -> None:
    """Undo one change while events flow. That is a change, too, and can be undone.

    Example: reknit change undo b1.4d72331986e1 --dry-run
    """
    from reknit.cli._changes.calm import until_over
    from reknit.cli._changes.plans import plan_undo
    from reknit.cli._changes.run import Manner, run
    from reknit.cli._changes.told import deeds_of, find, forgotten, left
    from reknit.cli._changes.view import look

    def plan_for(operator: Operator, view: View) -> Plan:
        until_over(operator, find(_ask(operator)[0], name, "undo")[0].of)
        view, changes = look(operator), _ask(operator)[0]
        found = find(changes, name, "undo")
        if missing := forgotten(found, name):
            typer.echo(f"reknit: {missing}", err=True)
        return plan_undo(view, f"change undo {name}", deeds_of(found), left(changes))

    run(Manner(admin, dry_run, verify, as_json), plan_for)


def resume(
    name: _Id,
    dry_run: DryRunFlag = False,
    verify: VerifyFlag = None,
    admin: AdminFlag = [],  # noqa: B006
    as_json: JsonFlag = False,
) -> None:
    """Go on with a change of several steps that was broken off: the command was ended, or a broker did not answer.

    What is left of it is planned anew on the tree as it is now. It keeps its id, and can be undone as a whole.

    Example: reknit change resume replace.aa45b317-2 --dry-run
    """
    from reknit.cli._changes.resume import plan_resume
    from reknit.cli._changes.run import Manner, run

    run(Manner(admin, dry_run, verify, as_json), lambda operator, _: plan_resume(operator, name))


def _ask(operator: Operator) -> tuple[list[Told], list[str]]:
    """All that is remembered, and a line for each broker that does not answer."""
    from reknit.cli._changes.told import tell

    answers = operator.ask("/changes")
    return tell([each.said for each in answers if each.said is not None]), [
        each.error for each in answers if each.said is None
    ]


# --- printing


def _print_json(changes: list[Told]) -> None:
    import json

    import msgspec

    typer.echo(json.dumps([msgspec.to_builtins(told) for told in changes], indent=2))


def _print_table(changes: list[Told]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in ("change", "what", "begun", "took", "outcome", "step of"):
        table.add_column(name, no_wrap=name not in ("what", "outcome"))
    for column, ids in ((0, [told.id for told in changes]), (-1, [told.of for told in changes])):
        table.columns[column].min_width = max(map(len, ids))  # an id that is cut is none
    for told in changes:
        table.add_row(told.id, str(told.deed), _clock(told.begun), _took(told), told.outcome, told.of)
    Console(soft_wrap=True, markup=False, highlight=False).print(table)


def _print_change(told: Told) -> None:
    typer.echo(f"{told.id}: {told.deed}: {told.outcome}" + (f" (step of {told.of})" if told.of else ""))
    took = f", took {_took(told)}" if told.ended is not None else ""
    without = f" without {', '.join(told.unknown)}" if told.unknown else ""
    typer.echo(f"  begun {_clock(told.begun)}{took}; {told.messages} messages, {told.bytes:,} bytes{without}")
    for part in told.parts:
        now = f", {part['now']['stage']}, waits for {part['now']['waits_for']}" if part["now"] else ""
        typer.echo(f"  {part['broker']} ({part['part']}): {part['messages']} messages, {part['bytes']:,} bytes{now}")
    for name in told.unknown:
        typer.echo(f"  {name}: what it has sent is not known, for it has left, or remembers it no more")
    if told.undo:
        typer.echo(f"  undo: reknit {told.deed.inverse}")


def _clock(seconds: float) -> str:
    import time

    return time.strftime("%H:%M:%S", time.localtime(seconds))


def _took(told: Told) -> str:
    return f"{told.ended - told.begun:.2f} s" if told.ended is not None else ""
