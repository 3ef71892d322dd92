"""Random pull: the same question, to anybody."""

from __future__ import annotations

from reknit.wire.messages import Manner, Misses
from tests.core.recovery.round_table import PA, A, RoundTable, numbered


def test_a_round_asks_neighbours_whatever_they_want() -> None:
    asked: dict[str, None] = {}
    table = RoundTable("random-pull", n=(), m=(A,), lost_s_max=100.0)
    table.client("ann", A)
    for number in (1, 3):
        table.events(table.n, numbered("a", number, (PA, number)))
    table.run(30.0)
    for far in (table.n, table.m):
        for each in table.gossip(far):
            assert isinstance(each, Misses)
            assert (each.manner, each.lost) == (Manner.ANYBODY, [("s.1", [(2, 2)])])
            asked[far.name] = None
    assert sorted(asked) == ["m", "n"]
