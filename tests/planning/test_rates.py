"""DYNATOPS, Eq. 8."""

from __future__ import annotations

import pytest

from reknit.planning.rates import ALPHA, estimates


def test_each_estimate_moves_towards_what_was_observed() -> None:
    assert ALPHA == 0.3
    assert estimates([10.0, 0.0, 20.0]) == pytest.approx([10.0, 7.0, 10.9])


def test_a_steady_rate_is_expected_to_go_on() -> None:
    assert estimates([4.0] * 5) == pytest.approx([4.0] * 5)
    assert estimates([]) == []


def test_with_all_the_weight_the_last_one_is_expected() -> None:
    assert estimates([1.0, 5.0, 2.0], alpha=1.0) == [1.0, 5.0, 2.0]
