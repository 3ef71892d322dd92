"""docs/trace.md says what is true: its example runs, and no column or kind is left out."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from collections import Counter
from pathlib import Path

from reknit.sim.schedule import run_seed
from reknit.trace.columns import VERSION, schema
from reknit.trace.records import Kind
from reknit.trace.store import write_trace

PAGE = (Path(__file__).parents[2] / "docs" / "trace.md").read_text(encoding="utf-8")


def first_cells(section: str) -> list[str]:
    body = PAGE.split(f"\n## {section}\n")[1].split("\n## ")[0]
    return re.findall(r"^\| `(\w+)` \|", body, re.MULTILINE)


def test_the_example_prints_what_the_page_says() -> None:
    code = PAGE.split("```python\n")[1].split("```")[0]
    printed = PAGE.split("It prints:\n\n```\n")[1].split("```")[0]
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout == printed


def test_its_questions_have_answers_in_the_trace_of_a_real_run(tmp_path: Path) -> None:
    example, trace = tmp_path / "example.py", tmp_path / "trace"
    example.write_text(PAGE.split("```python\n")[1].split("```")[0], encoding="utf-8")
    ask = runpy.run_path(str(example))
    run = run_seed(0)
    write_trace(run.records, trace)
    kinds = Counter(record.kind.value for record in run.records)
    assert {row["kind"]: row["count_all"] for row in ask["count_kinds"](trace)} == kinds
    sent = {row["node"]: row["size_sum"] for row in ask["sent_bytes"](trace)}
    assert sent
    assert all(sent.values())
    assert ask["longest_delay_s"](trace) > 0.0


def test_every_column_is_described_in_its_order() -> None:
    assert first_cells("Columns") == schema().names


def test_every_kind_is_described() -> None:
    assert sorted(first_cells("Kinds")) == sorted(kind.value for kind in Kind)


def test_the_version_is_the_one_that_is_written() -> None:
    assert f"`reknit.trace.version`, now {VERSION}." in PAGE
