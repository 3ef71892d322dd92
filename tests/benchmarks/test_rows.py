"""A verdict follows from the number and the bar alone."""

from __future__ import annotations

import math

import pytest

from bench.rows import INFORMATION, Row


@pytest.mark.parametrize(
    ("at_least", "measured", "verdict"),
    [
        (2.0, 2.0, "ok"),
        (2.0, 1.99, "below"),
        (2.0, math.nan, "not measured"),
        (INFORMATION, 0.1, "information"),
        (INFORMATION, math.nan, "not measured"),
    ],
)
def test_verdict(at_least: float, measured: float, verdict: str) -> None:
    assert Row("speed", "peer = 1", at_least, measured).verdict == verdict
