"""What the parts of a peer share."""

from __future__ import annotations

import random

from reknit.community.io import Observe
from reknit.community.turn import Turn
from reknit.model.event import Event
from reknit.trace.records import Kind
from tests.community.desk import a_turn


def test_numbers_are_used_once_and_counters_count() -> None:
    turn = a_turn()
    assert [turn.number(), turn.number()] == [1, 2]
    assert Turn("me", random.Random(1), False, life=2**31 + 3).number() == 3 * 2**32 + 1
    turn.count("strays")
    turn.count("strays")
    assert turn.counters == {"strays": 2}


def test_what_is_seen_is_a_record_only_where_somebody_looks() -> None:
    for observing in (True, False):
        turn = Turn("me", random.Random(1), observing)
        turn.saw(Kind.DELIVERED, Event("soccer"))
        turn.saw_table(Kind.ROUTE_ADDED, "soccer", "p1", "table")
        seen = [each.record for each in turn.effects if isinstance(each, Observe)]
        assert len(seen) == 2 * observing
        if seen:
            assert (seen[1].peer, str(seen[1].pattern), seen[1].detail) == ("p1", "soccer/#", "table")
