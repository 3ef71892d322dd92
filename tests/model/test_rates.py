"""DYNATOPS, Equation 8."""

from __future__ import annotations

import pytest

from reknit.model.rates import expected_next


def test_the_latest_period_counts_three_tenths() -> None:
    """ "In DYNATOPS we set alpha_pub = 0.3"."""
    assert expected_next(10.0, 20.0) == pytest.approx(13.0)
    assert expected_next(10.0, 20.0, 1.0) == 20.0
