"""Pulls by pattern, at those whom a question reaches: EPIDEMIC, Figure 3, left, as corrected by errata 1, 3 and 6."""

from __future__ import annotations

from reknit.wire.messages import Manner, Misses
from tests.core.recovery.round_table import PA, A, RoundTable, numbered


def _ask(table: RoundTable, manner: Manner, hops: int = 0) -> None:
    table.m.say(Misses(table.asker(), manner, PA, 100.0, [("s.1", [(1, 3)])], hops))


def _passed_on(table: RoundTable) -> list[Misses]:
    return [each for each in table.gossip(table.n) if isinstance(each, Misses)]


def test_what_is_found_is_taken_off_the_list() -> None:
    table = RoundTable("subscriber-pull")
    table.events(table.n, numbered("a", 2, (PA, 2)))
    _ask(table, Manner.SUBSCRIBERS)
    assert table.repairs() == [("x", 2)]
    assert [each.lost for each in _passed_on(table)] == [[("s.1", [(1, 1), (3, 3)])]]


def test_where_nothing_is_left_the_question_ends() -> None:
    table = RoundTable("subscriber-pull")
    for number in (1, 2, 3):
        table.events(table.n, numbered("a", number, (PA, number)))
    _ask(table, Manner.SUBSCRIBERS)
    assert len(table.repairs()) == 3
    assert _passed_on(table) == []


def test_who_does_not_want_the_pattern_always_passes_it_on_and_who_does_with_some_chance() -> None:
    """It must reach somebody with whom such events gather."""
    table = RoundTable("subscriber-pull", forward=0.0)
    _ask(table, Manner.SUBSCRIBERS)
    assert len(_passed_on(table)) == 1
    table = RoundTable("subscriber-pull", forward=0.0)
    table.client("ann", A)
    _ask(table, Manner.SUBSCRIBERS)
    assert _passed_on(table) == []


def test_it_goes_to_those_who_want_the_pattern_unless_the_manner_is_another() -> None:
    for manner, expected in ((Manner.SUBSCRIBERS, 0), (Manner.ANYBODY, 1), (Manner.EVERYBODY, 1)):
        table = RoundTable("subscriber-pull", n=())
        _ask(table, manner)
        assert len(_passed_on(table)) == expected
        assert not any(isinstance(each, Misses) for each in table.gossip(table.m))  # never back


def test_it_does_not_travel_for_ever() -> None:
    for hops, expected in ((4, 1), (5, 0)):
        table = RoundTable("subscriber-pull", hops_max=5)
        _ask(table, Manner.EVERYBODY, hops)
        assert len(_passed_on(table)) == expected


def test_everybody_is_asked_as_the_last_resort_and_only_then() -> None:
    table = RoundTable("subscriber-pull", n=(A,), m=(), last_resort_s=2.4)
    table.client("ann", A)
    for number in (1, 3):
        table.events(table.n, numbered("a", number, (PA, number)))
    table.run(2.3)
    assert {each.manner for each in _passed_on(table)} == {Manner.SUBSCRIBERS}
    table.run(1.2)
    asked = [each.manner for each in table.gossip(table.m) if isinstance(each, Misses)]
    assert asked == [Manner.EVERYBODY]


def test_the_last_resort_is_asked_ever_more_seldom_and_by_every_algorithm() -> None:
    """Also where there is nobody whom the algorithm would ask."""
    for algorithm in ("push", "subscriber-pull", "publisher-pull"):
        table = RoundTable(algorithm, n=(), m=(), last_resort_s=2.0, lost_s_max=60.0, gossip_s=0.1)
        table.client("ann", A)
        for number in (1, 3):
            table.events(table.n, numbered("a", number, (PA, number)))
        table.run(59.0)
        asked = [each.manner for each in table.gossip(table.m) if isinstance(each, Misses)]
        assert asked == [Manner.EVERYBODY] * 5, algorithm  # after 2, 4, 8, 16 and 32 seconds
