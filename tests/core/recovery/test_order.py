"""Order for those who ask for it: what is missing is waited for, and not for longer than it may be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reknit.core.io import Attach, Deliver, Detach, Subscribe, Unsubscribe
from reknit.trace.records import Kind
from reknit.wire.messages import Misses, Repair, Unsub
from tests.core.recovery.round_table import PA, PB, A, B, RoundTable, numbered


def _table(order_s: float = 5.0, *patterns: object, **options: object) -> RoundTable:
    table = RoundTable("subscriber-pull", n=(A, B), m=(A, B), **options)
    table.give(Attach("ann"))
    table.give(Subscribe("ann", patterns or (A,), order_s))  # type: ignore[arg-type]
    return table


def _come(table: RoundTable, *numbers: int) -> None:
    for number in numbers:
        table.events(table.n, numbered("a", number, (PA, number)))


def _got(table: RoundTable, client: str = "ann") -> list[int]:
    return [each.event.seq for each in table.all(Deliver) if any(name == client for name, _ in each.matches)]


def _repair(table: RoundTable, *numbers: int) -> None:
    (*_, asked) = [each for far in (table.n, table.m) for each in table.gossip(far) if isinstance(each, Misses)]
    events = [numbered("a", number, (PA, number)) for number in numbers]
    table.direct(Repair("n", asked.asker.round, [0.0] * len(events), events))


def test_a_successor_waits_for_what_is_missing_and_goes_when_it_has_come_back() -> None:
    table = _table()
    table.client("ben", A)
    _come(table, 1, 3, 4)
    assert (_got(table), _got(table, "ben")) == ([1], [1, 3, 4])
    table.run(1.5)
    _repair(table, 2)
    assert (_got(table), _got(table, "ben")) == ([1, 2, 3, 4], [1, 3, 4, 2])
    assert (table.figures.waited, table.figures.hurried) == (2, 0)


def test_what_is_only_late_is_waited_for_too() -> None:
    table = _table()
    _come(table, 1, 4, 3, 2, 5)
    assert _got(table) == [1, 2, 3, 4, 5]


def test_after_the_wait_it_goes_and_nothing_waits_for_that_gap_any_more() -> None:
    table = _table(order_s=2.0)
    _come(table, 1, 3)
    table.run(1.9)
    assert _got(table) == [1]
    table.run(0.2)
    _come(table, 4)
    assert _got(table) == [1, 3, 4]
    _come(table, 6, 2)
    assert _got(table) == [1, 3, 4, 2]
    assert table.figures.hurried == 1


def test_one_that_has_come_back_waits_for_earlier_ones_but_goes_with_its_successor() -> None:
    table = _table(order_s=2.0)
    _come(table, 1, 4)
    table.run(1.5)
    _repair(table, 3)
    assert _got(table) == [1]
    table.run(0.6)
    assert _got(table) == [1, 3, 4]


def test_what_is_given_up_is_not_waited_for() -> None:
    table = _table(order_s=20.0, lost_s_max=3.0)
    _come(table, 1, 3)
    table.run(3.1)
    assert _got(table) == [1, 3]


def test_events_before_the_first_one_are_waited_for_as_they_are_asked_for() -> None:
    table = _table(order_s=2.0)
    _come(table, 3)
    assert _got(table) == []
    table.run(2.1)
    assert _got(table) == [3]


def test_other_sources_and_other_patterns_do_not_wait() -> None:
    table = _table()
    table.give(Subscribe("ann", (B,)))
    _come(table, 1, 3)
    table.events(table.n, numbered("a", 1, (PA, 1), source="t.1"))
    table.events(table.n, numbered("b", 4, (PB, 1)))
    assert _got(table) == [1, 1, 4]


def test_of_all_ordered_patterns_events_of_one_source_keep_their_order() -> None:
    table = _table(5.0, A, B)
    _come(table, 1, 3)
    table.events(table.n, numbered("b", 4, (PB, 1)))
    assert _got(table) == [1]
    _come(table, 2)
    assert _got(table) == [1, 2, 3, 4]


@pytest.mark.parametrize("end", [Unsubscribe("ann", (A,)), Detach("ann")])
def test_what_waits_for_one_that_does_not_want_it_any_more_is_forgotten(end: Unsubscribe | Detach) -> None:
    table = _table()
    _come(table, 1, 3)
    table.give(end)
    table.run(10.0)
    assert _got(table) == [1]
    assert table.recovery.order.deadline() is None


def test_a_client_may_think_better_of_it() -> None:
    table = _table()
    table.give(Subscribe("ann", (A,), 0.0))
    _come(table, 1, 3)
    assert _got(table) == [1, 3]
    assert [each.detail for each in table.records(Kind.ORDERED)] == ["5", "0"]


def test_a_wait_is_no_longer_than_brokers_let_it_be() -> None:
    table = _table(order_s=1000.0, order_s_max=2.0)
    _come(table, 1, 3)
    table.run(2.1)
    assert _got(table) == [1, 3]


def test_no_more_events_wait_than_there_is_room_for() -> None:
    table = _table(order_events_max=2)
    _come(table, 1, 3, 4)
    assert _got(table) == [1]
    _come(table, 5)
    assert _got(table) == [1, 3, 4, 5]
    assert table.figures.hurried == 1


def test_what_waits_is_not_settled() -> None:
    """Were this broker to die, the neighbour that sent it has it still."""
    table = _table(order_s=2.0)
    table.m.say(Unsub([A]))  # or it would be waited for to take the events over
    _come(table, 1, 3)
    link = table.broker.links.of["n"]
    assert [custody.pending for custody in link._unsettled] == [1]
    table.run(2.1)
    assert not link._unsettled


def test_a_session_that_leaves_takes_along_what_has_waited() -> None:
    table = _table()
    _come(table, 1, 3)
    table.recovery.order.flush("ann")
    assert [each.event.seq for each in table.broker.turn.effects if isinstance(each, Deliver)] == [3]
    assert not table.recovery.order.busy


@given(st.permutations(range(1, 9)))
def test_whatever_comes_in_whatever_order_is_delivered_in_order(numbers: list[int]) -> None:
    table = _table(order_s=100.0, order_s_max=100.0)
    _come(table, *numbers)
    assert _got(table) == list(range(1, 9))
