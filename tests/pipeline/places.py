"""How Spark is started for tests: soon, and small."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Java that starts soon rather than runs fast."""

PROJECT = Path(__file__).parents[2]
DATA = Path(os.environ.get("REKNIT_DATA", PROJECT.parent / "shared" / "data"))
"""The real check-ins and what is known of them: beside the project, unless another place is named."""

needs_data = pytest.mark.skipif(
    not (DATA / "reference_values.json").exists(),
    reason=f"the real check-ins are not at {DATA}; REKNIT_DATA names the place",
)
