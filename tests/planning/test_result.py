"""The prediction beside what was measured."""

from __future__ import annotations

import pytest

from reknit.planning.gains import Flow
from reknit.planning.plan import Evidence, Rules, make_plan
from reknit.planning.result import compare

PLAN = make_plan([("a", "b"), ("b", "c")], [Flow(("a", "c"), 100)], Evidence(100, 1, 10.0), Rules())


def test_one_event_is_compared_with_one_event() -> None:
    found = compare(PLAN, events=40, crossed=42)
    assert (found.before, found.predicted, found.measured) == (2.0, 1.0, 1.05)
    assert (found.saved, found.off) == (pytest.approx(0.475), pytest.approx(1 - 1 / 1.05))
    assert found.said == (
        "links crossed by an event: 2.000 before, predicted 1.000, measured 1.050 over 40 events: "
        "48% saved, the prediction off by 4.8%"
    )


def test_without_events_nothing_is_claimed() -> None:
    found = compare(PLAN, events=0, crossed=0)
    assert (found.measured, found.saved, found.off) == (None, None, None)
    assert "nothing was measured" in found.said
    silent = compare(PLAN, events=10, crossed=0)
    assert (silent.saved, silent.off) == (1.0, None)
