"""A plan of any kind survives its file, with the same bytes; what is none is refused with the reason."""

from __future__ import annotations

import msgspec
import pytest

from reknit.planning.files import AnyPlan, BadPlan, read_plan, write_plan
from reknit.planning.gains import Flow
from reknit.planning.placement_plan import AtBroker, ClientMove, PlacementEvidence, PlacementRules, make_placement_plan
from reknit.planning.plan import Evidence, Rules, make_plan
from reknit.planning.ring_plan import Need, RingEvidence, RingRules, make_ring_plan

TREE = make_plan([("a", "b"), ("b", "c")], [Flow(("a", "c"), 100)], Evidence(100, 1, 10.0), Rules())
RING = make_ring_plan(
    {"a": 5, "b": (1 << 64) - 1}, [Need("t", 10.0, ("a",))], RingRules(trials=10), RingEvidence(10.0, 1, 1, 10.0)
)
PLACEMENT = make_placement_plan(
    [AtBroker("a", 1, 0, 1, 0), AtBroker("b", 0, 1, 0, 1)],
    [ClientMove("c", "a", "b")],
    1,
    ["a", "b"],
    PlacementRules(),
    PlacementEvidence(1, 1),
)


@pytest.mark.parametrize("plan", [TREE, RING, PLACEMENT], ids=["tree", "ring", "placement"])
def test_a_plan_survives_its_file(plan: AnyPlan) -> None:
    assert read_plan(write_plan(plan)) == plan
    assert msgspec.json.decode(write_plan(plan))["kind"] == type(plan).__struct_config__.tag


def test_what_is_none_is_refused() -> None:
    for data in (b"{}", b"\xff", b'{"version": 2, "kind": "forest"}'):
        with pytest.raises(BadPlan, match="no plan"):
            read_plan(data)
    with pytest.raises(BadPlan, match="a plan of version 1; this reknit reads 2"):
        read_plan(write_plan(msgspec.structs.replace(TREE, version=1)))
