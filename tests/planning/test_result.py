"""The prediction beside what was measured."""

from __future__ import annotations

import pytest

from reknit.model.ring import ring_id
from reknit.planning.gains import Flow
from reknit.planning.notified import Notified
from reknit.planning.plan import Evidence, Rules, make_plan
from reknit.planning.result import compare, compare_ring
from reknit.planning.ring_plan import Need, RingEvidence, RingRules, make_ring_plan

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


def test_a_surprise_is_what_is_worse_than_before_or_far_off() -> None:
    assert compare(PLAN, events=40, crossed=42).surprise(0.1) == ""
    assert "off by 4.8%, which is more than 4.0%" in compare(PLAN, events=40, crossed=42).surprise(0.04)
    assert "off by 33.3%" in compare(PLAN, events=40, crossed=60).surprise(0.1)
    assert "links crossed by an event: more than before the plan, 2.100 for 2.000" in compare(
        PLAN, events=10, crossed=21
    ).surprise(9.0)
    assert compare(PLAN, events=0, crossed=0).surprise(0.0) == ""


def test_of_a_ring_the_cost_of_notifying_is_compared() -> None:
    ids = {f"b{number}": ring_id(f"b{number}") for number in range(6)}
    needs = [Need("t", 100.0, ("b1", "b3"))]
    plan = make_ring_plan(ids, needs, RingRules(trials=50), RingEvidence(100.0, 1, 2, 10.0))
    found = compare_ring(plan, Notified(10, 5.0))
    assert (found.before, found.predicted) == (plan.cost_before / 100, plan.cost_after / 100)
    assert found.said.startswith("the cost of notifying, by event: ")
    assert compare_ring(plan, Notified(0, 0.0)).measured is None
