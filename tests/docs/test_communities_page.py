"""The page about communities: what it shows runs and prints that, and the counters and options it names are there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from reknit.community.options import TopicOptions

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "communities.md").read_text(encoding="utf-8")
SHELL = re.findall(r"<!-- runs -->\n```sh\n(.*?)```\n\n<!-- prints -->\n```\n(.*?)```", PAGE, re.DOTALL)
PYTHON = re.findall(r"```python\n(.*?)```\n\nIt prints:\n\n```\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize(("command", "printed"), SHELL, ids=range(len(SHELL)))
def test_a_command_prints_what_the_page_says(command: str, printed: str) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    words = ["bash", "-c", command]
    ran = subprocess.run(words, capture_output=True, text=True, timeout=120, env={**os.environ, "PATH": path})
    assert (ran.stdout, ran.stderr) == (printed, "")


@pytest.mark.parametrize(("code", "printed"), PYTHON, ids=range(len(PYTHON)))
def test_a_program_prints_what_the_page_says(code: str, printed: str) -> None:
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (sorted(ran.stdout.splitlines()), ran.stderr) == (sorted(printed.splitlines()), "")


def test_no_example_is_left_out() -> None:
    assert len(SHELL) == PAGE.count("<!-- runs -->") == 1
    assert len(PYTHON) == PAGE.count("```python") == 1


def test_every_counter_that_is_named_is_counted() -> None:
    table = PAGE.split("| counter |")[1]
    named = re.findall(r"`(\w+)`", "".join(line.split("|")[1] for line in table.splitlines()[2:]))
    source = "".join(path.read_text() for part in ("community", "live/peers") for path in
                     (ROOT / "src/reknit" / part).rglob("*.py"))  # fmt: skip
    assert len(named) > 10
    assert [name for name in named if f'"{name}"' not in source] == []


def test_every_option_that_is_named_has_its_default() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\S+) \|", PAGE, re.MULTILINE)
    defaults = {field.name: field.default for field in msgspec.structs.fields(TopicOptions)}
    shown = {name: default.strip("`") for name, default in rows if name in defaults and name != "tau"}
    assert len(shown) == 7
    for name, default in shown.items():
        plain = f"{defaults[name]:g}" if isinstance(defaults[name], float) else str(defaults[name]).lower()
        assert default == plain
