"""``reknit swap``: turn one link into another, beside it, while events flow."""

from __future__ import annotations

from typing import Annotated

import typer

from reknit.cli._flags import AdminFlag, DryRunFlag, JsonFlag, VerifyFlag

__all__ = ["register", "swap"]


def register(app: typer.Typer) -> None:
    app.command("swap", short_help="Turn the link A - B into A - C while events flow.")(swap)


def swap(
    a: Annotated[str, typer.Argument(metavar="A", help="Whose link moves.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The neighbour to which it leads now.")],
    c: Annotated[str, typer.Argument(metavar="C", help="A neighbour of B, to which it is to lead.")],
    dry_run: DryRunFlag = False,
    verify: VerifyFlag = None,
    admin: AdminFlag = [],  # noqa: B006
    as_json: JsonFlag = False,
) -> None:
    """Turn the link between A and B into one between A and C, a neighbour of B. Nothing is lost, doubled or disordered.

    Only the three take part, and of their doors those of A and B are needed. `reknit change undo` turns it back.

    Example: reknit swap b1 b2 b3 --dry-run
    """
    from reknit.cli._changes.plans import plan_swap
    from reknit.cli._changes.run import Manner, run
    from reknit.core.overlay.swap import Step

    run(Manner(admin, dry_run, verify, as_json), lambda _, view: plan_swap(view, Step(a, b, c)))
