"""docs/mqtt.md says what is true: its example runs, and its bounds are the ones that hold."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
from pathlib import Path

from reknit.mqtt.options import DoorOptions

PAGE = (Path(__file__).parents[2] / "docs" / "mqtt.md").read_text(encoding="utf-8")


def test_the_example_prints_what_the_page_says() -> None:
    code = PAGE.split("```python\n")[1].split("```")[0]
    printed = PAGE.split("It prints:\n\n```\n")[1].split("```")[0]
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout == printed


def test_every_bound_is_described_with_its_default() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\S+) \|", PAGE.split("\n## Bounds\n")[1], re.MULTILINE)
    assert rows == [(field.name, str(field.default) or '""') for field in dataclasses.fields(DoorOptions)]
