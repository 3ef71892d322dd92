"""The command line as a whole: help is quick and complete, an error is one line with the right exit code."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from typer.main import get_command

from reknit import __version__
from reknit.cli import build_app

VERBS = [
    "broker",
    "change",
    "check",
    "check-config",
    "counters",
    "demo",
    "link",
    "password",
    "pub",
    "rr",
    "sub",
    "swap",
    "top",
    "topology",
    "up",
    "verify-routes",
]
PARTS = ["link add", "link remove", "link replace", "change list", "change show", "change undo", "broker add"]


def test_help_names_every_verb(reknit: Callable[..., Any]) -> None:
    said = reknit("--help")
    assert said.code == 0
    assert all(verb in said.out for verb in VERBS)
    assert reknit("--version").out == f"reknit {__version__}\n"


@pytest.mark.parametrize(
    "verb", [*(verb.split() for verb in VERBS if verb not in ("link", "change")), *(part.split() for part in PARTS)]
)
def test_each_verbs_help_has_an_example(reknit: Callable[..., Any], verb: list[str]) -> None:
    said = reknit(*verb, "--help")
    assert said.code == 0
    assert f"Example: reknit {' '.join(verb)}" in " ".join(said.out.split())


WITHOUT_JSON = {
    "broker": "runs until it is ended, and prints its log, which has --log-format json",
    "pub": "prints nothing",
}
"""Verbs that have no result to print, and why."""


def verbs(command: Any, *words: str) -> Iterator[tuple[str, Any]]:
    """All that can be run, by their words."""
    parts = getattr(command, "commands", {})
    if words and (not parts or command.invoke_without_command):
        yield " ".join(words), command
    for name, part in sorted(parts.items()):
        yield from verbs(part, *words, name)


def test_each_verb_that_prints_a_result_prints_it_as_json_too() -> None:
    takes = {name: any("--json" in each.opts for each in verb.params) for name, verb in verbs(get_command(build_app()))}
    assert len(takes) > 30
    assert {name for name, does in takes.items() if not does} == set(WITHOUT_JSON)


def test_no_verbs_help_is_cut_short(reknit: Callable[..., Any]) -> None:
    for words in ([], ["link"], ["lab"], ["change"], ["broker"]):
        assert "..." not in reknit(*words, "--help").out.partition("Commands:")[2]


def test_ctrl_c_is_one_line(reknit: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("reknit.cli._operator.find_state", interrupted)
    said = reknit("topology")
    assert (said.code, said.out, said.err) == (130, "", "reknit: interrupted\n")


def test_h_is_the_host_and_not_help(reknit: Callable[..., Any]) -> None:
    assert reknit("pub", "-h").code == 2
    assert "-h, --host" in reknit("sub", "--help").out


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["frobnicate"], "No such command"),
        (["password"], "reknit password: Missing argument"),
        (["up", "--brokers", "many"], "reknit up: Invalid value for '--brokers': .*valid integer"),
        (["link", "add", "b1"], "reknit link add: Missing argument"),
    ],
)
def test_wrong_use_is_one_line_and_exit_code_2(reknit: Callable[..., Any], words: list[str], line: str) -> None:
    import re

    said = reknit(*words)
    assert (said.code, said.out) == (2, "")
    assert re.search(line, said.err)
    assert said.err.count("\n") == 1
    assert "--help" in said.err


def test_help_does_not_load_what_it_does_not_need() -> None:
    heavy = ["numpy", "pyarrow", "uvicorn", "httpx", "aiomqtt", "lark", "matplotlib", "reknit.core", "reknit.mqtt"]
    code = f"""
import sys
from reknit.cli import main
try:
    main(["--help"])
except SystemExit:
    pass
print([name for name in {heavy!r} if name in sys.modules], file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stderr == "[]\n"


def test_the_module_runs_like_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "reknit", "--version"], capture_output=True, check=True, text=True)
    assert done.stdout == f"reknit {__version__}\n"
