"""docs/lab.md says what is true: its example runs, and every experiment and every field is on the page."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

from reknit.lab.experiment import Experiment
from reknit.lab.registry import all_experiments
from reknit.lab.report import Report

PAGE = (Path(__file__).parents[2] / "docs" / "lab.md").read_text(encoding="utf-8")


def test_the_example_prints_what_the_page_says() -> None:
    code = PAGE.split("```python\n")[1].split("```")[0]
    printed = PAGE.split("It prints:\n\n```\n")[1].split("```")[0]
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout == printed


def test_every_experiment_has_its_section() -> None:
    assert re.findall(r"^### (\S+)$", PAGE, re.MULTILINE) == list(all_experiments())


def test_every_field_of_a_report_and_of_an_experiment_is_named() -> None:
    named = set(re.findall(r"`(\w+)(?:\([\w, ]*\))?`", PAGE))
    assert named >= {*Report.__struct_fields__, *(each.name for each in fields(Experiment))}
