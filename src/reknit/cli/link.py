"""``reknit link add``, ``remove`` and ``replace``: change the overlay while events flow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from reknit.cli._flags import AdminFlag, DryRunFlag, JsonFlag, VerifyFlag
from reknit.cli._problem import BadInput

if TYPE_CHECKING:
    from reknit.cli._operator import Operator

__all__ = ["add", "register", "remove", "replace"]

HELP = """Add, remove or replace a link while events flow.

In the directory of a network that `reknit up` runs, brokers are known by their names:

    reknit link remove b2 b3
    reknit link add b1 b3
    reknit link replace b1 b3 --with b2 b3

Any other broker is reached by its operator's door, and is told where the other one listens for links:

    reknit link add b1 b3=127.0.0.1:7003 --admin http://127.0.0.1:8001
    reknit link remove b1 b3 --admin http://127.0.0.1:8001
"""


def register(app: typer.Typer) -> None:
    verbs = typer.Typer(
        help=HELP.replace(":\n\n    ", ":\n\n\b\n    "),
        short_help="Add, remove or replace a link while events flow.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    verbs.command("add", short_help="Join two trees by a link.")(add)
    verbs.command("remove", short_help="Split a tree at a link.")(remove)
    verbs.command("replace", short_help="Put one link in the place of another.")(replace)
    app.add_typer(verbs, name="link")


def add(
    a: Annotated[str, typer.Argument(metavar="A", help="One broker.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The other; with --admin as NAME=HOST:PORT.")],
    admin: Annotated[
        str, typer.Option(metavar="URL", help="A's operator's door; B is then NAME=HOST:PORT, where it listens.")
    ] = "",
    as_json: JsonFlag = False,
) -> None:
    """Join two trees by a link between A and B. A link that would close a cycle is refused.

    Example: reknit link add b2 b5

    Or, where no `reknit up` runs: reknit link add b2 b5=127.0.0.1:7005 --admin http://127.0.0.1:8002
    """
    peer, equals, address = b.partition("=")
    if a == peer:
        raise BadInput(f"link add: {a!r} cannot be linked with itself")
    if admin:
        _check_peer(b, peer, address)
        with _door(admin, a) as operator:
            operator.change("POST", "/links", {"peer": peer, "address": address})
    else:
        if equals:
            raise BadInput(f"link add: {b!r}: an address is for --admin URL; without it, give the name alone")
        _add_here(a, b)
    _say(f"{a} and {peer} are linked", a, peer, as_json)


def remove(
    a: Annotated[str, typer.Argument(metavar="A", help="One broker.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The other.")],
    admin: Annotated[str, typer.Option(metavar="URL", help="A's operator's door.")] = "",
    as_json: JsonFlag = False,
) -> None:
    """Split the tree at the link between A and B.

    Example: reknit link remove b2 b3

    Or, where no `reknit up` runs: reknit link remove b2 b3 --admin http://127.0.0.1:8002
    """
    from reknit.live.config import check_name

    check_name(b, "link remove")
    if not admin:
        from reknit.cli._operator import find_state

        state = find_state()
        state.broker(b)
        admin = state.broker(a).admin
    with _door(admin, a) as operator:
        operator.change("DELETE", f"/links/{b}")
    _say(f"{a} and {b} are not linked any more", a, b, as_json)


def _say(line: str, a: str, b: str, as_json: bool) -> None:
    import json

    typer.echo(json.dumps({"done": True, "brokers": [a, b]}) if as_json else line)


def replace(
    a: Annotated[str, typer.Argument(metavar="A", help="One end of the link that goes.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The other end.")],
    new: Annotated[
        tuple[str, str], typer.Option("--with", metavar="C D", help="The ends of the link that comes.  [required]")
    ] = ("", ""),
    strategy: Annotated[
        str, typer.Option(metavar="NAME", help="How: swap, path, path-batched, deferred or strawman.")
    ] = "swap",
    dry_run: DryRunFlag = False,
    verify: VerifyFlag = None,
    admin: AdminFlag = [],  # noqa: B006
    as_json: JsonFlag = False,
) -> None:
    """Put a link between C and D in the place of that between A and B.

    By swap, the link slides along the tree, a swap for each hop: the tree is whole at every moment, and nothing is
    lost, doubled or disordered. All others remove the one link and add the other at once, however far apart they are;
    events that would cross them in that moment do not. Path says least, strawman works with every routing.

    Example: reknit link replace b1 b2 --with b1 b4 --dry-run
    """
    from reknit.cli._changes.plans import plan_link
    from reknit.cli._changes.run import Manner, run

    if not all(new):
        raise BadInput("link replace: --with is missing (such as --with b1 b4)")
    run(Manner(admin, dry_run, verify, as_json), lambda _, view: plan_link(view, (a, b), new, strategy))


def _check_peer(text: str, peer: str, address: str) -> None:
    from reknit.live.address import parse_address
    from reknit.live.config import check_name

    if not address:
        raise BadInput(f"link add: with --admin, B is NAME=HOST:PORT (such as b5=127.0.0.1:7005), not {text!r}")
    check_name(peer, "link add")
    parse_address(address, f"link add: {peer}")


def _add_here(a: str, b: str) -> None:
    """Of a network that runs here every address is known, and so is the end that dials."""
    from reknit.cli._operator import find_state
    from reknit.live.plan import dialler

    state = find_state()
    one, other = state.broker(a), state.broker(b)
    if dialler(a, b) == b:
        one, other = other, one
    with _door(one.admin, one.name) as operator:
        operator.change("POST", "/links", {"peer": other.name, "address": other.listen})


def _door(admin: str, name: str) -> Operator:
    """The operator's door of ``name``, once it has said that it is that."""
    from reknit.cli._operator import Operator

    operator = Operator([admin])
    try:
        found = operator.all("/healthz")[0].get("name")
        if found != name:
            raise BadInput(f"--admin: {admin} is the door of {found}, not of {name}")
    except BaseException:
        operator.__exit__()
        raise
    return operator
