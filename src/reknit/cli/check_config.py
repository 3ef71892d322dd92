"""``reknit check-config``: is a configuration good, and what does it say that is not the default?"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from reknit.cli._flags import JsonFlag

__all__ = ["check_config", "register"]


def register(app: typer.Typer) -> None:
    app.command("check-config", short_help="Look at a configuration before it is used.")(check_config)


def check_config(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="A broker's file, or a network's.")],
    as_json: JsonFlag = False,
) -> None:
    """Read FILE as a broker or `reknit up` would, with the environment over it, and all that it names.

    What is wrong is one line, and exit code 2. Else each setting that is not the default is printed, with where it
    comes from: the file, or a variable REKNIT__SECTION__KEY.

    Example: reknit check-config broker.toml
    """
    import json

    import msgspec

    from reknit.live.check import check_file

    checked = check_file(file, os.environ)
    if as_json:
        typer.echo(json.dumps(msgspec.to_builtins(checked), indent=2))
        return
    count = len(checked.settings)
    typer.echo(f"{file}: good, for a {checked.kind}; {count} setting{'s' if count != 1 else ''} not at the default")
    for each in checked.settings:
        source = "" if each.source == "file" else f"  # {each.source}"
        typer.echo(f"  {each.key} = {json.dumps(each.value, ensure_ascii=False)}{source}")
