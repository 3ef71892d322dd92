"""The two pulls combined: each round is one of them, by chance."""

from __future__ import annotations

import pytest

from reknit.wire.messages import Misses, MissesOf
from tests.core.recovery.round_table import PA, A, RoundTable, numbered


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_a_round_asks_the_publisher_or_others_by_chance(share: float) -> None:
    table = RoundTable("combined", source_share=share, lost_s_max=1000.0)
    table.client("ann", A)
    for number in (1, 3):
        table.events(table.n, numbered("a", number, (PA, number), route=("s", "n"), address="s:1"))
    table.run(200.0)
    said = table.gossip(table.n) + table.gossip(table.m)
    towards_source = sum(isinstance(each, MissesOf) for each in said)
    assert sum(isinstance(each, Misses) for each in said) + towards_source == len(said) > 150
    assert abs(towards_source / len(said) - share) < 0.15


def test_where_the_way_to_the_publisher_is_not_known_others_are_asked_in_any_round() -> None:
    table = RoundTable("combined", source_share=1.0)
    table.client("ann", A)
    for number in (1, 3):
        table.events(table.n, numbered("a", number, (PA, number), route=("s", "n"), address="s:1"))
        table.events(table.n, numbered("a", number, (PA, number), source="t.1"))
    table.run(1.1)
    said = table.gossip(table.n) + table.gossip(table.m)
    assert [each.source for each in said if isinstance(each, MissesOf)] == ["s.1"]
    assert [each.lost for each in said if isinstance(each, Misses)] == [[("t.1", [(2, 2)])]]
