"""The command line: one file per verb.

Owns: finding the verbs, and turning an error into one line and an exit code: 2 for bad input, 1 for a failure. Must
not know: what any verb does. A verb is a public module of this package with a function ``register(app)``; it imports
what it needs inside its function, so that ``--help`` is quick.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from collections.abc import Sequence
from contextvars import ContextVar

import typer

from reknit import __version__

__all__ = ["OPERATOR_FILE", "build_app", "main"]

EXIT_FAILURE = 1
EXIT_BAD_INPUT = 2
EXIT_INTERRUPTED = 130
OPERATOR_FILE: ContextVar[str] = ContextVar("operator_file", default="")
"""What ``--operator-file`` says, for a verb that asks brokers."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one verb, and exit."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    sys.exit(_run(words))


def build_app(only: str = "") -> typer.Typer:
    """The app with every verb, or with ``only`` one, which starts sooner."""
    app = typer.Typer(
        name="reknit",
        help="A publish/subscribe network whose shape can change while events flow.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback()(_root)
    names = [module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")]
    for name in [only] if only in names else sorted(names):
        importlib.import_module(f"{__name__}.{name}").register(app)
    return app


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"reknit {__version__}")
        raise typer.Exit


def _root(
    version: bool = typer.Option(False, "--version", help="Print the version.", is_eager=True, callback=_version),
    operator_file: str = typer.Option(
        "", metavar="FILE", help="What to show at operators' doors: a token, or USER:PASSWORD (or REKNIT_OPERATOR)."
    ),
) -> None:
    OPERATOR_FILE.set(operator_file)


def _run(words: list[str]) -> int:
    """The exit code. Errors that carry one are for the user, one line each; any other is a bug and shows where."""
    app = build_app(words[0].replace("-", "_") if words else "")
    try:
        code = app(words, prog_name="reknit", standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        code = EXIT_INTERRUPTED
    except BrokenPipeError:
        _drop_output()
        return EXIT_FAILURE
    except Exception as error:
        if not isinstance(exit_code := getattr(error, "exit_code", None), int):
            raise
        typer.echo(_line(error), err=True)
        return exit_code
    if code == EXIT_INTERRUPTED:  # typer makes this of a KeyboardInterrupt, too
        typer.echo("reknit: interrupted", err=True)
    return code if isinstance(code, int) else 0


def _line(error: Exception) -> str:
    """Where the error is about the use of a verb, name the help that would have avoided it."""
    context = getattr(error, "ctx", None)
    text = error.format_message() if hasattr(error, "format_message") else str(error)
    if context is None:
        return f"reknit: {text}"
    return text if text.startswith("Usage:") else f"{context.command_path}: {text} (see {context.command_path} --help)"


def _drop_output() -> None:
    """Whoever read our output is gone, so nothing is left to be flushed to him at the end."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, sys.stdout.fileno())
