"""docs/trace.md says what is true: its example runs, and no column or kind is left out."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from reknit.trace.columns import VERSION, schema
from reknit.trace.records import Kind

PAGE = (Path(__file__).parents[2] / "docs" / "trace.md").read_text(encoding="utf-8")


def first_cells(section: str) -> list[str]:
    body = PAGE.split(f"\n## {section}\n")[1].split("\n## ")[0]
    return re.findall(r"^\| `(\w+)` \|", body, re.MULTILINE)


def test_the_example_prints_what_the_page_says() -> None:
    code = PAGE.split("```python\n")[1].split("```")[0]
    printed = PAGE.split("It prints:\n\n```\n")[1].split("```")[0]
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout == printed


def test_every_column_is_described_in_its_order() -> None:
    assert first_cells("Columns") == schema().names


def test_every_kind_is_described() -> None:
    assert sorted(first_cells("Kinds")) == sorted(kind.value for kind in Kind)


def test_the_version_is_the_one_that_is_written() -> None:
    assert f"`reknit.trace.version`, now {VERSION}." in PAGE
