"""Subscriber-based pull: a round of EPIDEMIC, Figure 3, left."""

from __future__ import annotations

from reknit.wire.messages import Manner, Misses
from tests.core.recovery.round_table import PA, PB, A, B, RoundTable, numbered


def _questions(table: RoundTable) -> list[tuple[str, Misses]]:
    pairs = [(far.name, each) for far in (table.n, table.m) for each in table.gossip(far)]
    return [(name, each) for name, each in pairs if isinstance(each, Misses)]


def test_a_round_asks_towards_others_who_want_the_pattern() -> None:
    table = RoundTable("subscriber-pull", n=(), m=(A,))
    table.client("ann", A)
    for number in (1, 4):
        table.events(table.n, numbered("a", number, (PA, number)))
    table.run(1.0)
    ((to, question),) = _questions(table)
    assert to == "m"
    assert (question.manner, question.signature) == (Manner.SUBSCRIBERS, PA)
    assert question.lost == [("s.1", [(2, 3)])]


def test_where_nothing_is_lost_nothing_is_said() -> None:
    """Erratum 4: only patterns of which something is missing."""
    table = RoundTable("subscriber-pull", m=(A, B))
    table.client("ann", A, B)
    table.events(table.n, numbered("a", 1, (PA, 1)), numbered("b", 2, (PB, 1)), numbered("b", 3, (PB, 3)))
    table.run(5.0)
    assert {each.signature for _, each in _questions(table)} == {PB}


def test_it_asks_again_until_the_event_comes() -> None:
    table = RoundTable("subscriber-pull")
    table.client("ann", A)
    for number in (1, 3):
        table.events(table.n, numbered("a", number, (PA, number)))
    table.run(4.5)
    assert 3 <= len(_questions(table)) <= 5
    assert len({each.asker.round for _, each in _questions(table)}) == len(_questions(table))
    table.events(table.n, numbered("a", 2, (PA, 2)))
    before = len(_questions(table))
    table.run(4.0)
    assert len(_questions(table)) == before


def test_as_many_neighbours_are_asked_as_the_fanout_says() -> None:
    for fanout in (1, 2):
        table = RoundTable("subscriber-pull", fanout=fanout)
        table.client("ann", A)
        for number in (1, 3):
            table.events(table.n, numbered("a", number, (PA, number)))
        table.run(1.0)
        assert len(_questions(table)) == fanout
