"""``reknit password``: set or remove the password of a user in a file that brokers read."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from reknit.cli._flags import JsonFlag
from reknit.cli._problem import BadInput

__all__ = ["password", "register"]


def register(app: typer.Typer) -> None:
    app.command("password", short_help="Set or remove a user's password.")(password)


def password(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file of passwords; made if it is not there.")],
    user: Annotated[str, typer.Argument(metavar="USER", help="Whose password.")],
    remove: Annotated[bool, typer.Option("--remove", help="Take the user out of the file.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Set the password of USER in FILE, or remove USER. The password is asked for, or read from standard input.

    Only what cannot be turned back is written. Brokers read the file when they begin, and again when they are told to.

    Example: reknit password passwords.txt ann
    """
    from reknit.live.passwords import set_password

    secret = None if remove else _ask(user)
    try:
        known = set_password(file, user, secret)
    except OSError as error:
        raise BadInput(f"password: {file}: {error.strerror}") from None
    if remove and not known:
        raise BadInput(f"password: there is no user {user!r} in {file}")
    if as_json:
        import json

        typer.echo(json.dumps({"user": user, "file": str(file), "removed": remove}, ensure_ascii=False))
    else:
        typer.echo(f"{user} is removed from {file}" if remove else f"{file}: the password of {user} is set")


def _ask(user: str) -> str:
    if sys.stdin.isatty():
        return str(typer.prompt(f"password of {user}", hide_input=True, confirmation_prompt=True))
    given = sys.stdin.readline().rstrip("\n")
    if not given:
        raise BadInput("password: there is none on standard input")
    return given
