"""Flags that several verbs have: the same words, the same help."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

__all__ = ["AdminFlag", "DryRunFlag", "GapsFlag", "JsonFlag", "LogFormatFlag", "LogLevelFlag", "VerifyFlag"]

AdminFlag: TypeAlias = Annotated[
    list[str], typer.Option("--admin", metavar="URL", help="An operators' door; give one for each broker.")
]
DryRunFlag: TypeAlias = Annotated[
    bool, typer.Option("--dry-run", help="Say whom it touches and what it takes; change nothing.")
]
GapsFlag: TypeAlias = Annotated[
    bool, typer.Option("--allow-gaps", help="Go on where a trace says that records are missing in it.")
]
LogFormatFlag: TypeAlias = Annotated[
    str | None, typer.Option("--log-format", metavar="auto|human|json", help="auto: for people on a terminal.")
]
LogLevelFlag: TypeAlias = Annotated[
    str | None, typer.Option("--log-level", metavar="debug|info|notice|warning|error", help="From which on.")
]
JsonFlag: TypeAlias = Annotated[bool, typer.Option("--json", help="As JSON.")]
VerifyFlag: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--verify/--no-verify", help="Compare every table with the ideal one afterwards; by default if all answer."
    ),
]
