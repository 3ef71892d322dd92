"""``reknit link add`` and ``reknit link remove``: change the overlay while events flow."""

from __future__ import annotations

from typing import Annotated

import typer

from reknit.cli._problem import BadInput

__all__ = ["add", "register", "remove"]


def register(app: typer.Typer) -> None:
    verbs = typer.Typer(help="Add or remove a link while events flow.", no_args_is_help=True, rich_markup_mode=None)
    verbs.command("add")(add)
    verbs.command("remove")(remove)
    app.add_typer(verbs, name="link")


def add(
    a: Annotated[str, typer.Argument(metavar="A", help="One broker.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The other.")],
    admin: Annotated[str, typer.Option(metavar="URL", help="A's operator's door; B is then NAME=HOST:PORT.")] = "",
) -> None:
    """Join two trees by a link between A and B. A link that would close a cycle is refused.

    Example: reknit link add b2 b5
    """
    if a == b.partition("=")[0]:
        raise BadInput(f"link add: {a!r} cannot be linked with itself")
    if admin:
        peer, _, address = b.partition("=")
    else:
        from reknit.cli._operator import find_state
        from reknit.live.plan import dialler

        state = find_state()
        one, other = state.broker(a), state.broker(b)
        if dialler(a, b) == b:
            one, other = other, one
        admin, peer, address = one.admin, other.name, other.listen
    _change(admin, "POST", "/links", {"peer": peer, "address": address})
    typer.echo(f"{a} and {b} are linked")


def remove(
    a: Annotated[str, typer.Argument(metavar="A", help="One broker.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The other.")],
    admin: Annotated[str, typer.Option(metavar="URL", help="A's operator's door.")] = "",
) -> None:
    """Split the tree at the link between A and B.

    Example: reknit link remove b2 b3
    """
    if not admin:
        from reknit.cli._operator import find_state

        state = find_state()
        state.broker(b)
        admin = state.broker(a).admin
    _change(admin, "DELETE", f"/links/{b}")
    typer.echo(f"{a} and {b} are not linked any more")


def _change(admin: str, method: str, path: str, body: dict[str, str] | None = None) -> None:
    from reknit.cli._operator import Operator

    with Operator([admin]) as operator:
        operator.change(method, operator.urls[0], path, body)
