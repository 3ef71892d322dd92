"""DYNATOPS, section 5.1: Equations 7 and 8, the reconfigurability test, T_free."""

from __future__ import annotations

import math

import numpy as np
import pytest

from reknit.planning.change import (
    Calendar,
    Forecast,
    change_cost,
    change_cost_max,
    is_reconfigurable,
    moved,
)


def test_a_swap_moves_two() -> None:
    assert moved(np.array([0, 1, 2], dtype=np.int32), np.array([2, 1, 0], dtype=np.int32)) == 2


def test_what_a_change_costs() -> None:
    assert change_cost(100, 1000, 0) == 0.0
    log = math.log2(100)
    assert change_cost(100, 1000, 2) == pytest.approx(100 + 2 * log**2 + 2 * 1000 * log)
    assert change_cost_max(100, 1000) == pytest.approx(668_900, rel=1e-3)


def test_a_change_is_looked_for_only_where_notifying_costs_enough() -> None:
    assert is_reconfigurable(66_900, 100, 1000)
    assert not is_reconfigurable(66_800, 100, 1000)


def test_changes_lie_a_free_period_apart() -> None:
    calendar = Calendar(10.0)
    assert calendar.look(3.0)
    assert not calendar.look(12.9)
    assert calendar.due_at(5.0) == 13.0
    assert calendar.look(13.5)
    assert not calendar.look(23.4)
    with pytest.raises(ValueError, match="above 0"):
        Calendar(0.0)


def test_rates_are_filtered() -> None:
    forecast = Forecast()
    forecast.observe({"a": 10})
    assert forecast.rates == {"a": 10.0}
    forecast.observe({"a": 20, "b": 5})
    assert forecast.rates == {"a": pytest.approx(13.0), "b": 5.0}
    forecast.observe({})
    assert forecast.rates == {"a": pytest.approx(9.1), "b": pytest.approx(3.5)}
    with pytest.raises(ValueError, match="above 0 and up to 1"):
        Forecast(alpha=0.0)
