"""A plan of placement lists its moves as long as there are not too many."""

from __future__ import annotations

from reknit.planning.placement_plan import (
    MOVES_MAX,
    AtBroker,
    ClientMove,
    PlacementEvidence,
    PlacementPlan,
    PlacementRules,
    make_placement_plan,
)

AT = [AtBroker("b2", 0, 2, 0, 3), AtBroker("b1", 3, 1, 5, 1)]
MOVES = [ClientMove("z", "b1", "b2"), ClientMove("a", "b1", "b2")]


def planned(count: int) -> PlacementPlan:
    return make_placement_plan(AT, MOVES, count, ["b2", "b1"], PlacementRules(), PlacementEvidence(3, 6))


def test_moves_are_listed_by_client_and_costs_added_up() -> None:
    plan = planned(2)
    assert [move.client for move in plan.steps] == ["a", "z"]
    assert [each.broker for each in plan.at] == plan.brokers == ["b1", "b2"]
    assert (plan.cost_before, plan.cost_after, plan.moves, plan.reconnects) == (5, 4, 2, 2)
    assert plan.messages == 12


def test_of_too_many_there_are_counts_only() -> None:
    plan = planned(MOVES_MAX + 1)
    assert (plan.steps, plan.moves) == ([], MOVES_MAX + 1)
