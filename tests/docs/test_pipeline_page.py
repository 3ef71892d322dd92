"""The pipeline's page: every flow has its section, and what is named exists."""

from __future__ import annotations

import re
from pathlib import Path

from reknit.pipeline.flow import parameters_of
from reknit.pipeline.registry import all_flows

PAGE = (Path(__file__).parents[2] / "docs" / "pipeline.md").read_text(encoding="utf-8")


def test_every_flow_has_its_section_with_its_parameters() -> None:
    assert re.findall(r"^### (\S+)$", PAGE, re.MULTILINE) == list(all_flows())
    for name, flow in all_flows().items():
        section = PAGE.split(f"\n### {name}\n")[1].split("\n### ")[0]
        assert [each.name for each in parameters_of(flow) if f"`{each.name}`" not in section] == []
