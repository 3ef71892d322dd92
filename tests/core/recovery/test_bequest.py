"""A broker that leaves hands its cache to the one that takes its clients, which gives it to whoever misses it."""

from __future__ import annotations

from reknit.core.io import Deliver, Drain, Due
from reknit.model.event import Event
from reknit.wire.messages import Bequest, Draining, Misses, Repair, Silent, Welcome
from tests.core.recovery.round_table import PA, A, RoundTable, numbered


def _numbered(*numbers: int, payload: bytes = b"") -> list[Event]:
    return [numbered("a", number, (PA, number), payload=payload) for number in numbers]


def _bequests(table: RoundTable) -> list[Bequest]:
    return [each for each in table.n.heard() if isinstance(each, Bequest)]


def _leave(table: RoundTable) -> None:
    table.give(Drain(1))
    table.n.say(Welcome("", "door"))


def test_who_leaves_hands_over_what_it_has_kept_once_and_with_its_age() -> None:
    table = RoundTable("subscriber-pull", leaf=True)
    table.events(table.n, *_numbered(1))
    table.run(2.0)
    table.events(table.n, *_numbered(2))
    _leave(table)
    table.run(1.0)
    (bequest,) = _bequests(table)
    assert [(each.seq, age) for each, age in zip(bequest.events, bequest.ages_s, strict=True)] == [(2, 0.0), (1, 2.0)]


def test_an_heir_that_has_died_is_handed_it_again_in_its_next_life() -> None:
    table = RoundTable("subscriber-pull", leaf=True)
    table.client("ann", A)
    table.events(table.n, *_numbered(1))
    _leave(table)
    table.recovery.leave()
    table.recovery.leave()
    table.give(Due())
    assert len(_bequests(table)) == 1
    again = table.far_end("n", 7)
    again.greet(incarnation=2)
    table.recovery.leave()
    table.give(Due())
    assert [[each.seq for each in say.events] for say in again.heard() if isinstance(say, Bequest)] == [[1]]


def test_as_much_as_there_is_room_for_in_parts_the_newest_first() -> None:
    table = RoundTable("subscriber-pull", leaf=True, bequest_bytes_max=30_000)
    for number in range(1, 10):
        table.events(table.n, *_numbered(number, payload=bytes(7_000)))
        table.run(0.1)
    _leave(table)
    assert [[each.seq for each in bequest.events] for bequest in _bequests(table)] == [[9, 8], [7, 6]]


def test_nothing_is_handed_over_by_one_who_has_nothing() -> None:
    table = RoundTable("subscriber-pull", leaf=True)
    _leave(table)
    assert _bequests(table) == []


def _inherits(**options: object) -> RoundTable:
    """From n, which comes over."""
    table = RoundTable("subscriber-pull", **options)
    table.n.say(Draining(True))
    return table


def test_whoever_asks_for_it_is_answered_by_the_one_that_stays() -> None:
    table = _inherits()
    table.n.say(Bequest([4.0, 3.0], _numbered(1, 2)))
    table.m.say(Misses(table.asker(), 0, PA, 3.5, [("s.1", [(1, 2)])], 0))  # type: ignore[arg-type]
    assert table.repairs() == [("x", 2)]  # the other one is too old for it
    assert len(table.recovery.cache) == 2
    table.n.say(Bequest([4.0], _numbered(1)))
    assert len(table.recovery.cache) == 2


def test_what_a_client_there_has_missed_comes_back_with_it() -> None:
    table = _inherits()
    table.client("ann", A)
    table.run(5.0)
    table.events(table.m, *_numbered(1))
    table.m.say(Silent("s.1", [(PA, 2)], 0))
    table.n.say(Bequest([3.0, 1.0, 0.5, 9.0], [*_numbered(1, 2, 3), numbered("a", 1, (PA, 1), source="t.1")]))
    assert [each.event.id for each in table.all(Deliver)] == [("s.1", 1), ("s.1", 2), ("s.1", 3)]
    assert len(table.recovery.lost) == 0
    table.events(table.m, *_numbered(3, 4))
    assert [each.event.seq for each in table.all(Deliver)] == [1, 2, 3, 4]


def test_nothing_is_taken_over_from_one_who_does_not_leave() -> None:
    table = RoundTable("subscriber-pull")
    table.client("ann", A)
    table.n.say(Bequest([0.0], _numbered(1)))
    assert table.all(Deliver) == []
    assert len(table.recovery.cache) == 0
    assert table.figures.unasked == 1


def test_nor_what_one_claims_that_was_published_here() -> None:
    table = _inherits()
    table.client("ann", A)
    table.n.say(Bequest([0.0], [numbered("a", 7, (PA, 1), source=table.broker.source)]))
    assert table.all(Deliver) == []
    assert not [each for _, each in table.directs() if isinstance(each, Repair)]
