"""What all memberships share."""

from __future__ import annotations

import random

import pytest

from reknit.community.grid.grid import Grid
from reknit.community.io import Observe
from reknit.community.memberships.base import Membership
from reknit.community.memberships.names import MEMBERSHIPS
from reknit.community.options import GridOptions, TopicOptions
from reknit.community.turn import Turn
from reknit.trace.records import Kind
from tests.community.desk import a_courier


@pytest.mark.parametrize("name", [name for name in MEMBERSHIPS if name != "static"])
def test_every_change_of_the_table_is_seen_once(name: str) -> None:
    turn = Turn("me", random.Random(1), observing=True)
    courier = a_courier(turn)
    membership: Membership = MEMBERSHIPS[name](
        "soccer", TopicOptions(), turn, courier, Grid(GridOptions(), turn, courier)
    )
    assert membership.add("a", 5.0)
    assert not membership.add("a", 6.0)
    assert not membership.add("me", 6.0)
    membership.drop("b")
    turn.now = 6.0
    membership.expire()
    kinds = [each.record.kind for each in turn.effects if isinstance(each, Observe)]
    assert kinds == [Kind.ROUTE_ADDED, Kind.ROUTE_REMOVED]
